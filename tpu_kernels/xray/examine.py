"""X-ray a function: lower it here, have the TPU's compiler compile it in a process of its own, read what that says."""

import dataclasses
import errno
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import metadata
from typing import Any

from tpu_kernels.phrases import phrase
from tpu_kernels.xray import fit, hlo, libtpu, slices, targets
from tpu_kernels.xray.cache import Cache, key
from tpu_kernels.xray.collectives import collectives
from tpu_kernels.xray.compiler import Compilation, Ending, compilation
from tpu_kernels.xray.compiler_errors import refused
from tpu_kernels.xray.dissect import kernels, moves
from tpu_kernels.xray.errors import LimitError, XrayError
from tpu_kernels.xray.flags import require_flags
from tpu_kernels.xray.libtpu import Libtpu
from tpu_kernels.xray.program import Program, lower
from tpu_kernels.xray.record import SCHEMA, Kernel, Move
from tpu_kernels.xray.report import Report, ideal_cycles, total
from tpu_kernels.xray.sharding import require_devices
from tpu_kernels.xray.sizes import readable
from tpu_kernels.xray.targets import Target

SECONDS = 120.0
SIMULATION_SECONDS = 40.0
MEMORY = 8 * 2**30
MOST_STEPS = 8192  # the simulator carries out every step of a grid

UNKNOWN_FLAG = re.compile(r"Unknown command line flag '([^']+)'")

# Why a simulation was given up: it may succeed another time, so that such a report is not kept.
PASSING = {Ending.OUT_OF_TIME.value, Ending.OUT_OF_MEMORY.value, Ending.KILLED.value}
FINAL = {Ending.REFUSED, Ending.STOPPED, Ending.NO_ROOM}  # what would end the same without a simulation


def xray(
    function: Callable[..., Any],
    *specs: Any,
    chip: str = "v5e",
    topology: str | None = None,
    simulate: bool | None = None,
    flags: Sequence[str] = (),
    seconds: float = SECONDS,
    memory_bytes: int = MEMORY,
    cache: bool = True,
) -> Report:
    """What the TPU's compiler says of ``function`` for arguments like ``specs``, on a machine with no TPU.

    ``specs`` are arrays or ``jax.ShapeDtypeStruct``, also inside pytrees; anything else in them is passed on as it is.
    ``chip`` is ``"v4"``, ``"v5e"``, ``"v5p"``, ``"v6e"`` or ``"tpu7x"``; ``topology`` a slice as the compiler names it,
    by default the smallest. Arrays in ``specs`` may be spread over the mesh of a whole slice, as of
    :func:`~tpu_kernels.xray.sharding.slice_mesh`, or the function names that mesh, in a ``shard_map`` or a constraint:
    the program is then compiled for all devices of the slice, laid on the mesh as ``jax.make_mesh`` does there, and the
    report is of one of them. An array without a sharding is spread as the function first asks, else it is whole on
    every device. ``simulate``: whether the compiler's simulator is to count cycles; ``None`` tries it for up
    to ``SIMULATION_SECONDS`` where it can be expected to end, and falls back to a model, labelled so. ``flags`` are
    passed to the compiler. It gets ``seconds`` of processor time and ``memory_bytes``, no more. With ``cache``, what
    was seen before is not compiled again.

    Raises :class:`~tpu_kernels.xray.errors.XrayError`: ``MissingCompilerError`` without libtpu, ``UnknownTargetError``,
    ``FlagError`` for a flag that does not begin with ``--``, ``ProgramError`` when the function cannot be lowered,
    ``CompileError`` when the compiler refuses it, ``LimitError`` when it takes too long or too much, ``DumpError`` when
    its dumps are not understood.
    """
    require_flags(flags)
    target = targets.target(chip)
    compiler = libtpu.find()
    place = slices.of(topology, target)
    program = lower(function, specs, target)
    if program.axes.devices > 1:
        require_devices(program.axes.devices, place)
    fit.require(program.calls, target)
    versions = {"jax": metadata.version("jax"), "jaxlib": metadata.version("jaxlib"), "libtpu": compiler.version}
    kept = Cache() if cache else None
    name = key(
        program=program.code,
        chip=target.chip,
        topology=place.name,
        axes=dataclasses.asdict(program.axes),
        donated=program.donated,
        simulate=simulate,
        flags=list(flags),
        versions=versions,
        schema=SCHEMA,
    )
    found = _seen_before(kept, name) if kept else None
    if found:
        return found
    reason = _not_simulated(simulate, program, target, compiler)
    attempts = [(True, seconds if simulate else min(seconds, SIMULATION_SECONDS))] if not reason else []
    for simulated, most in [*attempts, (False, seconds)]:
        with compilation(
            program.code,
            place.name,
            compiler,
            simulate=simulated,
            axes=program.axes,
            donated=program.donated,
            flags=flags,
            seconds=most,
            memory_bytes=memory_bytes,
        ) as result:
            if result.ending is Ending.COMPILED:
                report = made(result, program, target, place.name, versions, flags, reason)
                break
            reason = result.ending.value
            if result.ending in FINAL or not simulated:
                raise _failure(result, program, target, most, memory_bytes)
    if kept and reason not in PASSING:
        kept.put(name, report.to_dict())
    return report


def _seen_before(kept: Cache, name: str) -> Report | None:
    """The report that was kept; ``None`` when what was kept is none."""
    found = kept.get(name)
    with suppress(TypeError):
        return None if found is None else Report.from_dict(found)
    return None


def made(
    result: Compilation,
    program: Program,
    target: Target,
    topology: str,
    versions: dict[str, str],
    flags: Sequence[str],
    reason: str,
) -> Report:
    """The report of a compilation. ``reason`` says why nothing was simulated; it is empty when something was.

    Raises :class:`~tpu_kernels.xray.errors.DumpError` when its dumps are not understood.
    """
    found = kernels(result, program.calls, target, reason)
    cycles = total(found)
    seconds = None if cycles.value is None else cycles.value / target.clock
    memory = {name: size for name, size in result.answer["memory"].items() if size is not None and size >= 0}
    ideal = ideal_cycles(found, program.flops)
    module = hlo.parse(result.hlo)
    beside = moves(module, target)
    place, devices = slices.of(topology, target), program.axes.devices
    return Report(
        schema=SCHEMA,
        name=program.name,
        chip=target.chip,
        topology=topology,
        device_kind=result.answer["device_kind"],
        mesh=program.axes.sides,
        devices=devices,
        chips=place.chips if devices > 1 else 1,
        versions=versions,
        flags=tuple(flags),
        clock=target.clock,
        cycles=cycles,
        seconds=seconds,
        flops=program.flops,
        of_peak=None if ideal is None else _part(ideal, cycles.value),
        of_roofline=_of_roofline(ideal, found, beside, memory, cycles.value, target),
        memory=memory,
        hbm=int(target.hardware.hbm_capacity) // target.devices_per_chip,
        kernels=found,
        moves=beside,
        collectives=collectives(module, place, result.answer["places"]) if devices > 1 else (),
    )


def _of_roofline(
    ideal: float | None,
    found: Sequence[Kernel],
    beside: Sequence[Move],
    memory: dict[str, int],
    cycles: int | None,
    target: Target,
) -> float | None:
    """The least time, of products and of each argument and result once through HBM, as a share of the time taken.

    Arguments that nothing reads whole do not count whole.
    """
    moved = [(kernel.hbm("read"), kernel.hbm("written"), kernel.runs) for kernel in found]
    moved += [(move.bytes, 0, move.runs) for move in beside if "hbm" in {move.source, move.destination}]
    if not {"argument", "output"} <= set(memory) or any(None in one for one in moved):
        return None
    through = sum(((read or 0) + (written or 0)) * (runs or 0) for read, written, runs in moved)
    least = min(memory["argument"] + memory["output"], through)
    return _part(max(ideal or 0.0, least / target.hbm_bandwidth * target.clock), cycles)


def _part(least: float, cycles: int | None) -> float | None:
    """The least time as a share of the cycles; ``None`` when these are fewer, since they leave something out then."""
    return least / cycles if cycles and least <= cycles else None


def _not_simulated(asked: bool | None, program: Program, target: Target, compiler: Libtpu) -> str:
    """Why the simulator is not even tried; empty when it is."""
    if not target.simulates(compiler.version):
        return "libtpu" if target.simulated_since else "chip"
    if asked is False:
        return "asked"
    if asked is None and program.axes.devices > 1:
        return "devices"
    steps = sum((call.steps or 0) * (call.times or 1) for call in program.calls)
    return "steps" if asked is None and steps > MOST_STEPS else ""


def _failure(result: Compilation, program: Program, target: Target, seconds: float, memory_bytes: int) -> XrayError:
    match result.ending:
        case Ending.REFUSED:
            return refused(result.answer["error"], program.calls, target.vmem)
        case Ending.OUT_OF_TIME:
            return LimitError(phrase("xray.out_of_time", seconds=round(seconds)), result.output)
        case Ending.OUT_OF_MEMORY:
            return LimitError(phrase("xray.out_of_memory", limit=readable(memory_bytes)), result.output)
        case Ending.KILLED:
            return LimitError(phrase("xray.killed"), result.output)
        case Ending.NO_ROOM:
            return LimitError(phrase("xray.no_room", reason=os.strerror(errno.ENOSPC)), result.output)
        case Ending.STOPPED:
            return LimitError(phrase("xray.stopped"), result.output)
        case _:
            flag = UNKNOWN_FLAG.search(result.output)
            message = phrase("xray.unknown_flag", flag=f"--{flag[1]}") if flag else phrase("xray.died")
            return LimitError(message, result.output)
