"""What a report holds, as plain records: they go to JSON and come back equal.

Sizes are bytes and times are cycles, unless a name says otherwise. ``None`` is "not known": never 0, never a guess.
Figures are of one run of a kernel; ``runs`` says how often the program runs it. Where two cores share the work, code,
executions and bounds are those of the one that executes more; operations, FLOP and traffic are of both.
"""

import dataclasses
import math
import types
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from tpu_kernels.xray.allocations import Allocation
from tpu_kernels.xray.bins import Bin
from tpu_kernels.xray.regions import Loop, Region
from tpu_kernels.xray.step import Step

SCHEMA = 1

SIMULATED = "simulated"  # by the compiler's own simulator
MODELLED = "modelled"  # by tpu_kernels.xray.estimate

Record = TypeVar("Record")


@dataclass(frozen=True)
class Cycles:
    """``value`` cycles, ``label`` says who found them; ``reason`` what there is to know about that.

    It says why they are not simulated (``"chip"``, ``"libtpu"``, ``"asked"``, ``"devices"``, ``"steps"``, ``"time"``,
    ``"memory"``, ``"killed"``, ``"died"``, ``"unknown"``), or ``"data"`` when the simulator had to suppose which way
    data would send the program.
    """

    value: int | None
    label: str
    reason: str


@dataclass(frozen=True)
class Traffic:
    """Copies between memories that a kernel starts. ``operand`` is the one in HBM, inputs counted first."""

    source: str
    destination: str
    operand: int | None
    starts: int | None
    bytes: int | None


@dataclass(frozen=True)
class Bound:
    """``cycles`` that a resource is needed for, if nothing else held the kernel up."""

    resource: str
    cycles: float


@dataclass(frozen=True)
class Kernel:
    """One kernel of the program: a Pallas kernel, or an operation of XLA's.

    ``name`` is the learner's own where there is one, ``operation`` the compiler's. ``cores`` share the work, ``grid``
    is that of one of them; ``flops`` are those of products of matrices. ``bundles`` is the length of the code,
    ``executed`` how many of them one run executes, ``use`` the share of each unit's capacity over those.
    ``mxu_operations`` are given to the matrix units, by type; ``mxu_flops`` is what they stand for, ``mxu_cycles`` what
    they take all units of the device at the published rate. ``spilled`` and ``filled`` count the instructions in the
    code that move registers to memory and back. ``bounds`` are in falling order; ``checks`` names what was compared,
    and agreed. ``profile`` is the whole program in order, ``step`` one trip through the loop that takes most of it.
    """

    name: str
    operation: str
    pallas: bool
    where: str
    runs: int | None
    cores: int
    grid: tuple[int, ...] | None
    cycles: Cycles
    flops: int | None
    bundles: int
    executed: int | None
    use: dict[str, float] | None
    regions: tuple[Region, ...]
    loops: tuple[Loop, ...]
    profile: tuple[Bin, ...]
    step: Step | None
    mxu_operations: dict[str, int] | None
    mxu_flops: int | None
    mxu_cycles: float | None
    spilled: int | None
    filled: int | None
    vmem: int | None
    smem: int
    semaphores: int
    allocations: tuple[Allocation, ...]
    traffic: tuple[Traffic, ...]
    bounds: tuple[Bound, ...]
    checks: tuple[str, ...]

    @property
    def steps(self) -> int | None:
        """Of the grid, on one core."""
        return None if self.grid is None else math.prod(self.grid)

    @property
    def bundles_per_step(self) -> int | None:
        """Executed in one step of the grid, on average."""
        return None if self.executed is None or not self.steps else round(self.executed / self.steps)

    @property
    def mxu_held(self) -> float | None:
        """The share of the cycles that the multiplications take at the published rate."""
        return None if self.mxu_cycles is None or not self.cycles.value else self.mxu_cycles / self.cycles.value

    def hbm(self, direction: str) -> int | None:
        """Bytes ``"read"`` from HBM or have ``"written"`` to it; ``None`` when a copy is not known."""
        ends = [(one.source if direction == "read" else one.destination, one.bytes) for one in self.traffic]
        counted = [size for memory, size in ends if memory == "hbm"]
        return None if None in counted else sum(filter(None, counted))


@dataclass(frozen=True)
class Move:
    """An array that XLA copies between memories while kernels run. No kernel's cycles include it.

    ``ahead`` is true for what the program before this one is asked to have fetched.
    """

    name: str
    source: str
    destination: str
    bytes: int
    runs: int | None
    ahead: bool


def encode(record: Any) -> Any:
    """A record as dicts and lists."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {field.name: encode(getattr(record, field.name)) for field in dataclasses.fields(record)}
    if isinstance(record, dict):
        return {key: encode(value) for key, value in record.items()}
    return [encode(one) for one in record] if isinstance(record, tuple) else record


def decode(kind: Any, value: Any) -> Any:
    """The record of this type that :func:`encode` made ``value`` of. Raises ``TypeError`` for anything else."""
    origin = get_origin(kind)
    if origin in {Union, types.UnionType}:
        some = [one for one in get_args(kind) if one is not type(None)]
        return None if value is None else decode(some[0], value)
    if origin is tuple and isinstance(value, list):
        return tuple(decode(get_args(kind)[0], one) for one in value)
    if origin is dict and isinstance(value, dict):
        return {key: decode(get_args(kind)[1], one) for key, one in value.items()}
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        made: Any = kind
        hints = _hints(made)
        names = {field.name for field in dataclasses.fields(kind)}
        if set(value) != names:
            raise TypeError(f"{kind}: expected {sorted(names)}, got {sorted(value)}")
        return made(**{name: decode(hints[name], value[name]) for name in names})
    if kind is float and type(value) is int:
        return float(value)
    if not isinstance(kind, type) or type(value) is not kind:
        raise TypeError(f"expected {kind}, got {value!r}")
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    """Of the fields of a record; kept, since finding them takes longer than reading a report."""
    return get_type_hints(kind)
