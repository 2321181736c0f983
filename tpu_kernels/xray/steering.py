"""The part of a program that steers it: what branches and copies depend on, and which of it is lost to data."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tpu_kernels.xray import scalar
from tpu_kernels.xray.bundles import Bundle
from tpu_kernels.xray.errors import DumpError
from tpu_kernels.xray.scalar import Assignment

# Each register, and each word of memory that registers are spilled to, with what writes it, by bundle; ``None`` stands
# for an instruction that cannot be followed.
Definitions = Mapping[str, Sequence[tuple[int, Assignment | None]]]


def definitions(bundles: Sequence[Bundle]) -> Definitions:
    """What writes each name. Raises :class:`DumpError` when two instructions write one register."""
    found: dict[str, list[tuple[int, Assignment | None]]] = defaultdict(list)
    for bundle in bundles:
        for instruction in bundle.instructions:
            if not instruction.is_scalar:
                continue
            assigned = scalar.assignment(instruction)
            name = assigned.target if assigned else instruction.target
            if name in found and not name.startswith("allocation"):
                raise DumpError(f"bundle {bundle.address:#x}: register {name} is written a second time")
            found[name].append((bundle.address, assigned))
    return found


def needed(names: Iterable[str], defined: Definitions) -> set[str]:
    """The names given, and those that they are computed from, and so on."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [read for _, assigned in defined.get(name, ()) if assigned for read in assigned.reads]
    return found


def lost(names: Iterable[str], defined: Definitions) -> set[str]:
    """Those of the names whose value depends on something that cannot be followed."""
    names = set(names)
    found = {name for name in names if not defined.get(name) or None in (assigned for _, assigned in defined[name])}
    readers = defaultdict(set)
    for name in names:
        for _, assigned in defined.get(name, ()):
            for read in assigned.reads if assigned else ():
                readers[read].add(name)
    waiting = list(found)
    while waiting:
        new = readers[waiting.pop()] - found
        waiting += new
        found |= new
    return found
