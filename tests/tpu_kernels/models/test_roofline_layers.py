"""FLOP and bytes of layers, against programs that do the arithmetic one operation at a time and count."""

import itertools
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.models import roofline
from tpu_kernels.models.roofline.amounts import BITS, itemsize
from tpu_kernels.models.roofline.training_states import OPTIMISERS, States
from tpu_kernels.models.roofline.workload import VECTOR

SMALL = st.integers(min_value=1, max_value=7)


class Counted:
    """A number that counts the operations done on it and on all others of its kind."""

    operations = 0

    def __init__(self, value: float) -> None:
        self.value = value

    def _done(self, value: float) -> "Counted":
        Counted.operations += 1
        return Counted(value)

    def __add__(self, other: Any) -> "Counted":
        return self._done(self.value + getattr(other, "value", other))

    def __sub__(self, other: Any) -> "Counted":
        return self._done(self.value - getattr(other, "value", other))

    def __mul__(self, other: Any) -> "Counted":
        return self._done(self.value * getattr(other, "value", other))

    def __truediv__(self, other: Any) -> "Counted":
        return self._done(self.value / getattr(other, "value", other))

    def sqrt(self) -> "Counted":
        return self._done(math.sqrt(self.value))


def total(values: list[Counted]) -> Counted:
    result = values[0]
    for value in values[1:]:
        result = result + value
    return result


def count(program: Any, *arguments: Any) -> int:
    Counted.operations = 0
    program(*arguments)
    return Counted.operations


# Matrix products


@settings(deadline=None)
@given(SMALL, SMALL, SMALL)
def test_a_product_does_two_operations_for_every_triple(m: int, k: int, n: int) -> None:
    def program() -> None:
        a, b = [[Counted(1.0)] * k for _ in range(m)], [[Counted(1.0)] * n for _ in range(k)]
        for i, j in itertools.product(range(m), range(n)):
            accumulator = Counted(0.0)
            for inner in range(k):
                accumulator = accumulator + a[i][inner] * b[inner][j]

    workload = roofline.matmul(m, k, n)
    assert workload.flops == count(program)
    assert workload.bytes() == 2 * (m * k + k * n + m * n)


@settings(deadline=None)
@given(SMALL, SMALL, SMALL, SMALL, SMALL)
def test_a_tiled_product_fetches_its_operands_as_often_as_a_blocked_loop(
    m: int, k: int, n: int, block_m: int, block_n: int
) -> None:
    fetched = 0
    for row in range(0, m, block_m):
        for column in range(0, n, block_n):
            rows, columns = min(block_m, m - row), min(block_n, n - column)
            fetched += rows * k + k * columns + rows * columns  # the operands' strips read, the block written
    assert roofline.matmul(m, k, n, dtype="int8", tile=(block_m, block_n)).bytes() == fetched
    assert roofline.matmul(m, k, n, dtype="int8", tile=(m, n)) == roofline.matmul(m, k, n, dtype="int8")


def test_each_operand_has_its_format() -> None:
    workload = roofline.matmul(8, 16, 32, weights="int4", output="fp32")
    assert workload.bytes() == 8 * 16 * 2 + 16 * 32 / 2 + 8 * 32 * 4
    assert workload.work == {"bf16": 2 * 8 * 16 * 32}
    assert roofline.matmul(8, 16, 32, dtype="int8", compute="bf16").work == {"bf16": 2 * 8 * 16 * 32}
    assert roofline.matmul(8, 16, 32, level="vmem").traffic.keys() == {"vmem"}
    many = roofline.matmul(8, 16, 32, count=5)
    assert (many.flops, many.bytes()) == (5 * 2 * 8 * 16 * 32, 5 * 2 * (8 * 16 + 16 * 32 + 8 * 32))


# Convolutions


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 2), st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), st.integers(1, 3),
    st.integers(1, 3), st.integers(1, 3), st.sampled_from(["same", "valid"]), st.sampled_from([1, 2]),
)  # fmt: skip
def test_a_convolution_is_its_loops(
    batch: int, height: int, width: int, channels: int, filters: int, taps: int, stride: int, padding: str, groups: int
) -> None:
    channels, filters = channels * groups, filters * groups
    if padding == "valid" and taps > min(height, width):
        with pytest.raises(ValueError, match="no cabe"):
            roofline.convolution(batch, height, width, channels, filters, kernel=(taps, taps), padding=padding)
        return
    pad = taps - 1 if padding == "same" else 0
    rows, columns = (len(range(0, size + pad - taps + 1, stride)) for size in (height, width))
    multiplications = sum(
        1
        for _ in itertools.product(
            range(batch), range(rows), range(columns), range(filters), range(channels // groups), range(taps * taps)
        )
    )
    workload = roofline.convolution(
        batch, height, width, channels, filters, kernel=(taps, taps), stride=stride, padding=padding, groups=groups
    )
    assert workload.flops == 2 * multiplications
    held = (
        batch * height * width * channels
        + taps * taps * channels // groups * filters
        + batch * rows * columns * filters
    )
    assert workload.bytes() == 2 * held
    spread = roofline.convolution(
        batch, height, width, channels, filters, kernel=(taps, taps), stride=stride, padding=padding, groups=groups,
        im2col=True,
    )  # fmt: skip
    patches = batch * rows * columns * taps * taps * channels
    assert spread.bytes() == 2 * (held + 2 * patches)
    assert spread.flops == workload.flops


def test_a_1x1_convolution_is_a_matrix_product() -> None:
    convolution = roofline.convolution(2, 8, 8, 64, 128, kernel=(1, 1))
    product = roofline.matmul(2 * 8 * 8, 64, 128)
    assert (convolution.flops, convolution.bytes()) == (product.flops, product.bytes())


def test_the_first_convolution_of_resnet_50() -> None:
    # He et al., 2016, table 1: conv1 is 7x7, 64 filters, stride 2, from 224 to 112; 118 million multiply-adds.
    workload = roofline.convolution(1, 224, 224, 3, 64, kernel=(7, 7), stride=2)
    assert workload.flops == 2 * 112 * 112 * 64 * 7 * 7 * 3 == pytest.approx(2 * 118e6, rel=0.001)


# Tables, normalisations, optimisers


def test_an_embedding_lookup_moves_and_computes_nothing() -> None:
    workload = roofline.embedding_lookup(1000, 512)
    assert workload.flops == 0
    assert workload.bytes() == 1000 * 4 + 2 * 1000 * 512 * 2
    found = roofline.analyse(workload, "v5e")
    assert found.bound.resource == "hbm"
    assert found.peak_share() == 0


@settings(deadline=None)
@given(st.integers(min_value=1, max_value=20))
def test_normalisation_is_counted_as_a_program_does_it(width: int) -> None:
    def layer(x: list[Counted]) -> None:
        mean = total(x) / width
        centred = [value - mean for value in x]
        variance = total([value * value for value in centred]) / width
        scale = Counted(1.0) / (variance + 1e-6).sqrt()
        _ = [value * scale * 2.0 + 1.0 for value in centred]

    def rms(x: list[Counted]) -> None:
        square = total([value * value for value in x]) / width
        scale = Counted(1.0) / (square + 1e-6).sqrt()
        _ = [value * scale * 2.0 for value in x]

    row = [Counted(float(place)) for place in range(width)]
    # The program divides after the root, which hardware does in one operation (a reciprocal square root).
    assert roofline.layer_norm(1, width).flops == count(layer, row) - 1
    assert roofline.layer_norm(1, width, kind="rms").flops == count(rms, row) - 1


def test_normalisation_reads_its_rows_as_often_as_it_is_told() -> None:
    assert roofline.layer_norm(10, 64).bytes() == 2 * (10 * 64 + 10 * 64 + 2 * 64)
    assert roofline.layer_norm(10, 64, reads=3).bytes() == 2 * (3 * 10 * 64 + 10 * 64 + 2 * 64)
    assert roofline.layer_norm(10, 64, kind="rms", dtype="fp32").bytes() == 4 * (10 * 64 + 10 * 64 + 64)


def sgd(p: Counted, g: Counted, m: Counted, v: Counted) -> None:
    p - g * 0.1


def momentum(p: Counted, g: Counted, m: Counted, v: Counted) -> None:
    v = v * 0.9 + g
    p - v * 0.1


def adam(p: Counted, g: Counted, m: Counted, v: Counted) -> Counted:
    m = m * 0.9 + g * 0.1
    v = v * 0.99 + g * g * 0.01
    return p - m * 0.1 / (v.sqrt() + 1e-8)


def adamw(p: Counted, g: Counted, m: Counted, v: Counted) -> Counted:
    return adam(p, g, m, v) - p * 0.001


@pytest.mark.parametrize("program", [sgd, momentum, adam, adamw])
def test_an_update_is_counted_as_a_program_does_it(program: Any) -> None:
    arguments = [Counted(float(value)) for value in (1, 2, 3, 4)]
    workload = roofline.optimiser_step(1000, States(optimiser=program.__name__))
    assert workload.work == {VECTOR: 1000 * count(program, *arguments)}
    assert {one.__name__ for one in (sgd, momentum, adam, adamw)} == set(OPTIMISERS)


@pytest.mark.parametrize(
    ("states", "read", "written"),
    [
        (States(optimiser="sgd"), 2 + 2, 2),
        (States(optimiser="momentum"), 2 + 2 + 4, 4 + 2),
        (States(), 2 + 2 + 8, 8 + 2),
        (States(moments="bf16"), 2 + 2 + 4, 4 + 2),
        (States(master="fp32"), 2 + 4 + 8, 8 + 4 + 2),  # the bf16 parameters are only written, from the master copy
        (States(parameters="fp32", gradients="fp32"), 4 + 4 + 8, 8 + 4),
    ],
)
def test_an_update_moves_each_state_there_and_back(states: States, read: int, written: int) -> None:
    workload = roofline.optimiser_step(10, states)
    assert workload.bytes() == 10 * (read + written)
    assert roofline.analyse(workload, "v5p").bound.resource == "hbm"


# Feed-forward blocks


@settings(deadline=None)
@given(SMALL, SMALL, SMALL, st.booleans())
def test_a_block_is_its_matrix_products(tokens: int, width: int, hidden: int, gated: bool) -> None:
    ups = [roofline.matmul(tokens, width, hidden) for _ in range(2 if gated else 1)]
    down = roofline.matmul(tokens, hidden, width)
    block = roofline.mlp(tokens, width, hidden, gated=gated)
    assert block.flops == sum(one.flops for one in (*ups, down))
    # One product after the other, the input being read once for all, the hidden arrays written and read by each.
    weights = len((*ups, down)) * width * hidden
    assert block.bytes() == 2 * (weights + 2 * tokens * width + 2 * len(ups) * tokens * hidden)
    fused = roofline.mlp(tokens, width, hidden, gated=gated, fused=True)
    assert fused.bytes() == 2 * (weights + 2 * tokens * width)
    assert fused.work == block.work


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(1, 4), st.data())
def test_the_experts_expected_are_the_mean_over_every_choice(experts: int, tokens: int, data: st.DataObject) -> None:
    chosen = data.draw(st.integers(1, experts))
    if math.comb(experts, chosen) ** tokens > 5000:
        return
    choices = list(itertools.combinations(range(experts), chosen))
    used = [len(set().union(*picks)) for picks in itertools.product(choices, repeat=tokens)]
    mean = sum(used) / len(used)
    expected = roofline.moe(
        tokens, 3, 5, experts=experts, experts_per_token=chosen, loaded="expected", router=False, fused=True
    )
    activations = 2 * tokens * chosen * 3
    assert expected.bytes() == pytest.approx(2 * (mean * 3 * 3 * 5 + activations))
    every = roofline.moe(tokens, 3, 5, experts=experts, experts_per_token=chosen, router=False, fused=True)
    assert every.bytes() >= expected.bytes() * (1 - 1e-12)
    assert every.flops == expected.flops == 2 * tokens * chosen * 3 * 3 * 5


def test_one_expert_is_a_block_and_a_router_costs_a_product() -> None:
    block = roofline.mlp(64, 256, 512)
    mixture = roofline.moe(64, 256, 512, experts=1, experts_per_token=1, router=False)
    assert (mixture.work, mixture.traffic) == (block.work, block.traffic)
    routed = roofline.moe(64, 256, 512, experts=8, experts_per_token=2)
    bare = roofline.moe(64, 256, 512, experts=8, experts_per_token=2, router=False)
    router = roofline.matmul(64, 256, 8)
    assert routed.flops - bare.flops == router.flops
    assert routed.bytes() - bare.bytes() == router.bytes()


# Wrong inputs


@pytest.mark.parametrize("size", [0, -1, 1.5, True, math.nan, "8", None])
def test_sizes_that_are_not_sizes_are_refused(size: Any) -> None:
    calls = [
        lambda: roofline.matmul(size, 8, 8),
        lambda: roofline.matmul(8, 8, 8, count=size),
        lambda: roofline.matmul(8, 8, 8, tile=(8, size)),
        lambda: roofline.convolution(1, size, 8, 8, 8),
        lambda: roofline.convolution(1, 8, 8, 8, 8, stride=size),
        lambda: roofline.embedding_lookup(size, 8),
        lambda: roofline.layer_norm(8, size),
        lambda: roofline.optimiser_step(size),
        lambda: roofline.mlp(8, size, 8),
        lambda: roofline.moe(8, 8, 8, experts=size, experts_per_token=1),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="entero de 1 en adelante"):
            call()


def test_choices_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'full'.*same, valid"):
        roofline.convolution(1, 8, 8, 8, 8, padding="full")
    with pytest.raises(ValueError, match="múltiplo de groups"):
        roofline.convolution(1, 8, 8, 8, 9, groups=2)
    with pytest.raises(ValueError, match=r"'batch'.*layer, rms"):
        roofline.layer_norm(8, 8, kind="batch")
    with pytest.raises(ValueError, match=r"'lion'.*sgd, momentum, adam, adamw"):
        roofline.optimiser_step(8, States(optimiser="lion"))
    with pytest.raises(ValueError, match="solo hay 4 expertos"):
        roofline.moe(8, 8, 8, experts=4, experts_per_token=5)
    with pytest.raises(ValueError, match=r"'some'.*all, expected"):
        roofline.moe(8, 8, 8, experts=4, experts_per_token=2, loaded="some")
    for call in (lambda: roofline.matmul(8, 8, 8, weights="int3"), lambda: roofline.mlp(8, 8, 8, compute="float")):
        with pytest.raises(ValueError, match="Formato numérico desconocido"):
            call()


def test_every_format_has_its_bytes() -> None:
    assert {dtype: itemsize(dtype) for dtype in BITS} == {
        "fp64": 8, "fp32": 4, "tf32": 4, "int32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1, "fp4": 0.5, "int4": 0.5,
    }  # fmt: skip
