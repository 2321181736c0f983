"""Sizes as the NCCL tests take them: ``1K,64K,1M``, or from the least to the most by a factor."""

import re

from tpu_kernels.models.numerals import NO_BREAK_SPACE
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.phrases import phrase

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
WRITTEN = re.compile(r"(\d+)([KMG]?)(?:i?B)?", re.IGNORECASE)


def parsed_size(text: str) -> int:
    """Bytes of ``"64K"``: units are powers of 1024. ``ValueError`` for what is no size."""
    found = WRITTEN.fullmatch(text.strip())
    if found is None or not int(found[1]):
        raise ValueError(phrase("collective_bench.bad_size", got=text))
    return int(found[1]) * UNITS[found[2].upper()]


def parsed_sizes(text: str) -> list[int]:
    """Bytes of each size of a list. ``ValueError`` for an empty one."""
    return [parsed_size(word) for word in text.split(",")]


def written_size(size: int) -> str:
    """``64 KiB``, as it was asked for; with decimal prefixes where no binary one leaves a whole number."""
    whole = [name for name, unit in UNITS.items() if name and size % unit == 0]
    return f"{size // UNITS[whole[-1]]}{NO_BREAK_SPACE}{whole[-1]}iB" if whole else str(Quantity(size, "bytes"))


def swept_sizes(least: str, most: str, factor: int) -> list[int]:
    """From ``least`` by ``factor`` up to ``most``, at most. ``ValueError`` when nothing lies between them."""
    size, last = parsed_size(least), parsed_size(most)
    if size > last or factor < 2:
        raise ValueError(phrase("collective_bench.bad_sweep", least=least, most=most, factor=factor))
    found = []
    while size <= last:
        found.append(size)
        size *= factor
    return found
