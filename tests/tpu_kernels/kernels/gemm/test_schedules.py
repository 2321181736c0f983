"""Each schedule for the TPU, interpreted: the product of any shape that it takes, no races, a word where it cannot."""

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.pallas import tpu as pltpu

from tests.tpu_kernels.kernels.gemm.oracle import close, numbers
from tpu_kernels.kernels import matmul
from tpu_kernels.kernels.gemm import tpu_panels
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.blocking import checked_block
from tpu_kernels.kernels.gemm.laid_out import by_columns, laid_out
from tpu_kernels.kernels.gemm.panel_cut import PanelCut
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.schedule import Schedule

F32, BF16 = jnp.dtype(jnp.float32), jnp.dtype(jnp.bfloat16)


def problem(m: int, k: int, n: int, dtype: Any = F32, **transposed: bool) -> Problem:
    dtype = jnp.dtype(dtype)
    return Problem(1, m, k, n, dtype, F32, dtype, **transposed)


def run(a: Any, b: Any, block: Block, interpret: Any = True, **options: Any) -> jax.Array:
    return matmul(a, b, backend="pallas_tpu", interpret=interpret, block=block, **options)


# m, k, n; rows and columns of a block; which of a, b and the result lie by columns.
SHAPES = [
    ((256, 256, 512), (64, 128), ""),
    ((248, 256, 500), (64, 128), "b"),
    ((72, 128, 256), (72, 128), ""),
    ((384, 300, 384), (128, 128), "a"),
    ((376, 260, 384), (256, 128), "a"),
    ((256, 384, 304), (128, 152), "b result"),
    ((384, 300, 264), (128, 136), "a b result"),
]


@pytest.mark.parametrize(("sizes", "sides", "lying"), SHAPES)
def test_the_shapes_lie_as_they_say(sizes: tuple[int, int, int], sides: tuple[int, int], lying: str) -> None:
    m, k, n = sizes
    shapes = {"a": (m, k), "b": (k, n), "result": (m, n)}
    assert [name for name, shape in shapes.items() if by_columns(*shape)] == lying.split()
    assert laid_out(problem(m, k, n), Block(sides[0], k, sides[1])).swapped == ("result" in lying)


@pytest.mark.parametrize("schedule", Schedule)
@pytest.mark.parametrize(("sizes", "sides", "lying"), SHAPES)
def test_every_schedule_gives_the_product_with_its_epilogue(
    sizes: tuple[int, int, int], sides: tuple[int, int], lying: str, schedule: Schedule
) -> None:
    m, k, n = sizes
    block = Block(m, k, 128, schedule) if schedule == Schedule.RESIDENT else Block(sides[0], k, sides[1], schedule)
    rng = np.random.default_rng(7)
    a, b, bias = (numbers(rng, shape, np.float32) for shape in ((m, k), (k, n), (n,)))
    assert close(run(a, b, block, bias=bias, activation="silu"), a, b, bias, "silu")


@pytest.mark.parametrize("schedule", [Schedule.PANELS, Schedule.RESIDENT])
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.int8, jnp.float8_e4m3fn, jnp.float8_e5m2])
@pytest.mark.parametrize("sizes", [(256, 300, 256), (256, 256, 256)], ids=str)
def test_every_schedule_takes_every_type(schedule: Schedule, dtype: Any, sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    rng = np.random.default_rng(8)
    a, b = numbers(rng, (m, k), dtype), numbers(rng, (k, n), dtype)
    assert close(run(a, b, Block(128, k, 128, schedule)), a, b)


@pytest.mark.parametrize("schedule", Schedule)
def test_nan_and_infinity_stay_in_their_rows_and_columns(schedule: Schedule) -> None:
    a, b = np.ones((256, 300), np.float32), np.ones((300, 200), np.float32)
    a[3, 299], b[0, 199] = np.nan, np.inf
    got = np.asarray(run(a, b, Block(256 if schedule == Schedule.RESIDENT else 128, 300, 128, schedule)))
    np.testing.assert_array_equal(got, a @ b)


@pytest.mark.parametrize("schedule", Schedule)
@pytest.mark.parametrize("wanted", [0, 1])
def test_gradients_are_those_of_the_textbook(schedule: Schedule, wanted: int) -> None:
    a, b = (numbers(np.random.default_rng(9), shape, np.float32) for shape in ((256, 128), (128, 256)))
    block = Block(128, 128, 128, schedule)

    def loss(backend: str, **options: Any) -> Any:
        return jax.grad(lambda *xs: jnp.sum(matmul(*xs, backend=backend, **options) ** 2), argnums=wanted)(a, b)

    np.testing.assert_allclose(loss("pallas_tpu", block=block, interpret=True), loss("reference"), rtol=1e-4, atol=1e-3)


def watched(transfers: Any, cores: int) -> pltpu.InterpretParams:
    """The interpreter that keeps a clock for each core and buffer."""
    names = inspect.signature(pltpu.InterpretParams).parameters
    sharing = "num_cores_or_threads" if "num_cores_or_threads" in names else "num_cores_per_device"  # jax 0.8
    return pltpu.InterpretParams(detect_races=True, dma_execution_mode=transfers, **{sharing: cores})


def races_found() -> bool:
    from jax._src.pallas.mosaic.interpret import interpret_pallas_call

    return bool(interpret_pallas_call.races.races_found)


def panels(a: Any, b: Any, block: Block, interpret: Any) -> jax.Array:
    """Through the kernel itself: ``matmul`` takes only the interpreter without a watch."""
    from tpu_kernels.kernels.gemm import pallas_tpu

    of = problem(a.shape[0], a.shape[1], b.shape[1], a.dtype)
    options = {"precision": None, "activation": None}
    return pallas_tpu.multiply(jnp.asarray(a)[None], jnp.asarray(b)[None], None, problem=of, block=block,
                               interpret=interpret, **options)[0]  # fmt: skip


@pytest.mark.parametrize("transfers", ["eager", "on_wait"])
@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize(
    ("sizes", "rows"),
    [((248, 128, 256), 64), ((248, 128, 256), 128), ((400, 128, 256), 200), ((504, 300, 256), 128)],
    ids=["four", "two, the last ragged", "two, ragged parts", "four turned"],
)
def test_panels_have_no_races(transfers: Any, cores: int, sizes: tuple[int, int, int], rows: int) -> None:
    m, k, n = sizes
    rng = np.random.default_rng(10)
    a, b = numbers(rng, (m, k), np.float32), numbers(rng, (k, n), np.float32)
    block = Block(rows, k, 128, Schedule.PANELS, cores)
    done, cut, _ = laid_out(problem(m, k, n), block)
    assert done.a_transposed == (k == 300)
    assert PanelCut.of(done, cut).panels == -(-m // rows) // cores
    assert close(panels(a, b, block, watched(transfers, cores)), a, b)
    assert not races_found()


class _NeverWaits:
    """A copy for which nobody waits."""

    def __init__(self, copy: Any) -> None:
        self.start = copy.start

    def wait(self) -> None:
        pass


def test_the_watch_sees_a_panel_that_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    copy = pltpu.make_async_copy
    monkeypatch.setattr(tpu_panels.pltpu, "make_async_copy", lambda *of: _NeverWaits(copy(*of)))
    a, b = np.ones((256, 128), np.float32), np.ones((128, 256), np.float32)
    panels(a, b, Block(64, 128, 128, Schedule.PANELS), watched("eager", 1))
    assert races_found()


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (Block(128, 128, 128, Schedule.PANELS), "k is cut"),
        (Block(256, 256, 128, Schedule.PANELS, 2), "one panel for two cores"),
        (Block(248, 256, 128, Schedule.PANELS), "a last panel shorter than a slice"),
        (Block(96, 256, 128, Schedule.RESIDENT), "96 does not divide 256"),
    ],
)
def test_what_a_schedule_cannot_divide_is_refused(block: Block, why: str) -> None:
    with pytest.raises(ValueError, match=rf"{block.schedule} no sirve para el producto de 256x256 por 256x512"):
        checked_block(problem(256, 256, 512), block, "v5e")


def test_several_products_are_streamed_only() -> None:
    of = Problem(2, 256, 256, 256, BF16, F32, BF16)
    for schedule in (Schedule.PANELS, Schedule.RESIDENT):
        with pytest.raises(ValueError, match="un solo producto"):
            checked_block(of, Block(256, 256, 128, schedule), "v5e")
