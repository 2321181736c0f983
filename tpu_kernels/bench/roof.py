"""The most that a machine can do: from the catalogue where it knows the chip, measured here otherwise.

A measurement above what the silicon can do is not a fast kernel but a broken clock: :func:`checked_rate` refuses it.
"""

import os
import platform
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import jax
import jax.numpy as jnp

from tpu_kernels.backend import Here
from tpu_kernels.bench.measurement_error import MeasurementError
from tpu_kernels.bench.timing import Call, time_in_turns
from tpu_kernels.models import hardware
from tpu_kernels.models.hardware import UnknownFieldError, UnknownValueError
from tpu_kernels.phrases import phrase

PUBLISHED, MEASURED = "published", "measured"
# Names of jax's dtypes in the catalogue. A float32 product on a TPU or a GPU's tensor cores runs in another format.
CATALOGUE_DTYPES = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "float32": "fp32",
    "int8": "int8",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
}
# No processor sold runs faster than this; with the widest instructions it bounds what a CPU can possibly do.
FASTEST_CLOCK = 6.5e9
CACHE_BEATING_BYTES = 256 << 20
PROBES = (512, 1024)  # sides of products that a core works on at its best


@dataclass(frozen=True)
class Roof:
    """``peak`` FLOP/s (OP/s for integers) and ``bandwidth`` bytes/s of main memory; ``label`` says where they are from:
    :data:`PUBLISHED` or :data:`MEASURED` on this machine. None where nobody knows."""

    peak: float | None
    bandwidth: float | None
    label: str

    def seconds(self, flops: float, size: float) -> float | None:
        """The least time for ``flops`` operations on ``size`` bytes that pass main memory once."""
        if self.peak is None or self.bandwidth is None:
            return None
        return max(flops / self.peak, size / self.bandwidth)


def roof(here: Here, dtype: str) -> Roof:
    """The roof of one device of ``here`` for products in ``dtype`` (jax's name).

    A device that the catalogue knows has its published figures, a missing one stays None. A CPU is measured, once per
    process and dtype: the best rate of XLA's products of 512 and 1024, and of arrays larger than any cache read and
    written. A lucky moment may beat it, so that a share of it can pass 100 %.
    """
    if here.chip is not None:
        chip = hardware.chip(here.chip)
        return Roof(_peak(chip, dtype), _field(chip, "hbm_bandwidth"), PUBLISHED)
    if here.platform != "cpu":
        return Roof(None, None, PUBLISHED)
    return Roof(*_measured(dtype), MEASURED)


def checked_rate(rate: float, here: Here, dtype: str) -> float:
    """``rate`` itself, in FLOP/s. Raises :class:`MeasurementError` when one device cannot possibly reach it."""
    limit = possible_rate(here, dtype)
    if limit is not None and rate > limit:
        raise MeasurementError(phrase("bench.impossible", got=f"{rate / 1e12:.3g}", limit=f"{limit / 1e12:.3g}"))
    return rate


def possible_rate(here: Here, dtype: str) -> float | None:
    """FLOP/s that no device of this kind exceeds; None when nothing is known of it."""
    if here.platform == "cpu":
        return (os.cpu_count() or 1) * FASTEST_CLOCK * _flops_per_cycle(dtype)
    published = roof(here, dtype).peak
    # Published peaks are at the nominal clock, and a chip may boost.
    return None if published is None else 1.1 * published


def _peak(chip: hardware.Chip, dtype: str) -> float | None:
    try:
        return float(chip.peak_flops[CATALOGUE_DTYPES.get(dtype, dtype)])
    except (KeyError, UnknownValueError):
        return None


def _field(chip: hardware.Chip, name: str) -> float | None:
    try:
        return float(getattr(chip, name))
    except (UnknownFieldError, UnknownValueError):
        return None


@cache
def _measured(dtype: str) -> tuple[float, float]:
    whole = jnp.issubdtype(jnp.dtype(dtype), jnp.integer)
    sums = jnp.int32 if whole else jnp.promote_types(dtype, jnp.float32)
    product = jax.jit(partial(jnp.matmul, preferred_element_type=sums))
    long = jnp.ones(CACHE_BEATING_BYTES // 4, jnp.float32)
    add = jax.jit(lambda x: x + 1)
    calls: dict[str, Call] = {"add": lambda: add(long)}
    for side in PROBES:
        calls[str(side)] = partial(product, *2 * (jnp.ones((side, side), dtype),))
    timed = time_in_turns(calls, repeats=7)
    peak = max(2 * side**3 / timed[str(side)].best for side in PROBES)
    return peak, 2 * CACHE_BEATING_BYTES / timed["add"].best


def _flops_per_cycle(dtype: str) -> int:
    """Floating-point operations per core and cycle with the widest units that any core of this kind has: two fused
    multiply-adds of 512 bits, or a matrix unit where the processor has one (1,024 in bfloat16, Intel's AMX)."""
    width = {"float64": 32, "float32": 64}.get(dtype, 256)
    cpuinfo = Path("/proc/cpuinfo")
    if platform.machine() == "arm64" or (cpuinfo.exists() and "amx_tile" in cpuinfo.read_text(encoding="utf-8")):
        return max(width, 2048)
    return width
