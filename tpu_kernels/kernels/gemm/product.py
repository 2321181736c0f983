"""``matmul``: the product of two arrays of any shape, by the implementation that serves the machine best."""

from functools import lru_cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import DTypeLike

from tpu_kernels.backend import announce
from tpu_kernels.kernels.gemm import plan as planning
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.dtypes import accumulator_dtype, common_dtype, known_dtype, may_wrap, result_dtype
from tpu_kernels.kernels.gemm.epilogue import check_epilogue, finish
from tpu_kernels.kernels.gemm.gradient import Call, product
from tpu_kernels.kernels.gemm.implementations import KEEPS_AXES
from tpu_kernels.kernels.gemm.layout import Layout, layout
from tpu_kernels.kernels.gemm.manual_axes import varying, varying_over
from tpu_kernels.kernels.gemm.operand import Abstract, Array, abstract, as_operand
from tpu_kernels.kernels.gemm.placement import Placement, placement
from tpu_kernels.kernels.gemm.plan import Choice, Plan
from tpu_kernels.kernels.gemm.precision import checked_precision
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.phrases import phrase


class Request(NamedTuple):
    """Everything that decides how a product is done, without the numbers; hashable."""

    a: Abstract
    b: Abstract
    bias: Abstract | None
    activation: str | None
    block: Block | None
    precision: lax.Precision | None
    out_dtype: np.dtype | None
    backend: str
    interpret: bool | None
    where: Placement


class Understood(NamedTuple):
    """A request that makes sense, and what was chosen for it. Sizes of 0 stand as 1 in ``call``, which is not made."""

    layout: Layout
    call: Call
    choice: Choice
    may_wrap: bool


def matmul(
    a: Array,
    b: Array,
    *,
    bias: Array | None = None,
    activation: str | None = None,
    block: Block | tuple[int, int, int] | None = None,
    precision: str | lax.Precision | None = None,
    out_dtype: DTypeLike | None = None,
    backend: str = planning.AUTO,
    interpret: bool | None = None,
) -> jax.Array:
    """``activation(a @ b + bias)``: sums in a wide accumulator, then one rounding to the result's type.

    ``a`` is ``[..., m, k]`` and ``b`` ``[..., k, n]``, arrays of NumPy or jax, with the rules of ``numpy.matmul`` for
    vectors and batches; any size may be 0. The result is ``[..., m, n]``. Types: see
    :mod:`~tpu_kernels.kernels.gemm.dtypes`; ``out_dtype`` asks for another result, rounded from the accumulator.
    ``bias`` is ``[n]``; ``activation`` is ``"relu"``, ``"gelu"`` (by tanh) or ``"silu"``; both act before the rounding.
    ``precision`` matters for float32 on accelerators: see :mod:`~tpu_kernels.kernels.gemm.precision`.

    ``backend`` is ``"auto"`` or one of ``"reference"``, ``"xla"``, ``"pallas_tpu"`` and ``"pallas_gpu"``; ``block`` is
    a :class:`Block` or ``(m, k, n)`` for a Pallas kernel, which else chooses for the chip, a v5e where there is none.
    ``interpret``: ``None`` runs a kernel without its hardware in Pallas's interpreter, and says so once; ``True``
    always does; ``False`` never.

    Differentiable in reverse mode, as often as wanted, in ``a``, ``b`` and ``bias``; works under ``jit``, ``vmap``,
    ``checkpoint`` and ``shard_map``.

    Raises ``TypeError`` for what is no array, for types without a product and for those that the backend asked for does
    not do; ``ValueError`` for shapes that do not fit, an unknown word, or a block that the chip cannot hold;
    ``BackendError`` where ``interpret=False`` asks for hardware that is not here.
    """
    a, b = as_operand("a", a), as_operand("b", b)
    bias = None if bias is None else as_operand("bias", bias)
    request = _request(a, b, bias, activation, block, precision, out_dtype, backend, interpret)
    understood = _understand(request)
    if understood.choice.refused is not None or (understood.choice.interpret and interpret is None):
        announce(str(planning.notice(understood.choice, understood.call.problem, request.where)))
    if understood.may_wrap:
        announce(phrase("gemm.may_wrap", a=request.a.dtype.name, b=request.b.dtype.name))
    result: jax.Array = _run(understood.layout, understood.call, a, b, bias)
    return result


def plan(
    a: Array | jax.ShapeDtypeStruct,
    b: Array | jax.ShapeDtypeStruct,
    *,
    bias: Array | jax.ShapeDtypeStruct | None = None,
    activation: str | None = None,
    block: Block | tuple[int, int, int] | None = None,
    precision: str | lax.Precision | None = None,
    out_dtype: DTypeLike | None = None,
    backend: str = planning.AUTO,
    interpret: bool | None = None,
) -> Plan:
    """How :func:`matmul` would do this product, and why; nothing is computed and shapes alone are enough.

    Takes what :func:`matmul` takes, and raises what it raises.
    """
    request = _request(a, b, bias, activation, block, precision, out_dtype, backend, interpret)
    understood = _understand(request)
    return planning.explained(understood.choice, understood.call.problem, request.where, backend, request.precision)


def _request(
    a: Array | jax.ShapeDtypeStruct,
    b: Array | jax.ShapeDtypeStruct,
    bias: Array | jax.ShapeDtypeStruct | None,
    activation: str | None,
    block: Block | tuple[int, int, int] | None,
    precision: str | lax.Precision | None,
    out_dtype: DTypeLike | None,
    backend: str,
    interpret: bool | None,
) -> Request:
    if interpret is not None and not isinstance(interpret, bool):
        raise ValueError(phrase("gemm.interpret", got=repr(interpret)[:60]))
    return Request(
        a=abstract("a", a),
        b=abstract("b", b),
        bias=None if bias is None else abstract("bias", bias),
        activation=str(activation) if activation is not None else None,
        block=None if block is None else Block.of(block),
        precision=checked_precision(precision),
        out_dtype=None if out_dtype is None else known_dtype(out_dtype),
        backend=str(backend),
        interpret=interpret,
        where=placement(a, b),
    )


@lru_cache(maxsize=4096)
def _understand(request: Request) -> Understood:
    """Judges a request; cached, so that a product in a loop pays for it once."""
    found = layout(request.a.shape, request.b.shape)
    dtype = common_dtype(request.a.dtype, request.b.dtype)
    out_dtype = result_dtype(dtype, request.out_dtype)
    g, m, k, n = (max(size, 1) for size in found.sizes)
    problem = Problem(g, m, k, n, dtype, accumulator_dtype(dtype), out_dtype)
    check_epilogue(problem, found.sizes[3], request.bias, request.activation)
    choice = planning.choose(
        problem,
        request.where,
        backend=request.backend,
        block=request.block,
        interpret=request.interpret,
        precision=request.precision,
    )
    chip = planning.chip_of(request.where.machine)
    call = Call(
        problem, choice.implementation, choice.block, request.precision, request.activation, choice.interpret, chip
    )
    return Understood(found, call, choice, may_wrap(request.a.dtype, request.b.dtype, found.sizes[2]))


@partial(jax.jit, static_argnums=(0, 1), inline=True)
def _run(found: Layout, call: Call, a: jax.Array, b: jax.Array, bias: jax.Array | None) -> jax.Array:
    problem = call.problem
    if 0 in found.sizes:  # nothing to multiply: empty sums are 0, and the epilogue acts on them
        g, m, _, n = found.sizes
        zeros = jnp.zeros((g, m, n), problem.accumulator)
        return finish(zeros, bias, call.activation, problem.out_dtype).reshape(found.result)
    arrange = found.unfolded if call.implementation in KEEPS_AXES else found.fold
    a, b = arrange(a.astype(problem.dtype), b.astype(problem.dtype))
    axes = varying(a, b) if bias is None else varying(a, b, bias)
    if axes and call.interpret:  # jax's interpreter does not keep track of what varies
        names = ", ".join(sorted(axes))
        raise ValueError(phrase("gemm.interpreted_in_shard_map", implementation=call.implementation, axes=names))
    a, b = varying_over(axes, a), varying_over(axes, b)
    bias = None if bias is None else varying_over(axes, bias)
    return product(call, a, b, bias).reshape(found.result)
