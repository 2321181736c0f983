"""What must hold between the compiler's files, and between them and the caller's program; or else nothing is reported.

Dumps are for the compiler's own engineers and change without notice. Each check reads the same thing in two places that
would not change together.
"""

import math
from collections import Counter, defaultdict

from tpu_kernels.xray import hlo_products, mxu
from tpu_kernels.xray.errors import DumpError
from tpu_kernels.xray.kernel_call import KernelCall
from tpu_kernels.xray.kernel_dump import KernelDump
from tpu_kernels.xray.products import Product
from tpu_kernels.xray.regions import loops
from tpu_kernels.xray.targets import Target
from tpu_kernels.xray.utilisation import UNITS

SMALL = hlo_products.SMALL
MOST_ROWS = 64  # that one operation streams
STAGES = 2  # of a pipeline, beyond the first: the work, and the wait for results to leave
NEAR = 0.98  # published rates are rounded
LOOSELY = 0.95  # the simulator follows the loops for what is left over in its own way
SLACK = 1  # the simulator leaves out the bundle in which control returns


def check(
    dump: KernelDump, call: KernelCall | None, cycles: int | None, flops: int | None, target: Target
) -> tuple[str, ...]:
    """The names of the checks that could be made and held. Raises :class:`DumpError` at the first that does not.

    ``call`` is the caller's kernel, ``cycles`` the simulator's answer, ``flops`` what an operation of XLA's multiplies;
    each ``None`` where it is not known.
    """
    made = [_counts(dump), _slots(dump)]
    if dump.replay.executions is not None:
        made += [_cycles(dump, cycles, target), _steps(dump, call, target), _multiplications(dump, flops, target)]
    if call and dump.replay.executions is not None:
        made += [_copies(dump, call, target), _products(dump, call, target)]
    return tuple(name for name in made if name)


def _counts(dump: KernelDump) -> str:
    """As many bundles as rows in the table, and as the compiler says that it scheduled."""
    found = {len(dump.bundles), len(dump.used.rows), dump.scheduled}
    if len(found) > 1:
        raise _contradiction(dump, "counts", f"{len(dump.bundles)}, {len(dump.used.rows)}, {dump.scheduled}")
    return "counts"


def _slots(dump: KernelDump) -> str:
    """In each bundle, as many results popped and vectors stored as its row says."""
    popped, stored, spilled = UNITS.index("VPOP"), UNITS.index("VSTORE"), UNITS.index("SPILL")
    for bundle, row in zip(dump.bundles, dump.used.rows, strict=True):
        vectors = [one for one in bundle.instructions if not one.is_scalar]
        opcodes = Counter(one.opcode.partition(".")[0] for one in vectors)
        least = opcodes["vst"] + opcodes["cst"]
        most = least + opcodes["vpush"]
        if opcodes["vpop"] != row[popped] or not least <= row[stored] <= most or row[spilled] > row[stored]:
            raise _contradiction(dump, "slots", f"{bundle.address:#x}: {dict(opcodes)}, {row}")
    return "slots"


def _cycles(dump: KernelDump, cycles: int | None, target: Target) -> str:
    """At least a cycle for each bundle that is executed, and as many as the matrix units need."""
    if cycles is None:
        return ""
    executions = dump.replay.executions or ()
    executed, held = sum(executions), mxu.cycles(mxu.given(dump.bundles, executions), target)
    if cycles < executed * LOOSELY - SLACK or cycles < held * NEAR:
        raise _contradiction(dump, "cycles", f"{cycles} < {executed}, {held:.0f}")
    return "cycles"


def _multiplications(dump: KernelDump, flops: int | None, target: Target) -> str:
    """The matrix units are given at least what an operation of XLA's multiplies."""
    if not flops:
        return ""
    found = multiplied(dump, target)
    if found < flops:
        raise _contradiction(dump, "products", f"{flops} <= {found}")
    return "products"


def _steps(dump: KernelDump, call: KernelCall | None, target: Target) -> str:
    """Some bundles are executed once for each step of the grid that the compiler wrote down, which is the caller's.

    Where there is more than one, their loop makes a trip more for each stage that the pipeline has beyond the first;
    some of these may have no code.
    """
    if dump.grid is None:
        return ""
    steps, executed = math.prod(dump.grid), set(dump.replay.executions or ())
    if steps not in executed:
        raise _contradiction(dump, "steps", f"{dump.grid}, {sorted(executed)}")
    trips = {loop.trips for loop in loops(dump.replay, target.delay_slots)}
    stages = range(dump.last_stage, max(dump.last_stage, STAGES) + 1)
    if steps > 1 and trips and not trips & {steps + stage for stage in stages}:
        raise _contradiction(dump, "steps", f"{dump.grid}, stage {dump.last_stage}, {sorted(trips)}")
    if call and call.steps is not None and call.steps not in {steps * share for share in range(1, target.cores + 1)}:
        raise _contradiction(dump, "steps", f"{dump.grid}, {call.grid}")
    return "steps"


def _copies(dump: KernelDump, call: KernelCall, target: Target) -> str:
    """Each operand's block is copied as often as its index map changes over the grid, and all of it."""
    scalars = len(call.operands) + len(call.results) - len(call.windows)  # operands that come before those in windows
    amounts: dict[int | None, list[tuple[int | None, int | None]]] = defaultdict(list)
    for core in dump.cores:
        for copy, starts, granules in zip(dump.copies, core.starts, core.granules, strict=True):
            amounts[copy.operand].append((starts, granules))
    compared = False
    for number, window in enumerate(call.windows, scalars):
        started = [starts for starts, _ in amounts[number] if starts is not None]
        moved = [granules for _, granules in amounts[number] if granules is not None]
        if window is None or window.fetches is None or not started or len(started) < len(amounts[number]):
            continue
        # Two cores may split any axis of the grid: all that is sure is that none fetches more than alone.
        alone = dump.cores_used == 1
        agrees = sum(started) == window.fetches if alone else 1 <= sum(started) <= window.fetches * dump.cores_used
        whole = sum(moved) * target.granule == sum(started) * window.block_bytes
        if not agrees or (window.exact and not whole):
            raise _contradiction(dump, "copies", f"{window.origin}: {sum(started)}, {window.fetches}, {sum(moved)}")
        compared = True
    return "copies" if compared else ""


def _products(dump: KernelDump, call: KernelCall, target: Target) -> str:
    """The matrix units are given as many multiplications as the products have, places left empty counted."""
    if not call.products or any(one.times is None or one.passes is None for one in call.products):
        return ""
    found = multiplied(dump, target)
    least = sum((one.flops or 0) * (one.passes or 0) for one in call.products if min(one.m, one.k, one.n) >= SMALL)
    most = sum(_padded(one, target) for one in call.products)
    if not least <= found <= most:
        raise _contradiction(dump, "products", f"{least} <= {found} <= {most}")
    return "products"


def multiplied(dump: KernelDump, target: Target) -> int:
    """FLOP that the matrix units of all cores are given in one run. Only where executions are known."""
    return sum(mxu.flops(mxu.given(dump.bundles, core.executions), target) for core in dump.cores if core.executions)


def _padded(product: Product, target: Target) -> int:
    """FLOP of a product when each of its sides fills whole operations."""
    sides = (_up(product.m, MOST_ROWS), _up(product.k, target.mxu_side), _up(product.n, target.mxu_side))
    return 2 * product.batch * math.prod(sides) * (product.times or 0) * (product.passes or 0)


def _up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _contradiction(dump: KernelDump, name: str, found: str) -> DumpError:
    return DumpError(f"{dump.name}: {name} do not agree: {found[:300]}")
