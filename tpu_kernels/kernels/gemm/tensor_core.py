"""What one TensorCore of a TPU brings to a product: its matrix units' rate, its share of the memory, its VMEM."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import jax.numpy as jnp
import numpy as np
from jax import lax

from tpu_kernels.models import hardware

DEFAULT_CHIP = "v5e"  # blocks are sized for it where there is no TPU: the chip of Colab's free runtime

# Generations whose two TensorCores are one device of jax and share the grid of a kernel, half each ("megacore" in jax's
# documentation of Pallas). A 7x has two cores as well, but each is a device of its own.
MEGACORES = frozenset({"tpu_v4", "tpu_v5p"})

# For this generation XLA places no operand of a kernel in VMEM.
WITHOUT_RESIDENTS = frozenset({"tpu_v4"})

# For this one a copy of rows begins at a tile of VMEM, for the others at every eighth if the type has 16 bits or more.
TALL_TILES = frozenset({"tpu_7x"})

# bfloat16 passes of the matrix unit that stand for one product of float32 operands.
PASSES = {None: 1, lax.Precision.DEFAULT: 1, lax.Precision.HIGH: 6, lax.Precision.HIGHEST: 6}  # Mosaic has no three

# The catalogue's name of the rate for operands that the matrix unit takes as they are.
FORMATS = {"bfloat16": "bf16", "float32": "bf16", "int8": "int8", "float8_e4m3fn": "fp8", "float8_e5m2": "fp8"}


@dataclass(frozen=True)
class TensorCore:
    """One core: ``bandwidth`` in bytes/s, ``vmem`` in bytes, ``rates`` in FLOP/s or OP/s by format, ``mxu`` in rows.

    ``sharing`` is how many cores run one grid between them.
    """

    chip: str
    name: str
    sharing: int
    vmem: int
    bandwidth: float
    mxu: int
    rates: Mapping[str, float]

    def rate(self, dtype: np.dtype, precision: lax.Precision | None) -> float:
        """Products of this type in FLOP/s; a format that the unit lacks runs as bfloat16, float32 in passes."""
        rate = self.rates.get(FORMATS[dtype.name], self.rates["bf16"])
        return rate / passes(dtype, precision)


def passes(dtype: np.dtype, precision: lax.Precision | None) -> int:
    """How often the matrix unit goes over operands of this type, which it takes as they are or, float32, in parts."""
    return PASSES[precision] if dtype == jnp.float32 else 1


@cache
def tensor_core(chip: str) -> TensorCore:
    """The core of a TPU of the catalogue, every figure from there.

    Raises what :func:`~tpu_kernels.models.hardware.chip` raises, and ``UnknownValueError`` for a chip that is no TPU.
    """
    found = hardware.chip(chip)
    cores = int(found.tensorcores)
    rates = {name: float(rate) / cores for name, rate in found.peak_flops.items()}
    return TensorCore(
        chip=found.id,
        name=found.name,
        sharing=cores if found.id in MEGACORES else 1,
        vmem=int(found.vmem_per_core),
        bandwidth=float(found.hbm_bandwidth) / cores,
        mxu=int(found.mxu_side),
        rates=rates,
    )
