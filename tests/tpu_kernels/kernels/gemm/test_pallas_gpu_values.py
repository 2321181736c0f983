"""What the kernel for Hopper computes: on a Hopper GPU where there is one, elsewhere in jax's interpreter.

Operands are small whole numbers, whose products and sums are exact in every format here, so results must be equal bit
for bit. The interpreter also looks for races between warpgroups: all it knows of in the jax at hand.
"""

import faulthandler
import os
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tpu_kernels.kernels.gemm import gpu_hopper, gpu_interpreter, pallas_gpu
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.gpu_tile import of_block
from tpu_kernels.kernels.gemm.problem import Problem

device = jax.devices()[0]
ON_HOPPER = device.platform == "gpu" and device.compute_capability == pallas_gpu.CAPABILITY
HIGHEST = jax.lax.Precision.HIGHEST

pytestmark = pytest.mark.skipif(
    not ON_HOPPER and not pallas_gpu.can_interpret(),
    reason=f"jax {jax.__version__} has no interpreter for wgmma, and there is no Hopper GPU",
)


@pytest.fixture(autouse=True)
def no_endless_wait(capfd):
    """Warpgroups wait for each other: where one of them fails in the interpreter, the others would wait forever."""
    with capfd.disabled():
        terminal = os.dup(2)
    faulthandler.dump_traceback_later(300, exit=True, file=terminal)
    yield
    faulthandler.cancel_dump_traceback_later()
    os.close(terminal)


@pytest.fixture(autouse=True)
def quick_compilation():
    """The interpreter compiles each kernel once for every warpgroup, to run it once."""
    jax.config.update("jax_disable_most_optimizations", not ON_HOPPER)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def interpreted(**changes):
    """What to pass as ``interpret`` on this machine."""
    return False if ON_HOPPER else gpu_interpreter.parameters(detect_races=True, **changes)


def check_races():
    if not ON_HOPPER:
        from jax._src.pallas.mosaic_gpu.interpret.interpret_pallas_call import get_races

        assert not get_races().races_found


def problem(dtype, out_dtype, *, g=1, m, k, n):
    sums = "int32" if dtype == "int8" else "float32"
    return Problem(g, m, k, n, *(jnp.dtype(name) for name in (dtype, sums, out_dtype)))


def whole_numbers(shape, dtype, seed):
    return jnp.asarray(np.random.default_rng(seed).integers(-4, 5, shape), dtype)


def as_float64(array):
    return np.asarray(array.astype(jnp.int32 if jnp.issubdtype(array.dtype, jnp.integer) else jnp.float32), np.float64)


def compute(of, a, b, bias=None, *, block=None, precision=None, activation=None, interpret=None):
    interpret = interpreted() if interpret is None else interpret

    @jax.jit
    def multiply(a, b, bias):
        a, b = (a.mT if of.a_transposed else a), (b.mT if of.b_transposed else b)
        return pallas_gpu.multiply(
            a, b, bias, problem=of, block=block, precision=precision, activation=activation, interpret=interpret
        )

    return multiply(a, b, bias)


CASES = [
    # two consumers, several tiles and more slices than stages, all edges ragged
    (problem("bfloat16", "float32", g=2, m=130, k=600, n=70), Block(128, 64, 64), "float32", "relu", None),
    # an odd number of pieces, so that the last of a tile and the first of the next leave through the same buffer
    (problem("float16", "float16", m=200, k=64, n=192), Block(64, 64, 192), "float16", None, None),
    # two rows of instructions for each consumer, slices twice as deep as a swizzled row
    (problem("bfloat16", "bfloat16", m=256, k=130, n=64), Block(256, 128, 64), None, None, None),
    (problem("int8", "int32", m=65, k=300, n=130), None, "int32", "relu", None),
    (problem("float8_e4m3fn", "bfloat16", m=3, k=300, n=129), None, "bfloat16", None, None),
    (problem("float8_e5m2", "float8_e4m3fn", m=3, k=30, n=5), None, None, "relu", HIGHEST),
    (replace(problem("bfloat16", "float32", g=2, m=70, k=100, n=90), a_transposed=True), None, None, None, None),
    (replace(problem("float16", "float32", m=70, k=100, n=90), b_transposed=True), None, None, None, None),
    (problem("bfloat16", "float32", m=1, k=1, n=1), None, "float32", None, None),
    # one tile for each of the batch, where a strip of tiles is no higher than one
    (problem("bfloat16", "bfloat16", g=3, m=33, k=64, n=64), None, None, None, None),
]
if ON_HOPPER:
    CASES += [
        (problem("bfloat16", "bfloat16", m=4096, k=4096, n=4096), None, "float32", None, None),
        (problem("float16", "float32", g=3, m=1000, k=2000, n=3000), None, "float32", "relu", None),
        (problem("int8", "int32", m=4096, k=4096, n=4096), None, None, None, None),
        (problem("float8_e4m3fn", "bfloat16", m=4096, k=4096, n=4096), None, None, None, HIGHEST),
        (problem("bfloat16", "bfloat16", m=2048, k=2048, n=2048), Block(256, 64, 192), None, None, None),
    ]


@pytest.mark.parametrize(("of", "block", "bias", "activation", "precision"), CASES, ids=range(len(CASES)))
def test_equals_the_exact_product(of, block, bias, activation, precision):
    a, b = whole_numbers((of.g, of.m, of.k), of.dtype, 1), whole_numbers((of.g, of.k, of.n), of.dtype, 2)
    row = None if bias is None else whole_numbers((of.n,), jnp.dtype(bias), 3)
    exact = as_float64(a) @ as_float64(b)
    if row is not None:
        exact += as_float64(row)
    if activation == "relu":
        exact = np.maximum(exact, 0)
    result = compute(of, a, b, row, block=block, precision=precision, activation=activation)
    assert (result.shape, result.dtype) == (exact.shape, of.out_dtype)
    rounded = jnp.asarray(exact, of.accumulator).astype(of.out_dtype)
    np.testing.assert_array_equal(as_float64(result), as_float64(rounded))
    check_races()


def test_blocks_share_the_tiles():
    """Three tiles on two blocks, in memory that holds NaN until something is written to it."""
    of = problem("bfloat16", "float32", m=64, k=192, n=192)
    a, b = whole_numbers((1, 64, 192), of.dtype, 1), whole_numbers((1, 192, 192), of.dtype, 2)
    tile = replace(of_block(Block(64, 64, 64), of.dtype, of.out_dtype), stages=2)
    work = gpu_hopper.Work(of, tile, None, blocks=2, a_is_transposed=False, b_is_transposed=False)
    interpret = interpreted(uninitialized_memory="nan", out_of_bounds_reads="raise") or None
    result = gpu_hopper.product(a, b, None, work=work, out_shape=(1, 64, 192), interpret=interpret)
    np.testing.assert_array_equal(as_float64(result), as_float64(a) @ as_float64(b))
    check_races()


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # as an error it would end one warpgroup of two
def test_what_is_not_finite_stays_in_its_row_or_column():
    of = problem("bfloat16", "float32", m=70, k=70, n=70)
    a = whole_numbers((1, 70, 70), of.dtype, 1).at[0, 69, 69].set(jnp.nan)
    b = whole_numbers((1, 70, 70), of.dtype, 2).at[0, 69, 0].set(jnp.inf)
    result = np.array(compute(of, a, b))
    exact = as_float64(a) @ as_float64(b)
    np.testing.assert_array_equal(result, exact)
    assert np.isfinite(result[0, :69, 1:]).all()


def test_the_interpreter_fills_as_tma_does():
    params = gpu_interpreter.parameters(detect_races=True)
    assert params.detect_races
    assert (params.out_of_bounds_reads, params.uninitialized_memory) == ("uninitialized", "zero")
