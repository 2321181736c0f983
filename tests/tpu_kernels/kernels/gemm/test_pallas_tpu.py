"""The kernel for the TPU, interpreted: no races, no rubbish from beyond the arrays, the blocks that were asked for."""

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tests.tpu_kernels.kernels.gemm.oracle import close, numbers
from tpu_kernels.kernels import matmul
from tpu_kernels.kernels.gemm import pallas_tpu
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.tpu_work import mosaic_precision

F32 = jnp.dtype(jnp.float32)


def problem(m: int, k: int, n: int, g: int = 1, dtype: Any = F32, **transposed: bool) -> Problem:
    dtype = jnp.dtype(dtype)
    sums = jnp.dtype(jnp.int32) if jnp.issubdtype(dtype, jnp.integer) else F32
    return Problem(g, m, k, n, dtype, sums, sums if sums != F32 else dtype, **transposed)


def multiply(of: Problem, block: Block | None, *arrays: Any, interpret: Any = True, **options: Any) -> jax.Array:
    a, b, *bias = map(jnp.asarray, arrays)
    settings = {"precision": None, "activation": None, **options}
    return pallas_tpu.multiply(a, b, *(bias or [None]), problem=of, block=block, interpret=interpret, **settings)


BLOCKS = [Block(8, 128, 128), Block(16, 256, 128), Block(24, 128, 256), Block(40, 300, 270), Block(8, 300, 128)]


@pytest.mark.parametrize(
    ("block", "dtype"),
    [(block, jnp.float32) for block in BLOCKS]
    + [(Block(32, 128, 128), dtype) for dtype in (jnp.bfloat16, jnp.int8, jnp.float8_e4m3fn)],
    ids=str,
)
def test_every_way_to_cut_gives_the_product(block: Block, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    a, b = numbers(rng, (2, 40, 300), dtype), numbers(rng, (2, 300, 270), dtype)
    of = problem(40, 300, 270, g=2, dtype=dtype)
    got = multiply(of, block, a, b)
    assert got.dtype == of.out_dtype
    assert close(got, a, b)


@pytest.mark.parametrize(("left", "right"), [(False, True), (True, False), (True, True)])
@pytest.mark.parametrize("block", [Block(128, 128, 128), Block(140, 300, 130)], ids=str)
def test_transposed_operands(left: bool, right: bool, block: Block) -> None:
    rng = np.random.default_rng(2)
    a, b = numbers(rng, (2, 140, 300), np.float32), numbers(rng, (2, 300, 130), np.float32)
    of = problem(140, 300, 130, g=2, a_transposed=left, b_transposed=right)
    stored = (x.swapaxes(1, 2) if turned else x for x, turned in ((a, left), (b, right)))
    assert close(multiply(of, block, *stored), a, b)


def watched(transfers: Any) -> pltpu.InterpretParams:
    """The interpreter that keeps a clock for each core and buffer, with two cores that share a grid, as on a v5p."""
    names = inspect.signature(pltpu.InterpretParams).parameters
    cores = "num_cores_or_threads" if "num_cores_or_threads" in names else "num_cores_per_device"  # jax 0.8
    return pltpu.InterpretParams(detect_races=True, dma_execution_mode=transfers, **{cores: 2})


def races_found() -> bool:
    from jax._src.pallas.mosaic.interpret import interpret_pallas_call

    return bool(interpret_pallas_call.races.races_found)


@pytest.mark.parametrize("activation", [None, "gelu"])
@pytest.mark.parametrize("transfers", ["eager", "on_wait"])
def test_no_races(activation: str | None, transfers: Any) -> None:
    rng = np.random.default_rng(3)
    a, b, bias = (numbers(rng, shape, np.float32) for shape in ((1, 24, 300), (1, 300, 200), (200,)))
    of, block = problem(24, 300, 200), Block(8, 128, 128)
    got = multiply(of, block, a, b, bias, interpret=watched(transfers), activation=activation)
    assert close(got, a, b, bias, activation)
    assert not races_found()


def test_the_watch_sees_a_race() -> None:
    """Two cores that write one block, as they would if the steps along ``k`` were shared out between them."""

    def kernel(x: Any, out: Any) -> None:
        out[...] = x[...]

    pl.pallas_call(
        kernel,
        jax.ShapeDtypeStruct((8, 128), F32),
        grid=(2,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
        interpret=watched("eager"),
    )(jnp.ones((16, 128)))
    assert races_found()


def test_the_interpreter_copies_every_block_of_the_last_axis() -> None:
    """A guard against releases of jax in which the blocks between the first and the last came out as NaN."""

    def copy(x: Any, out: Any) -> None:
        out[...] = x[...]

    for blocks in (2, 3, 4, 5):
        x = np.random.default_rng(blocks).standard_normal((8, 128 * blocks)).astype(np.float32)
        spec = pl.BlockSpec((8, 128), lambda i: (0, i))
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        out = pl.pallas_call(copy, shape, grid=(blocks,), in_specs=[spec], out_specs=spec, interpret=True)(x)
        np.testing.assert_array_equal(out, x)


def test_what_lies_beyond_the_arrays_never_counts() -> None:
    """The interpreter fills it with NaN; a last block of ``k`` that is one column wide would show any of it."""
    for k in (129, 255, 257, 383):
        a, b = np.ones((1, 9, k), np.float32), np.ones((1, k, 131), np.float32)
        np.testing.assert_array_equal(multiply(problem(9, k, 131), Block(8, 128, 128), a, b), np.full((1, 9, 131), k))


def test_numbers_that_count_keep_their_infinities_in_the_last_block() -> None:
    a, b = np.ones((1, 8, 130), np.float32), np.ones((1, 130, 8), np.float32)
    a[0, 3, 129] = np.inf
    got = np.asarray(multiply(problem(8, 130, 8), Block(8, 128, 8), a, b))
    assert np.isinf(got[0, 3]).all()
    assert np.isfinite(np.delete(got, 3, axis=1)).all()


def test_the_blocks_are_those_that_were_asked_for() -> None:
    jaxpr = str(
        jax.make_jaxpr(lambda a, b: matmul(a, b, block=(16, 128, 256), backend="pallas_tpu", interpret=True))(
            jnp.zeros((64, 512)), jnp.zeros((512, 512))
        )
    )
    assert "grid=(1,4,2,4)" in jaxpr.replace(" ", "")


def test_running_sums_are_kept_only_where_k_is_cut() -> None:
    def scratch(block: Block) -> int:
        of = problem(16, 256, 128)
        a, b = jnp.zeros((1, 16, 256)), jnp.zeros((1, 256, 128))
        jaxpr = jax.make_jaxpr(lambda a, b: multiply(of, block, a, b))(a, b)
        (call,) = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "pallas_call"]
        return int(call.params["grid_mapping"].num_scratch_operands)

    assert scratch(Block(16, 128, 128)) == 1
    assert scratch(Block(16, 256, 128)) == 0


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.float64, jnp.uint8, jnp.int16, jnp.int32])
def test_what_the_matrix_unit_does_not_multiply_is_refused_by_name(dtype: Any) -> None:
    with jax.enable_x64(dtype == jnp.float64):
        a = jnp.ones((8, 8), dtype)
        with pytest.raises(TypeError, match=rf"no multiplica {jnp.dtype(dtype).name}; multiplica bfloat16, float32"):
            matmul(a, a, backend="pallas_tpu", interpret=True)


def test_high_precision_is_never_less_than_asked_for() -> None:
    of = problem(8, 8, 8)
    assert mosaic_precision(of, jax.lax.Precision.HIGH) == jax.lax.Precision.HIGHEST
    assert mosaic_precision(of, jax.lax.Precision.DEFAULT) is None
    assert mosaic_precision(problem(8, 8, 8, dtype=jnp.bfloat16), jax.lax.Precision.HIGHEST) is None
