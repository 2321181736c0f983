"""How exactly float32 operands are multiplied, by the field's three words.

========== ================================ ================================================
precision  float32 on a TPU                 everything else
========== ================================ ================================================
default    operands rounded to bfloat16     no effect: products of bfloat16, float16, 8-bit
high       three bfloat16 passes or more    floats and integers are exact in the accumulator,
highest    six passes: as float32 itself    and a CPU multiplies float32 as float32
========== ================================ ================================================

On an NVIDIA GPU ``default`` may round float32 operands to TF32. ``None`` is what ``jax.default_matmul_precision`` says,
and ``default`` where that says nothing.
"""

import jax
from jax import lax

from tpu_kernels.phrases import phrase

PRECISIONS = ("default", "high", "highest")


def checked_precision(precision: str | lax.Precision | None) -> lax.Precision | None:
    """The precision to use now, ``None`` where neither the call nor jax's configuration names one.

    Raises ``ValueError`` for anything but ``None``, a :class:`jax.lax.Precision` or one of :data:`PRECISIONS`. A
    configuration beyond these, such as a named algorithm of dots, asks for ``highest``.
    """
    if precision is None:
        configured = jax.config.jax_default_matmul_precision  # type: ignore[attr-defined]
        return None if configured is None else _configured(configured)
    if isinstance(precision, lax.Precision):
        return precision
    if isinstance(precision, str) and precision in PRECISIONS:
        return lax.Precision(precision)
    raise ValueError(phrase("gemm.precision", got=repr(precision)[:60], known=", ".join(PRECISIONS)))


def _configured(name: str) -> lax.Precision:
    try:
        return lax.Precision(name)
    except ValueError:
        return lax.Precision.HIGHEST
