"""Worked numbers of the scaling book (How to Scale Your Model, github jax-ml/scaling-book), by chapter.

Read on 2026-11-30: roofline.md at 0296c23d (later) and 0819a7d8 (2025-02-18), tpus.md at 54e2c439, transformers.md at
2aa7c49e, inference.md and applied-inference.md at 0819a7d8. The machines are the book's own figures, which are round.
Where the book slips, the test states its figure and the right one.
"""

import math

import pytest

from tpu_kernels.models import hardware, roofline
from tpu_kernels.models.parallelism import transformer
from tpu_kernels.models.roofline.amounts import itemsize
from tpu_kernels.models.roofline.workload import Workload

BF16, INT8, HBM = 1.97e14, 3.94e14, 8.2e11
V5E = roofline.custom("v5e", rates={"bf16": BF16, "int8": INT8}, levels={"hbm": HBM, "ici": 4.5e10})
CH2 = roofline.custom(
    "v5e",
    rates={"bf16": BF16, "int8": INT8},
    levels={"hbm": 8.1e11, "vmem": 22 * 8.1e11, "pcie": 1.5e10, "ici": 2 * 4.5e10},
)


# Chapter 1, All about rooflines


def test_1_time_of_1e12_flop() -> None:
    work = Workload("w", {"bf16": 1e12}, {})
    h100 = roofline.custom("H100", rates={"bf16": 9.89e14}, levels={})
    v6e = roofline.custom("v6e", rates={"bf16": 9.1e14}, levels={})
    assert roofline.analyse(work, h100).lower == pytest.approx(1.01e-3, rel=0.005)
    assert roofline.analyse(work, v6e).lower == pytest.approx(1.1e-3, rel=0.005)


def test_1_intensity_of_v5e_is_240() -> None:
    assert roofline.ridge_point(V5E) == pytest.approx(240, abs=0.5)
    assert roofline.critical_batch(V5E) == pytest.approx(240, abs=0.5)


def test_1_intensity_of_a_dot_product_is_a_half() -> None:
    for n in (10, 1000, 10**7):
        dot = roofline.matmul(1, n, 1)
        # The book counts the n - 1 additions that are needed; a matrix unit does n.
        assert (dot.flops - 1) / dot.bytes() == pytest.approx((2 * n - 1) / (4 * n + 2))
    assert dot.intensity() == pytest.approx(0.5)


def test_1_intensity_of_a_matmul() -> None:
    b, d, f = 100, 8192, 16384
    product = roofline.matmul(b, d, f)
    assert product.bytes() == 2 * b * d + 2 * d * f + 2 * b * f
    assert product.flops == 2 * b * d * f
    assert product.intensity() == pytest.approx(b * d * f / (b * d + d * f + b * f))
    assert product.intensity() == pytest.approx(b, rel=0.02)


def test_1_a_matmul_split_over_two_chips_needs_d_above_8755() -> None:
    def split(d: int) -> roofline.Roofline:
        b, f = 1024, 8192
        half = roofline.matmul(b, d, f).times(1 / 2)  # each chip multiplies half of the contraction
        return roofline.analyse(half.moving("ici", 2 * b * f), V5E)

    assert pytest.approx(4377, abs=1) == BF16 / 4.5e10
    assert split(8755).time_of("ici") > split(8755).time_of("compute")
    assert split(8756).time_of("ici") < split(8756).time_of("compute")


def test_1_question_1_int8() -> None:
    product = roofline.matmul(64, 512, 1024, dtype="int8")
    assert product.bytes() == 64 * 512 + 512 * 1024 + 64 * 1024
    assert product.flops == 2 * 64 * 512 * 1024
    assert roofline.ridge_point(V5E, "int8") == pytest.approx(480, abs=1)
    assert roofline.critical_batch(V5E, dtype="int8") == pytest.approx(240, abs=0.5)
    first_edition = V5E.with_level("hbm", 8.1e11)
    assert roofline.ridge_point(first_edition, "int8") == pytest.approx(486, abs=1)
    assert roofline.critical_batch(first_edition, dtype="int8") == pytest.approx(243, abs=1)
    found = roofline.analyse(product, V5E)
    times = (product.flops / INT8, product.bytes() / HBM)
    assert (found.lower, found.upper) == (pytest.approx(max(times)), pytest.approx(sum(times)))


def test_1_question_2_int8_weights() -> None:
    assert roofline.critical_batch(V5E, weights="int8") == pytest.approx(120, abs=0.5)


@pytest.mark.parametrize(("width", "critical"), [(4096, 136.1), (1024, 226.4)])
def test_1_question_3_narrow_layers_need_more(width: int, critical: float) -> None:
    # The book's code: total_flops / max(2BDF / 1.97e14, (2BD + DF + 2BF) / 8.2e11). "D=F=1024 almost doubles the
    # critical batch size": of the wide limit, 120.
    for batch in range(1, 512):
        flops = 2 * batch * width * width
        book = flops / max(flops / 1.97e14, (2 * batch * width + width * width + 2 * batch * width) / 8.2e11)
        layer = roofline.matmul(batch, width, width, weights="int8")
        assert roofline.analyse(layer, V5E).achieved() == pytest.approx(book)
    assert roofline.critical_batch(V5E, width, width, weights="int8") == pytest.approx(critical, abs=0.1)


def test_1_question_4_a_matrix_for_each_row_has_intensity_2() -> None:
    for batch in (1, 100, 10_000):
        rows = roofline.matmul(1, 4096, 8192, dtype="int8", count=batch)
        assert rows.bytes() == batch * (4096 + 4096 * 8192 + 8192)
        assert rows.intensity() == pytest.approx(2, rel=0.001)


def test_1_question_5_h100() -> None:
    spec_sheet = 1.979e15  # with structured sparsity, which is twice what dense matrices reach
    h100 = roofline.custom("H100", rates={"bf16": spec_sheet / 2}, levels={"hbm": 3.35e12})
    assert roofline.critical_batch(h100) == pytest.approx(295, abs=0.5)  # 298 in the first edition, from 1e15
    assert roofline.critical_batch("H100") == pytest.approx(295, abs=0.5)


def test_1_note_on_tiles() -> None:
    m, k, n, bm, bn = 4096, 2048, 8192, 512, 256
    tiled = roofline.matmul(m, k, n, tile=(bm, bn))
    tm, tn = m / bm, n / bn
    assert tiled.bytes() == 2 * tm * tn * (bm * k + k * bn + bm * bn)
    without_output = tiled.flops / (tiled.bytes() - 2 * m * n)
    assert without_output == pytest.approx(bm * bn / (bm + bn))


# Chapter 2, How to think about TPUs


def test_2_question_1_loading_200b_parameters() -> None:
    v4 = roofline.custom("v4", rates={}, levels={"hbm": 1.23e12})
    load = Workload("load", {}, {"hbm": 2 * 200e9}).times(1 / 32)
    assert load.bytes() == 12.5e9
    assert roofline.analyse(load, v4).lower == pytest.approx(10e-3, rel=0.02)


def test_2_question_2_pods() -> None:
    for name, chips, book_flops in (("v5e", 16 * 16, 5.1e16), ("v5p", 16 * 20 * 28, 4e18)):
        pod = chips * roofline.machine(name).rate("bf16")
        assert pod == pytest.approx(book_flops, rel=0.03)


def test_2_question_3_weights_in_host_memory() -> None:
    host = roofline.custom("v6e", rates={"bf16": 9.2e14}, levels={"pcie": 1.5e10})
    assert roofline.critical_batch(host, level="pcie") == pytest.approx(61_000, rel=0.01)
    wide = 2**24  # the book takes the batch as small against D, and F as 4 D
    assert roofline.critical_batch(host, wide, 4 * wide, level="pcie") == pytest.approx(61_000, rel=0.02)


def test_2_question_4_int8_16384_by_4096() -> None:
    d, f = 4096, 16384
    layer = roofline.matmul(100, d, f, dtype="int8")
    assert layer.flops == pytest.approx(1.3e8 * 100, rel=0.04)  # 1.34e8 per row
    # The book says 271, having rounded 1.34e8 to 1.3e8 and 20480 to 2e4 on the way; its own formula gives 263.
    rounded = 6.7e7 / 8.1e11 / (1.3e8 / 3.94e14 - 2e4 / 8.1e11)
    assert rounded == pytest.approx(271, abs=0.5)
    right = roofline.critical_batch(CH2, d, f, dtype="int8")
    assert right == pytest.approx(262.7, abs=0.1)
    assert roofline.smallest_batch(lambda batch: roofline.matmul(batch, d, f, dtype="int8"), CH2) == 263


def test_2_question_4_out_of_vmem() -> None:
    assert roofline.critical_batch(CH2, 4096, 16384, dtype="int8", level="vmem") == pytest.approx(11, abs=0.2)
    found = roofline.smallest_batch(lambda batch: roofline.matmul(batch, 4096, 16384, dtype="int8", level="vmem"), CH2)
    assert found == 12
    assert 10 <= roofline.ridge_point(CH2, level="vmem") <= 20  # "an arithmetic intensity of only 10-20"


def test_2_question_6_pcie_ici_hbm_and_compute() -> None:
    side = 128 * 1024
    whole = side * side  # bytes of an int8 matrix, over 16 chips
    product = roofline.matmul(8, side, side, weights="int8")
    work = product.moving("pcie", whole / 16).moving("ici", whole * 15 / 16).moving("hbm", whole)
    found = roofline.analyse(work, CH2)
    book = {"pcie": 66e-3, "ici": 167e-3, "hbm": 19e-3, "compute": 1.3e-3}  # from 16e9 bytes, which are 17.2e9
    for resource, seconds in book.items():
        assert found.time_of(resource) == pytest.approx(seconds * whole / 16e9, rel=0.12)
    assert found.bound.resource == "ici"
    assert 0.15 <= found.lower <= 0.2
    assert found.upper == pytest.approx(sum(found.time_of(resource) for resource in book))


def test_2_slip_the_matrix_units_of_v5e() -> None:
    # An earlier text: "each v5e MXU can do 4e14 int8". That is the chip; it has 4 MXUs of 1e14.
    v5e = hardware.chip("v5e")
    units = v5e.tensorcores * v5e.mxus_per_tensorcore
    assert roofline.machine("v5e").rate("int8") == pytest.approx(4e14, rel=0.02)
    assert roofline.machine("v5e").rate("int8") / units == pytest.approx(1e14, rel=0.02)
    assert roofline.machine("v5e").rate("bf16") / units == pytest.approx(5e13, rel=0.02)  # the book, right


def test_2_slip_multiply_adds() -> None:
    # "a systolic array which can perform around 200 trillion multiply-adds per second": 197e12 FLOP/s are 98.5e12.
    rate = roofline.machine("v5e").rate("bf16")
    assert rate == pytest.approx(200e12, rel=0.02)
    assert rate / 2 == pytest.approx(98.5e12)


def test_2_quiz_the_vector_unit_of_v5p() -> None:
    chip, core = roofline.machine("v5p"), roofline.machine("v5p", per="TensorCore")
    assert chip.rate("vector") == pytest.approx(1.4e13, rel=0.03)
    assert core.rate("vector") == pytest.approx(7e12, rel=0.03)  # chapter 1: "roughly 7e12 FLOPs / second per core"
    # "about 2e14 (roughly 10x)" sets the vector units of a chip against the matrix units of a core; like with like, 32.
    assert core.rate("bf16") / chip.rate("vector") == pytest.approx(16, rel=0.01)
    assert chip.rate("bf16") / chip.rate("vector") == pytest.approx(32, rel=0.01)
    # "its critical intensity is around 3": per core, against the HBM of the chip; against its share of it, 5.2.
    assert core.rate("vector") / chip.level("hbm").bandwidth == pytest.approx(2.6, abs=0.05)
    assert roofline.ridge_point(chip, "vector") == pytest.approx(5.2, abs=0.05)


# Chapter 4, All the transformer math you need to know


@pytest.mark.parametrize(("t", "s", "group"), [(1000, 1000, 1), (4096, 4096, 8), (1, 8192, 8), (1, 10**6, 4)])
def test_4_question_4_intensity_of_attention(t: int, s: int, group: int) -> None:
    kv_heads, head_dim = 8, 128
    flash = roofline.attention(3, t, s, heads=group * kv_heads, kv_heads=kv_heads, head_dim=head_dim, causal=False)
    assert flash.bytes() == 4 * 3 * head_dim * kv_heads * (t * group + s)
    assert flash.intensity() == pytest.approx(t * s * group / (t * group + s))
    if t == 1:
        assert flash.intensity() == pytest.approx(group, rel=0.01)


def test_4_question_4_prefill_is_bound_by_compute_from_a_length_on() -> None:
    # "self-attention is compute bound at S=240": the intensity is T G / (G + 1), 240 only for many heads a group; with
    # as many key-value heads as heads it is T / 2, and the length 480, as chapter 7 says ("roughly > 480 tokens").
    def first(kv_heads: int) -> int | None:
        return roofline.smallest_batch(
            lambda t: roofline.prefill(1, t, heads=64, kv_heads=kv_heads, head_dim=128, causal=False), V5E
        )

    assert first(64) == math.ceil(2 * BF16 / HBM) == 481
    assert first(1) == math.ceil(65 / 64 * BF16 / HBM) == 244


def test_4_question_8_mixture_of_experts() -> None:
    assert roofline.critical_batch(V5E, weights="int8", experts=256, experts_per_token=8) == pytest.approx(
        3840, rel=0.002
    )
    # Expert by expert, as DeepSeek V3's 7168 x 2048 are narrow, it takes more than the book's limit of wide layers.
    narrow = roofline.critical_batch(V5E, 7168, 2048, weights="int8", experts=256, experts_per_token=8)
    assert narrow == pytest.approx(4540, rel=0.01)


# Chapter 7, All about transformer inference


@pytest.mark.parametrize(
    ("weights", "compute", "batch"), [("bf16", "bf16", 240), ("int8", "bf16", 120), ("int8", "int8", 240)]
)
def test_7_critical_batch_by_quantisation(weights: str, compute: str, batch: int) -> None:
    dtype = "int8" if compute == "int8" else "bf16"
    found = roofline.critical_batch(V5E, dtype=dtype, weights=weights, compute=compute)
    assert found == pytest.approx(batch, abs=0.5)


def step(model_bytes: float, kv_bytes: float, batch: int, chips: int, flops: float = 0.0, hbm: float = 8.1e11) -> float:
    """The book's step of generation: attention, bound by memory, then the rest, bound by what is longest."""
    machine = CH2.with_level("hbm", hbm)
    attention = roofline.analyse(Workload("kv", {}, {"hbm": batch * kv_bytes / chips}), machine)
    rest = roofline.analyse(Workload("mlp", {"bf16": flops / chips}, {"hbm": model_bytes / chips}), machine)
    return attention.lower + rest.lower


def test_7_quiz_a_30b_model_on_16_chips() -> None:
    kv = 100e3 * 8192
    assert kv == pytest.approx(819e6, rel=0.001)
    assert step(30e9, kv, 4, 16) == pytest.approx(2.5e-3, rel=0.03)
    assert step(30e9, kv, 256, 16, flops=2 * 256 * 30e9) == pytest.approx(21e-3, rel=0.01)


@pytest.mark.parametrize(
    ("batch", "milliseconds", "throughput", "grouped_ms"),
    [
        (1, 4.98, 200.61, 4.17),
        (8, 12.13, 659.30, 5.60),
        (16, 20.30, 787.99, 7.23),
        (32, 36.65, 873.21, 10.50),
        (64, 69.33, 923.13, 17.04),
        (240, 249.09, 963.53, 52.99),
    ],
)
def test_7_table_of_llama_2_13b(batch: int, milliseconds: float, throughput: float, grouped_ms: float) -> None:
    # The table heads its bytes "GiB" and its bandwidth "TiB/s"; the numbers are GB and TB/s (8192 tokens are 6.71e9
    # bytes, 6.25 GiB). It rounds the cache to 6.7 and 1.34 GB.
    model = transformer.published("llama-2-13b")
    cache = 8192 * model.kv_bytes_per_token()
    assert cache == pytest.approx(6.7e9, rel=0.002)
    assert cache / 2**30 == 6.25
    for kv, expected in ((6.7e9, milliseconds), (6.7e9 / 5, grouped_ms)):
        assert 1e3 * step(26e9, kv, batch, 8, hbm=0.82e12) == pytest.approx(expected, rel=0.002)
    assert batch / step(26e9, 6.7e9, batch, 8, hbm=0.82e12) == pytest.approx(throughput, rel=0.002)
    exact = step(2 * model.parameters.total, cache, batch, 8, hbm=0.82e12)
    assert 1e3 * exact == pytest.approx(milliseconds, rel=0.004)


# Chapter 8, Serving LLaMA 3-70B on TPUs


def test_8_decode_step_of_llama_3_70b() -> None:
    model = transformer.published("llama-3-70b")
    token = model.kv_bytes_per_token("int8")
    assert token == 2 * 8 * 128 * 80 == 160 * 1024  # the book: 160kB
    total = 32 * 8192 * 160e3 + 70e9
    assert total == pytest.approx(112e9, rel=0.001)
    assert step(70e9, 8192 * 160e3, 32, 8) == pytest.approx(17e-3, rel=0.02)
    assert 32 / step(70e9, 8192 * 160e3, 32, 8) == pytest.approx(1882, rel=0.02)
    assert step(70e9, 8192 * 160e3, 32, 16) == pytest.approx(8.5e-3, rel=0.02)


def test_8_slip_int4_parameters() -> None:
    # The table of the smallest slices says 45 GB for int4, 2.81 chips. Half a byte of 70e9 parameters is 35 GB, 2.19
    # chips; the slice of 4 is right either way.
    parameters = transformer.published("llama-3-70b").parameters.total
    for dtype, gigabytes, chips in (("bf16", 140, 8.75), ("int8", 70, 4.38), ("int4", 35, 2.19)):
        held = parameters * itemsize(dtype)
        assert held == pytest.approx(gigabytes * 1e9, rel=0.01)
        assert held / 16e9 == pytest.approx(chips, rel=0.01)
