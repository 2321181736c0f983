"""How often each bundle is executed: the part of a program that steers it, run.

Loop bounds and the conditions of a grid's pipeline are computed by scalar instructions from constants. Those that
branches and copies depend on are translated to Python and run; vectors and memory are left out. What depends on data
in memory cannot be followed, and is not guessed.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import CodeType
from typing import Any

from tpu_kernels.xray import scalar, steering
from tpu_kernels.xray.bundles import Bundle
from tpu_kernels.xray.copies import Copy
from tpu_kernels.xray.errors import DumpError
from tpu_kernels.xray.scalar import Assignment, Predicate

MOST_STRETCHES = 3_000_000

BRANCH = re.compile(r"target = \$region(\d+)")
UNFOLLOWED = re.compile(r"sbr\.(?!rel)\w+|scall\.\w+|inlined_call|shalt(?!\.err).*")


@dataclass(frozen=True)
class Branch:
    """A branch in bundle ``bundle`` to bundle ``target``, taken when ``guard`` holds."""

    bundle: int
    guard: Predicate | None
    target: int


@dataclass(frozen=True)
class Replay:
    """``executions[i]`` counts bundle ``i``, ``taken[b]`` how often branch ``b`` was taken; ``starts[c]`` and
    ``granules[c]`` are what copy ``c`` started, in all.

    ``None``, and no branch, where it depends on data, or where the program is too long to be run here.
    """

    executions: tuple[int, ...] | None
    taken: Mapping[Branch, int]
    starts: tuple[int | None, ...]
    granules: tuple[int | None, ...]


@dataclass(frozen=True)
class Stretch:
    """Bundles ``first`` to ``last``, with no way in or out between them.

    ``entered`` is what they compute when control falls in from above, ``again`` when a branch brings it there.
    """

    first: int
    last: int
    entered: CodeType
    again: CodeType
    branch: Branch | None


def replay(bundles: Sequence[Bundle], copies: Sequence[Copy], delay_slots: int, core: int = 0) -> Replay:
    """Run what steers the program, as on this core.

    After a branch, ``delay_slots`` more bundles are executed before it takes effect.

    Raises :class:`DumpError` for a branch to nowhere, and for a register that two instructions write.
    """
    branches = branches_of(bundles)
    nothing = Replay(None, {}, (None,) * len(copies), (None,) * len(copies))
    if branches is None:
        return nothing
    defined = steering.definitions(bundles)
    conditions = {branch.guard.register for branch in branches if branch.guard}
    amounts = [_names(copy) for copy in copies]
    names = steering.needed(conditions.union(*amounts), defined)
    lost = steering.lost(names, defined)
    if lost & conditions:
        return nothing
    known = [not lost & needed for needed in amounts]
    lines = _Lines(names - lost, defined, [(n, copy) for n, copy in enumerate(copies) if known[n]])
    starts, granules = [0] * len(copies), [0] * len(copies)
    registers: dict[str, Any] = {**scalar.CONSTANTS, **dict.fromkeys(names, 0), "CORE": core}
    registers |= {"starts": starts, "granules": granules}
    taken = dict.fromkeys(branches, 0)
    executions = _run(_stretches(len(bundles), branches, delay_slots, lines), delay_slots, registers, taken)
    if executions is None:
        return nothing
    return Replay(
        tuple(executions),
        taken,
        tuple(count if sure else None for count, sure in zip(starts, known, strict=True)),
        tuple(count if sure else None for count, sure in zip(granules, known, strict=True)),
    )


def branches_of(bundles: Sequence[Bundle]) -> list[Branch] | None:
    """The program's branches; ``None`` when control leaves it in another way. :class:`DumpError` for one to nowhere."""
    # A region that would start after the last bundle is not written down: its number follows that of the one before.
    starts = {region + 1: bundle.address + 1 for bundle in bundles for region in bundle.ends}
    starts.update({region: bundle.address for bundle in bundles for region in bundle.starts})
    found = []
    for bundle in bundles:
        for instruction in bundle.instructions:
            if UNFOLLOWED.fullmatch(instruction.opcode):
                return None
            if instruction.opcode == "sbr.rel":
                region = BRANCH.search(instruction.operands)
                if region is None or int(region[1]) not in starts:
                    raise DumpError(f"bundle {bundle.address:#x}: a branch to nowhere: {instruction.operands[:80]!r}")
                found.append(Branch(bundle.address, scalar.predicate(instruction), starts[int(region[1])]))
    return found


def _names(copy: Copy) -> set[str]:
    guard = {copy.guard.register} if copy.guard else set()
    return guard if copy.granules.isdecimal() else guard | {copy.granules}


class _Lines:
    """The Python lines of each bundle: what is assigned there, then the copies that are counted."""

    def __init__(self, names: set[str], defined: steering.Definitions, copies: Sequence[tuple[int, Copy]]) -> None:
        self._assigned: dict[int, list[Assignment]] = defaultdict(list)
        self._counted: dict[int, list[str]] = defaultdict(list)
        for name, written in defined.items():
            for address, assigned in written if name in names else ():
                if assigned:
                    self._assigned[address].append(assigned)
        for number, copy in copies:
            line = f"starts[{number}] += 1; granules[{number}] += {copy.granules}"
            self._counted[copy.bundle].append(f"if {copy.guard.source}: {line}" if copy.guard else line)

    def code(self, first: int, last: int, again: bool) -> CodeType:
        lines = []
        for address in range(first, last + 1):
            for assigned in sorted(self._assigned.get(address, ()), key=lambda one: one.turn):
                lines.append(f"{assigned.target} = {assigned.again if again else assigned.source}")
            lines += self._counted.get(address, ())
        return compile("\n".join(lines), "<steering>", "exec")


def _stretches(length: int, branches: Sequence[Branch], delay_slots: int, lines: _Lines) -> list[Stretch]:
    """The program cut before each branch's target, after each branch and after its delay slots."""
    cuts = {0, length}
    for branch in branches:
        cuts |= {branch.target, branch.bundle + 1, branch.bundle + 1 + delay_slots}
    leaving = {branch.bundle: branch for branch in branches}
    return [
        Stretch(
            first, end - 1, lines.code(first, end - 1, False), lines.code(first, end - 1, True), leaving.get(end - 1)
        )
        for first, end in pairwise(sorted(cut for cut in cuts if cut <= length))
    ]


def _run(
    stretches: Sequence[Stretch], delay_slots: int, registers: dict[str, Any], taken: dict[Branch, int]
) -> list[int] | None:
    """Executions of each bundle, ``None`` when there is no end in sight. Counts in ``taken`` what branches do."""
    number = {stretch.first: n for n, stretch in enumerate(stretches)}
    number[stretches[-1].last + 1] = len(stretches)
    counts = [0] * len(stretches)
    here, again = 0, False
    for _ in range(MOST_STRETCHES):
        if here == len(stretches):
            return [count for count, one in zip(counts, stretches, strict=True) for _ in range(one.first, one.last + 1)]
        one = stretches[here]
        counts[here] += 1
        exec(one.again if again else one.entered, registers)
        branch = one.branch
        here, again = here + 1, False
        if branch and (branch.guard is None or bool(registers[branch.guard.register]) != branch.guard.negated):
            taken[branch] += 1
            # What stands in the delay slots is executed all the same; a branch that stands there is not taken.
            while here < len(stretches) and stretches[here].first <= branch.bundle + delay_slots:
                counts[here] += 1
                exec(stretches[here].entered, registers)
                here += 1
            here, again = number[branch.target], True
    return None
