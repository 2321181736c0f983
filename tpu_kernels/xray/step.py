"""One step of a kernel, bundle by bundle: the loop in which it spends most of its time, and what overlaps in it."""

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_kernels.xray import mxu
from tpu_kernels.xray.bins import Bin, bins
from tpu_kernels.xray.kernel_dump import KernelDump
from tpu_kernels.xray.regions import Loop
from tpu_kernels.xray.waits import Semaphore, Wait, raised, waits


@dataclass(frozen=True)
class Flight:
    """A copy that a step starts in bundle ``start``, ``starts`` times in one run of the kernel.

    ``waits`` are the bundles of the step that wait for it; none when the program waits elsewhere, or when it cannot be
    told for which copy. With ``ahead``, what they wait for was started by an earlier step, and what this one starts is
    waited for in a later one: the copy crosses from step to step.
    """

    start: int
    source: str
    destination: str
    operand: int | None
    starts: int | None
    waits: tuple[int, ...]
    ahead: bool


@dataclass(frozen=True)
class Step:
    """Bundles ``first`` to ``last`` in program order, gone through ``trips`` times in one run of the kernel.

    They are the loop that executes most bundles, with the loops in it; the whole program, once, where it has no loop.
    ``mxu_first`` and ``mxu_last`` are the first and the last bundle of them that gives a matrix unit something to
    multiply.
    """

    first: int
    last: int
    trips: int
    bins: tuple[Bin, ...]
    flights: tuple[Flight, ...]
    mxu_first: int | None
    mxu_last: int | None


def step(dump: KernelDump, loops: Sequence[Loop]) -> Step | None:
    """The step of a kernel with these loops; ``None`` when executions are not known."""
    executions = dump.replay.executions
    if executions is None:
        return None
    whole = Loop(0, len(dump.bundles) - 1, 1, 1)
    longest = max(loops, key=lambda loop: sum(executions[loop.first : loop.last + 1]), default=whole)
    first, last = longest.first, min(longest.last, whole.last)
    multiplying = [first + n for n, given in enumerate(mxu.operations(dump.bundles[first : last + 1])) if given]
    return Step(
        first=first,
        last=last,
        trips=longest.trips,
        bins=bins(first, last, executions, dump.used),
        flights=_flights(dump, first, last, longest is not whole),
        mxu_first=min(multiplying, default=None),
        mxu_last=max(multiplying, default=None),
    )


def _flights(dump: KernelDump, first: int, last: int, again: bool) -> tuple[Flight, ...]:
    inside = [wait for wait in waits(dump.bundles) if first <= wait.bundle <= last]
    found = []
    for copy, starts, raises in zip(dump.copies, dump.replay.starts, raised(dump.bundles), strict=True):
        if first <= copy.bundle <= last:
            waited, ahead = _waited(copy.bundle, raises, inside, again)
            found.append(Flight(copy.bundle, copy.source, copy.destination, copy.operand, starts, waited, ahead))
    return tuple(found)


def _waited(start: int, raises: Semaphore | None, inside: Sequence[Wait], again: bool) -> tuple[tuple[int, ...], bool]:
    """Where the copy is waited for, and whether that is in another trip.

    The same address is the same semaphore, raised in this trip if the wait comes later. Another address in its array
    is the one that an earlier trip had raised.
    """
    same = tuple(wait.bundle for wait in inside if raises and wait.semaphore == raises)
    if same or not again:
        return same, bool(same) and again and same[-1] < start
    turns = tuple(
        wait.bundle
        for wait in inside
        if raises and raises.array and wait.semaphore and wait.semaphore.array == raises.array
    )
    return turns, bool(turns)
