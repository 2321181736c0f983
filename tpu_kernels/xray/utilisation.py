"""How much of the core each bundle uses, from the compiler's table of one row per bundle.

``VALU``, ``VPOP``, ``EUP``, ``VLOAD``, ``VSTORE`` and ``SALU`` count the slots of a bundle that hold an instruction;
``FILL`` and ``SPILL`` are those of the loads and stores that move registers to memory and back. ``MXU`` and ``XLU``
count units with work in flight, so they say how long a unit is held, not how often it is given something.
"""

import re
from dataclasses import dataclass

from tpu_kernels.xray.errors import DumpError

UNITS = ("MXU", "XLU", "VALU", "VPOP", "EUP", "VLOAD", "FILL", "VSTORE", "SPILL", "SALU")
COLUMNS = "MXU, XLU, VALU, VPOP, EUP, VLOAD, VLOAD:FILL, VSTORE, VSTORE:SPILL, SALU"
NUMBERS = re.compile(r"[\d ]+")


@dataclass(frozen=True)
class Utilisation:
    """``capacity`` is how much of each unit a bundle can use, ``rows[i]`` how much bundle ``i`` does, both by unit."""

    capacity: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]


def parse(text: str) -> Utilisation:
    """Read the table. Raises :class:`DumpError` for other columns, other rows, or a use that is above the capacity."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < 5 or lines[1] != COLUMNS or not lines[3].startswith("=="):
        raise DumpError(f"a table of utilisation under {lines[:2]}")
    numbers = [_numbers(line) for line in (lines[2], *lines[4:])]
    capacity, rows = numbers[0], numbers[1:]
    for row in rows:
        if any(used > most for used, most in zip(row, capacity, strict=True)):
            raise DumpError(f"a bundle uses {row} of {capacity}")
    return Utilisation(capacity, tuple(rows))


def _numbers(line: str) -> tuple[int, ...]:
    found = tuple(map(int, line.split())) if NUMBERS.fullmatch(line) else ()
    if len(found) != len(UNITS):
        raise DumpError(f"a row of utilisation that is {line[:80]!r}")
    return found
