"""The bounds themselves: which holds, by how much, how they add up, where the ridge is, from which batch on."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import hardware, roofline
from tpu_kernels.models.roofline.workload import VECTOR, Workload

SIZES = st.integers(min_value=1, max_value=4096)
AMOUNTS = st.floats(min_value=1.0, max_value=1e15)
RATES = st.floats(min_value=1e9, max_value=1e15)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Workload, roofline.Machine]:
    """A workload with several formats and levels, and a machine that has them all."""
    formats = draw(st.lists(st.sampled_from(["bf16", "int8", "fp8", VECTOR]), min_size=1, unique=True))
    levels = draw(st.lists(st.sampled_from(["hbm", "vmem", "ici", "dcn", "pcie"]), min_size=1, unique=True))
    workload = Workload("w", {key: draw(AMOUNTS) for key in formats}, {level: draw(AMOUNTS) for level in levels})
    rates, bandwidths = {key: draw(RATES) for key in formats}, {level: draw(RATES) for level in levels}
    return workload, roofline.custom("m", rates=rates, levels=bandwidths)


@settings(deadline=None)
@given(cases())
def test_the_bounds_are_each_amount_over_its_rate(case: tuple[Workload, roofline.Machine]) -> None:
    workload, machine = case
    found = roofline.analyse(workload, machine)
    matrix = [key for key in workload.work if key != VECTOR]
    expected = {level: amount / machine.levels[level].bandwidth for level, amount in workload.traffic.items()}
    if matrix:
        expected["compute"] = sum(workload.work[key] / machine.rates[key] for key in matrix)
    if VECTOR in workload.work:
        expected[VECTOR] = workload.work[VECTOR] / machine.rates[VECTOR]
    assert {bound.resource: float(bound.time) for bound in found.bounds} == pytest.approx(expected)
    assert found.lower == max(bound.time for bound in found.bounds)
    assert found.upper == pytest.approx(sum(expected.values()))
    assert found.lower <= found.upper * (1 + 1e-12)
    assert found.upper <= len(found.bounds) * found.lower * (1 + 1e-12)
    assert [float(bound.time) for bound in found.bounds] == pytest.approx(sorted(expected.values(), reverse=True))
    assert 0 <= found.peak_share(overlap=False) <= found.peak_share() <= 1


@settings(deadline=None)
@given(cases(), st.floats(min_value=1.0, max_value=100.0))
def test_more_bandwidth_or_rate_is_never_slower(case: tuple[Workload, roofline.Machine], factor: float) -> None:
    workload, machine = case
    before = roofline.analyse(workload, machine)
    for level in workload.traffic:
        faster = machine.with_level(level, machine.levels[level].bandwidth * factor)
        after = roofline.analyse(workload, faster)
        assert after.lower <= before.lower
        assert after.upper <= before.upper
    for dtype in workload.work:
        after = roofline.analyse(workload, machine.with_rate(dtype, machine.rates[dtype] * factor))
        assert after.lower <= before.lower


@settings(deadline=None)
@given(cases(), st.integers(min_value=1, max_value=1000))
def test_repeating_a_workload_repeats_its_time(case: tuple[Workload, roofline.Machine], count: int) -> None:
    workload, machine = case
    once, often = roofline.analyse(workload, machine), roofline.analyse(workload.times(count), machine)
    added = roofline.analyse(roofline.together("both", [workload, workload]), machine)
    assert often.lower == pytest.approx(count * once.lower)
    assert often.upper == pytest.approx(count * once.upper)
    assert added.lower == pytest.approx(2 * once.lower)
    assert often.workload.intensity(next(iter(workload.traffic))) == pytest.approx(
        workload.intensity(next(iter(workload.traffic)))
    )


def test_the_bound_changes_sides_at_the_ridge() -> None:
    ridge = roofline.ridge_point("v5e")
    assert ridge == pytest.approx(197e12 / 819e9)
    assert ridge.unit == "FLOP/byte"
    for intensity, resource in ((ridge * 0.99, "hbm"), (ridge * 1.01, "compute")):
        workload = Workload("w", {"bf16": intensity * 1e9}, {"hbm": 1e9})
        found = roofline.analyse(workload, "v5e")
        assert found.bound.resource == resource
        assert found.margin == pytest.approx(1 / 0.99 if resource == "hbm" else 1.01)
        assert found.achieved() == pytest.approx(roofline.attainable("v5e", intensity))
        assert found.peak_share() == pytest.approx(min(1, intensity / ridge))


def test_a_workload_of_one_resource_has_no_runner_up() -> None:
    found = roofline.analyse(Workload("w", {}, {"hbm": 819e9}), "v5e")
    assert (found.lower, found.upper, found.margin) == (1, 1, math.inf)
    assert found.peak_share() == 0
    assert found.workload.intensity() == 0
    assert Workload("w", {"bf16": 1.0}, {}).intensity() == math.inf


def test_several_levels_and_links_at_once() -> None:
    workload = roofline.matmul(4096, 4096, 4096).moving("vmem", 10e9).moving("ici", 3e9).moving("pcie", 0)
    found = roofline.analyse(workload, "v5e")
    expected = {
        "ici": 3e9 / 100e9,  # one axis, both ways round the ring: 2 links of 50 GB/s
        "compute": 2 * 4096**3 / 197e12,
        "vmem": 10e9 / (22 * 819e9),
        "hbm": 3 * 4096**2 * 2 / 819e9,
    }
    assert {bound.resource: float(bound.time) for bound in found.bounds} == pytest.approx(expected)
    assert [bound.resource for bound in found.bounds] == list(expected)
    assert found.time(overlap=False) == pytest.approx(sum(expected.values()))


def test_a_resource_can_be_left_out() -> None:
    norm = roofline.layer_norm(1024, 4096)
    with pytest.raises(ValueError, match="vector"):
        roofline.analyse(norm, "v6e")
    assert roofline.analyse(norm, "v6e", ignore=["vector"]).bound.resource == "hbm"
    assert roofline.analyse(norm, "v5e").bound.resource == "hbm"
    with pytest.raises(ValueError, match="no pide ni cálculo ni bytes"):
        roofline.analyse(norm, "v6e", ignore=["vector", "hbm"])


def test_integer_work_is_counted_in_operations() -> None:
    found = roofline.analyse(roofline.matmul(512, 512, 512, dtype="int8"), "v5e")
    assert found.workload.flops.unit == "OP"
    assert found.achieved().unit == "OP/s"
    assert found.workload.intensity().unit == "OP/byte"
    assert roofline.matmul(8, 8, 8).intensity().unit == "FLOP/byte"
    assert roofline.ridge_point("v5e", "int8").unit == "OP/byte"


# The batch from which a layer is bound by compute


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([1024, 2048, 4096, 8192]),
    st.sampled_from([1024, 4096, 16384]),
    st.sampled_from(["bf16", "int8"]),
    st.sampled_from(["bf16", "int8", "int4"]),
    st.sampled_from(["v5e", "v5p", "v6e"]),
)
def test_the_closed_form_is_what_a_search_finds(d_in: int, d_out: int, dtype: str, weights: str, chip: str) -> None:
    closed = roofline.critical_batch(chip, d_in, d_out, dtype=dtype, weights=weights)
    found = roofline.smallest_batch(
        lambda batch: roofline.matmul(batch, d_in, d_out, dtype=dtype, weights=weights), chip
    )
    if closed == math.inf:
        assert found is None
    else:
        assert found == math.ceil(closed)


def test_a_layer_too_narrow_for_the_chip_is_never_bound_by_compute() -> None:
    assert roofline.critical_batch("v5e", 256, 256) == math.inf
    assert roofline.smallest_batch(lambda batch: roofline.matmul(batch, 256, 256), "v5e") is None
    assert roofline.critical_batch("v5e", 512, 512) < math.inf


def test_the_short_form_is_the_limit_of_wide_layers() -> None:
    limit = roofline.critical_batch("v5e")
    assert limit == roofline.ridge_point("v5e")  # bf16: two bytes, two FLOP
    batches = [roofline.critical_batch("v5e", width, width) for width in (1024, 4096, 65536, 2**24)]
    assert batches == sorted(batches, reverse=True)
    assert batches[-1] == pytest.approx(limit, rel=1e-4)
    assert batches[0] > limit


def test_experts_need_a_larger_batch_as_a_search_confirms() -> None:
    def layer(batch: int) -> Workload:
        return roofline.moe(batch, 4096, 4096, experts=16, experts_per_token=4, gated=False, router=False)

    dense = roofline.critical_batch("v5e", 4096, 4096)
    closed = roofline.critical_batch("v5e", 4096, 4096, experts=16, experts_per_token=4)
    assert closed == 4 * dense
    assert roofline.smallest_batch(layer, "v5e") == math.ceil(closed)


def test_a_search_gives_up_at_its_limit() -> None:
    def layer(batch: int) -> Workload:
        return roofline.matmul(batch, 8192, 8192)

    needed = math.ceil(roofline.critical_batch("v5e", 8192, 8192))
    assert roofline.smallest_batch(layer, "v5e", limit=needed) == needed
    assert roofline.smallest_batch(layer, "v5e", limit=needed - 1) is None
    assert roofline.smallest_batch(lambda batch: Workload("w", {"bf16": 1.0}, {}), "v5e") == 1


# What it shows


def test_a_roofline_says_what_it_found_in_both_languages() -> None:
    found = roofline.analyse(roofline.matmul(240, 8192, 8192), "v5e")
    assert repr(found).replace("\N{NO-BREAK SPACE}", " ") == (
        "Producto de matrices 240×8192 por 8192×8192 en Cloud TPU v5e: limita HBM; de 173 µs (todo solapado) "
        "a 337 µs (nada solapado), 94,3 % del pico"
    )
    table = found.table()
    assert [[cell.text.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in table.rows] == [
        ["HBM", "142 MB", "173 µs", "100 %"],
        ["cálculo", "32,2 GFLOP", "164 µs", "94,3 %"],
    ]
    assert "por chip" in table.caption
    messages.use("pt")
    found = roofline.analyse(roofline.matmul(240, 8192, 8192), "v5e")
    assert "o limite é HBM" in repr(found)
    assert "<table" in found._repr_html_()
    assert found.table().headings == ("Recurso", "O que se pede", "Tempo", "Ocupado")


def test_a_workload_says_what_it_asks_for() -> None:
    workload = roofline.matmul(8, 16, 32, count=3).moving("ici", 1000).moving("fsdp", 2000)
    assert repr(workload).replace("\N{NO-BREAK SPACE}", " ") == (
        "Producto de matrices 8×16 por 16×32, 3 veces: 24,6 kFLOP; HBM 5,38 kB, ICI 1 kB, fsdp 2 kB"
    )
    assert repr(Workload("w", {}, {})).endswith("; —")
    messages.use("pt")
    table = roofline.analyse(Workload("w", {"vector": 1.0}, {}), "v5e").table()
    assert table.rows[0][0].text == "unidade vetorial"


def test_the_ridges_of_a_machine_are_a_table() -> None:
    table = roofline.ridge_table("v5e")
    assert table.headings == ("Formato", "HBM", "VMEM", "ICI", "DCN")
    assert [row[0].text for row in table.rows] == ["bf16", "int8", "int4"]
    assert table.rows[0][1].text == roofline.ridge_point("v5e").format() == "241\N{NO-BREAK SPACE}FLOP/B"


# Wrong inputs


@pytest.mark.parametrize("amount", [0, -1, math.nan, math.inf, True, "1", None])
def test_amounts_that_are_not_amounts_are_refused(amount: object) -> None:
    workload = roofline.matmul(8, 8, 8)
    refused = [
        lambda: roofline.attainable("v5e", amount),  # type: ignore[arg-type]
        lambda: roofline.custom("m", rates={"bf16": amount}, levels={}),  # type: ignore[dict-item]
        lambda: roofline.custom("m", rates={}, levels={"hbm": amount}),  # type: ignore[dict-item]
        lambda: workload.times(amount),  # type: ignore[arg-type]
    ]
    for call in refused:
        with pytest.raises(ValueError, match=r"mayor que cero|número (real|finito)"):
            call()


@pytest.mark.parametrize("amount", [-1, math.nan, math.inf, True, "1", None])
def test_bytes_that_are_not_bytes_are_refused(amount: object) -> None:
    with pytest.raises(ValueError, match=r"de cero en adelante|número (real|finito)"):
        roofline.matmul(8, 8, 8).moving("ici", amount)  # type: ignore[arg-type]


def test_what_a_machine_does_not_have_is_refused_with_what_it_has() -> None:
    with pytest.raises(ValueError, match=r"'fp64'.*bf16, int8, int4"):
        roofline.analyse(roofline.matmul(8, 8, 8, dtype="fp64"), "v5e")
    with pytest.raises(ValueError, match=r"'nvlink'.*hbm, vmem, ici, dcn.*with_level"):
        roofline.analyse(roofline.matmul(8, 8, 8).moving("nvlink", 1), "v5e")
    with pytest.raises(ValueError, match=r"'bfloat16'.*bf16"):
        roofline.matmul(8, 8, 8, dtype="bfloat16")
    with pytest.raises(hardware.UnknownChipError):
        roofline.analyse(roofline.matmul(8, 8, 8), "v5x")


def test_a_rate_without_source_stays_unknown() -> None:
    with pytest.raises(hardware.UnknownValueError, match=r"peak_flops\.fp8"):
        roofline.analyse(roofline.matmul(8, 8, 8, dtype="fp8"), "v5e")
    assert roofline.analyse(roofline.matmul(8, 8, 8, dtype="fp8"), roofline.machine("v5e").with_rate("fp8", 1e14))


def test_amounts_may_be_exact_numbers() -> None:
    assert roofline.attainable("v5e", Fraction(1, 2)) == 819e9 / 2
