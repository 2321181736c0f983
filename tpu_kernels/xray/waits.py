"""Where a program waits for the copies that it started: a wait and a copy belong together when they share a semaphore.

A copy raises a semaphore when it is done, and a wait holds the core until it is raised. Both name it by its place in
memory, ``[#allocation4]``, or by a register that holds the place of one in an array of them: a pipeline with two
buffers takes the two of an array by turns.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tpu_kernels.xray.bundles import Bundle, Instruction
from tpu_kernels.xray.copies import START

WAIT = "dma.done.wait"
RAISED = re.compile(r"/\*dst_syncflagno=\*/(\[[^]]+\]|%s\d+_s\d+)")
NAMED = re.compile(r"\[#(allocation\d+)[^]]*\]|%(s\d+_s\d+)")
IN_ARRAY = "scalar_lea.sflag"


@dataclass(frozen=True)
class Semaphore:
    """``address`` as the program writes it; ``array`` is where it lies, ``None`` where that cannot be told."""

    address: str
    array: str | None


@dataclass(frozen=True)
class Wait:
    """An instruction in bundle ``bundle`` that waits until ``semaphore`` is raised."""

    bundle: int
    semaphore: Semaphore | None


def waits(bundles: Sequence[Bundle]) -> tuple[Wait, ...]:
    """Every wait, in the order of the program."""
    defined = _defined(bundles)
    return tuple(
        Wait(bundle.address, _semaphore(one.operands, defined))
        for bundle in bundles
        for one in bundle.instructions
        if one.opcode == WAIT
    )


def raised(bundles: Sequence[Bundle]) -> tuple[Semaphore | None, ...]:
    """The semaphore that each copy raises, copies in the order of :func:`~tpu_kernels.xray.copies.copies`."""
    defined = _defined(bundles)
    found: list[Semaphore | None] = []
    for bundle in bundles:
        for one in bundle.instructions:
            if START.fullmatch(one.opcode):
                named = RAISED.search(one.operands)
                found.append(_semaphore(named[1], defined) if named else None)
    return tuple(found)


def _defined(bundles: Sequence[Bundle]) -> dict[str, Instruction]:
    return {one.target: one for bundle in bundles for one in bundle.instructions if one.target.startswith("s")}


def _semaphore(written: str, defined: Mapping[str, Instruction]) -> Semaphore | None:
    """The one that an operand names, directly or by a scalar register; a guard before it names predicates."""
    named = NAMED.search(written)
    if named is None:
        return None
    if named[1]:
        return Semaphore(named[0], named[1])
    one = defined.get(named[2])
    place = NAMED.search(one.operands) if one and one.opcode == IN_ARRAY else None
    return Semaphore(named[0], place[1] if place else None)
