"""Amounts of memory as people read them, and as the compiler writes them."""

import re

from tpu_kernels.messages import language
from tpu_kernels.models.numerals import NO_BREAK_SPACE, number

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
WRITTEN = re.compile(r"(\d+(?:\.\d+)?)([BKMGTP]?)")


def readable(amount: int) -> str:
    """``18,4 MiB``, ``2,34 KiB``, ``512 B``: in the language in force, three significant figures."""
    step = max(0, min((int(amount).bit_length() - 1) // 10, len(UNITS) - 1))
    return f"{number(amount / 1024**step, language(), 3)}{NO_BREAK_SPACE}{UNITS[step]}"


def parsed(text: str) -> int:
    """Bytes in what the compiler writes as ``18.36M`` or ``2400``. Raises ``ValueError`` for anything else."""
    match = WRITTEN.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no size: expected one such as 18.36M")
    unit: int = 1024 ** "BKMGTP".index(match[2] or "B")
    return round(float(match[1]) * unit)
