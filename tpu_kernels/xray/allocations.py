"""What one kernel keeps in the core's memories while it runs: windows, scratch, spilled registers, semaphores."""

import re
from dataclasses import dataclass

ALLOCATION = re.compile(
    r"^ *#allocation\d+(?:_spill)? \[shape = '([^']*)', space=(\w+), size = 0x([0-9a-f]+)(.*)\]", re.MULTILINE
)
TAG = re.compile(r"tag = '([^']*)'")


@dataclass(frozen=True)
class Allocation:
    """``size`` bytes in ``space`` (``"vmem"``, ``"smem"``, ``"sflag"``), and what the compiler says they are for."""

    space: str
    size: int
    purpose: str


def parse(text: str) -> tuple[Allocation, ...]:
    """The allocations at the top of a dump; places that the hardware fixes are none."""
    return tuple(
        Allocation(space, int(size, 16), tag[1] if (tag := TAG.search(rest)) else "")
        for _, space, size, rest in ALLOCATION.findall(text)
        if "fixed_abs" not in rest
    )


def total(allocations: tuple[Allocation, ...], space: str) -> int:
    """Bytes of one memory."""
    return sum(one.size for one in allocations if one.space == space)
