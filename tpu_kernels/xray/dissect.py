"""From a compilation to the records of a report: each kernel read, checked, counted."""

from collections import Counter
from collections.abc import Sequence

from tpu_kernels.xray import allocations, estimate, hlo, hlo_products, kernel_dump, matching, mxu, static_profile
from tpu_kernels.xray.bins import bins
from tpu_kernels.xray.collectives import exchanges
from tpu_kernels.xray.compiler import Compilation
from tpu_kernels.xray.errors import DumpError
from tpu_kernels.xray.hlo import Module, Operation
from tpu_kernels.xray.invariants import check
from tpu_kernels.xray.kernel_call import KernelCall
from tpu_kernels.xray.kernel_dump import KernelDump
from tpu_kernels.xray.record import MODELLED, SIMULATED, Cycles, Kernel, Move
from tpu_kernels.xray.regions import loops, regions, share
from tpu_kernels.xray.step import step
from tpu_kernels.xray.targets import Target
from tpu_kernels.xray.utilisation import UNITS

UNKNOWN = "unknown"  # the reason why the simulator's answer is not used: it gave none
DATA = "data"  # the simulator's answer is for a way through the program that it chose
MOVES = ("copy-start", "slice-start")
SEMAPHORE = 4  # bytes


def kernels(compilation: Compilation, calls: Sequence[KernelCall], target: Target, reason: str) -> tuple[Kernel, ...]:
    """Every kernel of the program but its collectives, in the order in which they run.

    ``reason`` says why nothing was simulated; it is empty when something was.

    Raises :class:`DumpError` when a dump is not understood, or a check fails.
    """
    module = hlo.parse(compilation.hlo)
    dumps = kernel_dump.read(compilation.dumps, target, exchanges(module))
    printed = [path.read_text(encoding="utf-8") for path in sorted(compilation.dumps.glob("*-TLP-hlo.txt"))]
    bodies = {name: body for text in printed for name, body in hlo.bodies(text).items()}
    found = matching.dumps_of(module, dumps, bodies)
    meant = matching.calls_of(module, calls)
    profiled = {path.name: path.read_text(encoding="utf-8") for path in compilation.profiles.glob("*.textproto")}
    simulated = static_profile.parse(profiled.values())
    records = []
    for operation in module.operations():
        dump = found.get(operation.name)
        if dump is None:
            if operation.is_kernel:
                raise DumpError(f"{operation.name}: a Pallas kernel without a dump")
            continue
        cycles = simulated.get(dump.name)
        records.append(_kernel(module, operation, dump, meant.get(operation.name), cycles, target, reason or UNKNOWN))
    return tuple(records)


def moves(module: Module, target: Target) -> tuple[Move, ...]:
    """The copies between memories that run beside the kernels."""
    memories = {True: target.near_memory, False: "hbm"}
    found = []
    for one in module.operations():
        if one.opcode not in MOVES or len(one.arrays) < 2:
            continue
        to, source = one.arrays[:2] if one.opcode == "copy-start" else one.arrays[1::-1]
        ahead = "cross_program_prefetch_index" in one.attributes
        runs = module.runs[one.name]
        found.append(Move(one.name, memories[source.near], memories[to.near], to.bytes, runs, ahead))
    return tuple(found)


def _kernel(
    module: Module,
    operation: Operation,
    dump: KernelDump,
    call: KernelCall | None,
    simulated: int | None,
    target: Target,
    reason: str,
) -> Kernel:
    flops = call.flops if call else hlo_products.flops(module, operation)
    plain = call is None and hlo_products.only_products(module, operation)
    checks = check(dump, call, simulated, flops if plain else None, target)
    moved = estimate.traffic(dump, target)
    held = estimate.bounds(dump, moved, target)
    executions = dump.replay.executions
    counts = [mxu.given(dump.bundles, core.executions) for core in dump.cores if core.executions is not None]
    looped = loops(dump.replay, target.delay_slots)
    known = executions is not None and len(counts) == len(dump.cores)
    if simulated is None:
        cycles = Cycles(estimate.modelled(dump, held, moved, target), MODELLED, reason)
    else:
        cycles = Cycles(simulated, SIMULATED, "" if executions else DATA)
    return Kernel(
        name=call.name if call else operation.name,
        operation=operation.name,
        pallas=operation.is_kernel,
        where=call.where if call else module.where(operation),
        runs=module.runs[operation.name],
        cores=dump.cores_used,
        grid=dump.grid,
        cycles=cycles,
        flops=flops,
        bundles=len(dump.bundles),
        executed=None if executions is None else sum(executions),
        use=None if executions is None else share(range(len(executions)), executions, dump.used),
        regions=() if executions is None else regions(dump.bundles, executions, dump.used),
        loops=looped,
        profile=bins(0, len(dump.bundles) - 1, executions, dump.used),
        step=step(dump, looped),
        mxu_operations=dict(sum(map(Counter, counts), Counter())) if known else None,
        mxu_flops=sum(mxu.flops(one, target) for one in counts) if known else None,
        mxu_cycles=sum(mxu.cycles(one, target) for one in counts) / target.cores if known else None,
        spilled=_moved(dump, "SPILL"),
        filled=_moved(dump, "FILL"),
        vmem=operation.vmem,
        smem=allocations.total(dump.allocations, "smem"),
        semaphores=allocations.total(dump.allocations, "sflag") // SEMAPHORE,
        allocations=dump.allocations,
        traffic=moved,
        bounds=held,
        checks=checks,
    )


def _moved(dump: KernelDump, unit: str) -> int:
    """Instructions in the code that move registers to memory, or back."""
    column = UNITS.index(unit)
    return sum(row[column] for row in dump.used.rows)
