"""Kernels carried out from the code in an exported program, beside Pallas's own interpreter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from graders.inspection.answers import call, inspect
from tests.tpu_kernels.xray import kernels as samples
from tpu_kernels.kernels import matmul
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.schedule import Schedule
from tpu_kernels.xray.program import lower
from tpu_kernels.xray.targets import target

Spec = jax.ShapeDtypeStruct
ROWS = Spec((16, 128), jnp.float32)


def exported(function, specs):
    return np.frombuffer(lower(function, specs, target("v5e")).code, np.uint8)


def operands(specs):
    rng = np.random.default_rng(0)
    return [
        (
            rng.normal(size=spec.shape) if jnp.issubdtype(spec.dtype, jnp.floating) else rng.integers(0, 32, spec.shape)
        ).astype(spec.dtype)
        for spec in specs
    ]


def by_rows(body, *more, result=ROWS, grid=(2,), **options):
    """A kernel that sees eight rows at a step."""

    def function(*arrays):
        return pl.pallas_call(
            body,
            grid=grid,
            in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0)) for _ in arrays],
            out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
            out_shape=result,
            **options,
        )(*arrays)

    return function, (ROWS, *more)


def softmax(x, out):
    shifted = jnp.exp(x[...] - jnp.max(x[...], axis=-1, keepdims=True))
    out[...] = shifted / jnp.sum(shifted, axis=-1, keepdims=True)


def masked(x, out):
    row = lax.broadcasted_iota(jnp.int32, (8, 128), 0) + 8 * pl.program_id(0)
    out[...] = jnp.where((row < 11) & (x[...] > 0), jnp.sqrt(jnp.abs(x[...])), -1.0)


def looped(x, out):
    out[...] = lax.fori_loop(0, 5, lambda i, held: held * 0.5 + i.astype(jnp.float32) * x[...], x[...])


def counted(x, out):
    """A loop whose end depends on the step."""
    out[...] = lax.fori_loop(0, pl.program_id(0) + 2, lambda i, held: held + x[...], jnp.zeros_like(x))


def doubled(x, out):
    """A loop that goes on while something holds."""

    def grow(state):
        return state[0] + 1, state[1] * 2

    out[...] = x[...] * lax.while_loop(lambda state: state[1] < 100.0, grow, (0, 1.0))[1]


def parts(x, out):
    """Reads and writes parts of its block."""
    out[0:4, :] = x[4:8, :]
    out[4:8, :] = jnp.transpose(jnp.transpose(x[0:4, :]))


def whole_copy(x, out):
    def inside(arrived):
        copy = pltpu.make_async_copy(x, out, arrived)
        copy.start()
        copy.wait()

    pl.run_scoped(inside, pltpu.SemaphoreType.DMA(()))


def copied():
    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return lambda x: pl.pallas_call(whole_copy, in_specs=[anywhere], out_specs=anywhere, out_shape=ROWS)(x), (ROWS,)


def called_twice():
    """Through functions of its own, with XLA's operations around."""
    kernel, specs = by_rows(softmax)
    inner = jax.jit(lambda x: kernel(x * 2) + 1)
    return lambda x: inner(inner(x) - x), specs


CASES = {
    "accumulates": samples.matmul(128, 256, 128, (128, 128, 128)),
    "ragged": samples.matmul(136, 128, 72, (128, 128, 128), jnp.float32),
    "integers": samples.matmul(128, 128, 128, (128, 128, 128), jnp.int8),
    "prefetched": samples.chosen_rows(),
    "softmax": by_rows(softmax),
    "masked": by_rows(masked),
    "looped": by_rows(looped),
    "counted": by_rows(counted),
    "doubled": by_rows(doubled),
    "parts": by_rows(parts),
    "copied": copied(),
    "called twice": called_twice(),
}


@pytest.mark.parametrize("name", CASES)
def test_the_results_are_those_of_the_interpreter(name):
    function, specs = CASES[name]
    given = operands(specs)
    got = call(exported(function, specs), given, {})["values"]
    with pltpu.force_tpu_interpret_mode():
        want = jax.tree.leaves(jax.jit(function)(*given))
    for mine, theirs in zip(got, want, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(
            mine.astype(np.float64),
            np.asarray(theirs, np.float64),
            rtol=1e-2 if mine.dtype.itemsize == 2 else 1e-5,
            atol=1e-5,
        )


@pytest.mark.parametrize(
    ("shape", "block"),
    [
        ((300, 130, 150), Block(128, 128, 128)),
        ((256, 256, 512), Block(128, 256, 256, Schedule.PANELS)),
        ((256, 384, 256), Block(256, 384, 256, Schedule.RESIDENT)),
    ],
    ids=lambda given: str(given),
)
def test_every_schedule_of_the_librarys_product_gives_the_product(shape, block):
    m, k, n = shape
    specs = (Spec((m, k), jnp.bfloat16), Spec((k, n), jnp.bfloat16))
    a, b = operands(specs)

    def product(a, b):
        return matmul(a, b, block=block, out_dtype=jnp.float32, backend="pallas_tpu", interpret=False)

    got = call(exported(product, specs), [a, b], {})["values"][0]
    np.testing.assert_allclose(got, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-4)


def test_what_a_kernel_never_wrote_is_no_number():
    function, specs = by_rows(lambda x, out: None)
    assert np.isnan(call(exported(function, specs), operands(specs), {})["values"][0]).all()


def test_a_kernel_that_leaves_its_memory_has_no_result():
    def body(x, out):
        out[...] = x[pl.ds(pl.program_id(0) * 4 + 1, 8), :]

    function, specs = by_rows(body)
    with pytest.raises(ValueError, match="outside memory"):
        call(exported(function, specs), operands(specs), {})


def test_an_operation_that_is_not_known_here_is_named():
    def body(x, out):
        pltpu.prng_seed(0)
        out[...] = x[...]

    function, specs = by_rows(body)
    assert call(exported(function, specs), operands(specs), {}) == {"unknown": "tpu.prng_set_seed_32"}


def test_a_kernel_inside_a_loop_of_xlas_is_counted_for_each_time_and_not_carried_out():
    function, specs = samples.repeated()
    code = exported(function, specs)
    assert inspect(code)["flops"] == 5 * 2 * 256**3
    assert call(code, operands(specs), {}) == {"unknown": "a kernel inside stablehlo.while"}
