"""The matrix product of every implementation beside ``jnp.matmul``, in one run, each result checked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tpu_kernels.backend import Here, here
from tpu_kernels.bench.correctness import Correctness, compare
from tpu_kernels.bench.device_time import device_seconds
from tpu_kernels.bench.roof import Roof, checked_rate, roof
from tpu_kernels.bench.timing import Call, Timing, time_in_turns
from tpu_kernels.kernels import matmul, plan

# What everybody would write; the others are compared with it.
BASELINE = "jnp"
MEASURED, INTERPRETED = "measured", "interpreted"
Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Row:
    """One implementation at one shape [m, k] x [k, n] and dtype.

    ``label``: :data:`MEASURED`, or :data:`INTERPRETED` for a kernel that ran in the interpreter, which has values and
    no speed. Times in seconds; ``device`` where a profiler gives it; ``ratio``: time over the baseline's, from the same
    rounds.
    """

    implementation: str
    shape: Shape
    dtype: str
    block: str | None
    label: str
    correctness: Correctness
    timing: Timing | None
    device: float | None
    ratio: float | None
    roof: Roof

    @property
    def flops(self) -> int:
        m, k, n = self.shape
        return 2 * m * k * n

    @property
    def bytes(self) -> int:
        """Each operand read once and the result written once."""
        m, k, n = self.shape
        result = 4 if np.issubdtype(np.dtype(self.dtype), np.integer) else np.dtype(self.dtype).itemsize
        return (m * k + k * n) * np.dtype(self.dtype).itemsize + m * n * result

    @property
    def seconds(self) -> float | None:
        """The device's time where there is one, else the host's median."""
        if self.device is not None:
            return self.device
        return None if self.timing is None else self.timing.median

    @property
    def rate(self) -> float | None:
        """FLOP/s (OP/s for integers)."""
        return None if self.seconds is None else self.flops / self.seconds

    @property
    def of_roof(self) -> float | None:
        """Share of what the roofline allows at this intensity."""
        least = self.roof.seconds(self.flops, self.bytes)
        return None if least is None or self.seconds is None else least / self.seconds

    def to_dict(self) -> dict[str, Any]:
        m, k, n = self.shape
        return {
            "operation": "matmul",
            "implementation": self.implementation,
            "m": m,
            "k": k,
            "n": n,
            "dtype": self.dtype,
            "block": self.block,
            "label": self.label,
            "right": self.correctness.right,
            "max_error": self.correctness.max_error,
            "error_of_bound": self.correctness.of_bound,
            "rows_compared": self.correctness.rows,
            "host_seconds": None if self.timing is None else self.timing.to_dict(),
            "device_seconds": self.device,
            "flops": self.flops,
            "bytes": self.bytes,
            "flops_per_s": self.rate,
            "of_peak": None if self.rate is None or not self.roof.peak else self.rate / self.roof.peak,
            "of_roofline": self.of_roof,
            "roofline": self.roof.label,
            "ratio_to_jnp": self.ratio,
        }


def implementations(found: Here) -> tuple[str, ...]:
    """What is worth timing on this machine: ours, the one that ``auto`` takes first, beside the baseline."""
    fast = {"tpu": ("pallas_tpu", "xla"), "gpu": ("pallas_gpu", "xla")}.get(found.platform, ("xla",))
    return (*fast, BASELINE)


def bench_matmul(
    shapes: Sequence[Shape],
    dtypes: Sequence[str],
    backends: Sequence[str] | None = None,
    *,
    warmup: int = 2,
    repeats: int = 10,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> Iterator[Row]:
    """Yields a :class:`Row` for each shape (m, k, n), dtype and implementation, as soon as it is known.

    ``backends``: names that :func:`tpu_kernels.kernels.matmul` takes, and ``"jnp"``; default: :func:`implementations`.
    An implementation that runs in interpret mode here gives a row without times. ``progress`` is called after each
    round of calls. Raises ``MeasurementError`` for a time that cannot be true.
    """
    found = here()
    chosen = tuple(backends) if backends else implementations(found)
    for dtype in dtypes:
        limits = roof(found, dtype)
        for shape in shapes:
            yield from _rows(found, limits, shape, dtype, chosen, warmup, repeats, seed, progress)


def operands(shape: Shape, dtype: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random operands: what a product costs can depend on the data, and ones would flatter it."""
    m, k, n = shape
    rng = np.random.default_rng(seed)
    if np.issubdtype(np.dtype(dtype), np.integer):
        return rng.integers(-127, 128, (m, k)).astype(dtype), rng.integers(-127, 128, (k, n)).astype(dtype)
    # Through float32: NumPy's generator knows neither bfloat16 nor the formats of 8 bits.
    draw = rng.standard_normal
    return (
        draw((m, k), np.float32).astype(jnp.dtype(dtype)),
        draw((k, n), np.float32).astype(jnp.dtype(dtype)),
    )


def _rows(
    found: Here,
    limits: Roof,
    shape: Shape,
    dtype: str,
    backends: Sequence[str],
    warmup: int,
    repeats: int,
    seed: int,
    progress: Callable[[], None],
) -> Iterator[Row]:
    left, right = operands(shape, dtype, seed)
    a, b = jnp.asarray(left), jnp.asarray(right)
    calls: dict[str, Call] = {}
    plans: dict[str, tuple[str | None, bool]] = {}
    for name in backends:
        calls[name], plans[name] = _contestant(name, a, b)
    timed = {name: call for name, call in calls.items() if not plans[name][1]}
    timings = time_in_turns(timed, warmup=warmup, repeats=repeats, progress=progress) if timed else {}
    for name, call in calls.items():
        block, interpreted = plans[name]
        # On a TPU a float32 product at the default precision rounds its operands to bfloat16 first.
        passes = "bfloat16" if found.platform != "cpu" and dtype == "float32" else ""
        accumulator = dtype if dtype == "float64" else "float32"
        correctness = compare(np.asarray(call()), left, right, accumulator=accumulator, passes=passes)
        timing = timings.get(name)
        row = Row(
            implementation=name,
            shape=shape,
            dtype=dtype,
            block=block,
            label=INTERPRETED if interpreted else MEASURED,
            correctness=correctness,
            timing=timing,
            device=None if timing is None else device_seconds(call),
            ratio=timing.ratio(timings[BASELINE]) if timing and BASELINE in timings else None,
            roof=limits,
        )
        if row.rate is not None:
            checked_rate(row.rate, found, dtype)
        yield row


def _contestant(name: str, a: jax.Array, b: jax.Array) -> tuple[Call, tuple[str | None, bool]]:
    """The call, and its block and whether it is interpreted."""
    if name == BASELINE:
        out = jnp.int32 if jnp.issubdtype(a.dtype, jnp.integer) else None
        product = jax.jit(lambda x, y: jnp.matmul(x, y, preferred_element_type=out))
        return lambda: product(a, b), (None, False)
    planned = plan(a, b, backend=name)
    ours = jax.jit(lambda x, y: matmul(x, y, backend=name))
    return lambda: ours(a, b), (str(planned.block) if planned.block else None, planned.interpret)
