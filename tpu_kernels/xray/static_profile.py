"""Cycles that the compiler's own simulator gives each operation of a program.

A file holds one or more of these, among more that is of no interest here::

    hlo_op_estimate {
      hlo_op_name: "fusion.1"
      estimated_cycles: 23832
"""

import re
from collections.abc import Iterable

from tpu_kernels.xray.errors import DumpError

ENTRY = re.compile(r'^hlo_op_estimate \{\n  hlo_op_name: "([^"]+)"\n  estimated_cycles: (-?\d+)\n', re.MULTILINE)
OPENING = re.compile(r"^hlo_op_estimate \{", re.MULTILINE)


def parse(texts: Iterable[str]) -> dict[str, int | None]:
    """Cycles by name of operation; ``None`` for zero and below, which is how the simulator says that it does not know.

    Raises :class:`DumpError` for a file that is not of this form, and when two give one operation different cycles.
    """
    found: dict[str, int | None] = {}
    for text in texts:
        entries = ENTRY.findall(text)
        if not entries or len(entries) != len(OPENING.findall(text)):
            raise DumpError(f"a profile that begins {text[:80]!r}")
        for name, written in entries:
            cycles = int(written) if int(written) > 0 else None
            if found.setdefault(name, cycles) != cycles:
                raise DumpError(f"two profiles of {name}: {found[name]} and {cycles} cycles")
    return found
