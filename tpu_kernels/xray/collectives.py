"""The collectives of a compiled program: what devices send each other, which of them, how often, along which links."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tpu_kernels.xray import replica_groups
from tpu_kernels.xray.errors import DumpError
from tpu_kernels.xray.hlo import Array, Module, Operation, called
from tpu_kernels.xray.ici_time import seconds
from tpu_kernels.xray.placement import Place, extents
from tpu_kernels.xray.replica_groups import Groups
from tpu_kernels.xray.slices import Slice

ALL_REDUCE, REDUCE_SCATTER, PERMUTE = "all-reduce", "reduce-scatter", "collective-permute"
OPERATION = re.compile(
    r"(all-reduce|reduce-scatter|all-gather|all-to-all|ragged-all-to-all|collective-permute|collective-broadcast)(-start)?"
)
SCATTERING = re.compile(r"\bcalls=%?all-reduce-scatter")  # a fusion in which each device keeps its part of the sum
ASYNCHRONOUS = ("async-start", "call-start")
# One that runs while fusions compute is written in each of them again, from the fusion that begins it to the last.
BEGINS, ENDS = 'custom_call_target="AsyncCollectiveStart"', 'custom_call_target="AsyncCollectiveDone"'
GOES_ON = re.compile(r"\bcalls=%?async_collective_fusion")


@dataclass(frozen=True)
class Collective:
    """One exchange between devices. ``bytes`` and ``result_bytes`` are what one device gives, and what it gets.

    ``groups`` groups of ``group_size`` devices take part, each by itself; ``members`` has them as XLA writes them,
    ``[groups,size]<=[devices]…``, devices in the order of the mesh, ``None`` when there is no such short form. A group
    of a permute is the devices that it joins. ``extents`` says how many places on each side of the slice a group takes,
    ``{"x": 16}``; ``None`` when groups are irregular. ``runs`` is how often in a run of the program. ``asynchronous``:
    the device does other work meanwhile. ``seconds`` is modelled, for links that nothing else uses.
    """

    name: str
    operation: str
    where: str
    dtype: str
    bytes: int
    result_bytes: int
    groups: int
    group_size: int | None
    members: str | None
    extents: dict[str, int] | None
    runs: int | None
    asynchronous: bool
    seconds: float | None


def collectives(module: Module, place: Slice, places: Sequence[Place]) -> tuple[Collective, ...]:
    """Every collective of a program, in the order of its text. ``places``: where each device of the mesh is.

    Raises :class:`DumpError` when one is not understood.
    """
    behind = {name: one for one in module.operations() if one.opcode in ASYNCHRONOUS for name in called(one)}
    found = []
    for computation, operations in module.computations.items():
        for one in operations:
            if one.name not in module.runs:
                continue
            parts = (one, *module.inside(one)) if one.opcode == "fusion" else (one,)
            if GOES_ON.search(one.attributes) or any(ENDS in part.attributes for part in parts):
                continue
            begun = any(BEGINS in part.attributes for part in parts)
            for inner in parts:
                match = OPERATION.fullmatch(inner.opcode)
                if match:
                    asynchronous = bool(match[2]) or begun or computation in behind
                    where = module.where(inner) or module.where(behind.get(computation, one))
                    found.append(_collective(module, one, inner, match[1], place, places, where, asynchronous))
    return tuple(found)


def exchanges(module: Module) -> frozenset[str]:
    """The operations that are a collective and nothing else, by name."""

    def alone(one: Operation) -> bool:
        if one.opcode != "fusion":
            return bool(OPERATION.fullmatch(one.opcode))
        ends = any(end in part.attributes for part in module.inside(one) for end in (BEGINS, ENDS))
        return ends or bool(SCATTERING.search(one.attributes))

    return frozenset(one.name for one in module.named.values() if alone(one))


def _collective(
    module: Module,
    run: Operation,
    one: Operation,
    kind: str,
    place: Slice,
    places: Sequence[Place],
    where: str,
    asynchronous: bool,
) -> Collective:
    given = [array for name in one.operands for array in module.named[name].arrays]
    got = list(_results(one, given))
    if run is not one and SCATTERING.search(run.attributes) and kind == ALL_REDUCE:
        kind, got = REDUCE_SCATTER, list(run.arrays)
    if not given:
        raise DumpError(f"{one.name}: a collective of nothing")
    sent = replica_groups.pairs(one.attributes) if kind == PERMUTE else ()
    groups: Groups = (
        replica_groups.joined(sent) if kind == PERMUTE else replica_groups.groups(one.attributes, len(places))
    )
    sizes = {len(group) for group in groups}
    taken = extents(groups, places)
    size = sum(array.unpadded for array in given)
    result = sum(array.unpadded for array in got)
    return Collective(
        name=run.name,
        operation=kind,
        where=where,
        dtype=" ".join(sorted({array.dtype for array in given})),
        bytes=size,
        result_bytes=result,
        groups=len(groups),
        group_size=sizes.pop() if len(sizes) == 1 else None,
        members=replica_groups.written(groups) if groups else None,
        extents=taken,
        runs=module.runs[run.name],
        asynchronous=asynchronous,
        seconds=seconds(kind, max(size, result), taken, [(places[a], places[b]) for a, b in sent], place),
    )


def _results(one: Operation, given: Sequence[Array]) -> Iterator[Array]:
    """What comes out. While it is under way, its shape has what went in before that, and semaphores behind."""
    begun = one.opcode.endswith("-start") and len(one.arrays) >= 2 * len(given)
    yield from one.arrays[len(given) : 2 * len(given)] if begun else one.arrays
