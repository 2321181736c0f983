import copy
import pickle
from typing import Any

import pytest

from tpu_kernels import messages
from tpu_kernels.models import hardware


def test_a_value_behaves_as_a_number_and_knows_its_source() -> None:
    v5e = hardware.chip("v5e")
    assert v5e.hbm_bandwidth == 819e9
    assert v5e.hbm_bandwidth.unit == "bytes/s"
    assert v5e.peak_flops["bf16"] / v5e.hbm_bandwidth == pytest.approx(197e12 / 819e9)
    source = v5e.source("hbm_bandwidth")
    assert (source.key, source.published, source.date) == ("gdoc_v5e_old", "819 GBps", None)
    assert source.link == source.address == "https://docs.cloud.google.com/tpu/docs/v5e"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("v5e", "tpu_v5e"),
        ("tpu_v5e", "tpu_v5e"),
        ("TPU v5e", "tpu_v5e"),
        ("  tpu-V5E ", "tpu_v5e"),
        ("TPU v5 lite", "tpu_v5e"),  # what jax.devices() calls it
        ("Trillium", "tpu_v6e"),
        ("Ironwood", "tpu_7x"),
        ("TPU7x (Ironwood)", "tpu_7x"),
        ("H100 SXM", "nvidia_h100_sxm"),
        ("h100", "nvidia_h100_sxm"),
        ("A100", "nvidia_a100_80gb"),
        ("MI-300X", "amd_mi300x"),
        ("Xeon 8480+", "cpu_xeon_8480plus"),
    ],
)
def test_a_chip_is_found_by_any_of_its_names(name: str, key: str) -> None:
    assert hardware.chip(name).id == key


def test_every_chip_is_found_by_each_of_its_names() -> None:
    for chip in hardware.chips():
        for name in (chip.id, chip.name, *chip.aliases, chip):
            assert hardware.chip(name) is chip


@pytest.mark.parametrize(("wrong", "near"), [("v5", "v5e"), ("trilium", "Trillium"), ("h-1000", "H100")])
def test_an_unknown_chip_comes_with_the_closest_names(wrong: str, near: str) -> None:
    with pytest.raises(hardware.UnknownChipError, match=rf"'{wrong}'.*{near}"):
        hardware.chip(wrong)


def test_a_value_without_source_is_an_error_that_says_so_never_a_guess() -> None:
    v5e = hardware.chip("v5e")
    with pytest.raises(
        hardware.UnknownValueError, match=r"peak_flops\.fp8 .*no se encontró una fuente.*no fp8 rate"
    ) as seen:
        v5e.peak_flops["fp8"]
    assert str(seen.value).startswith("No hay valor")  # and not the repr that a KeyError prints
    messages.use("pt")
    with pytest.raises(hardware.UnknownValueError, match="nenhuma fonte foi encontrada"):
        _ = v5e.sparsecores
    with pytest.raises(hardware.UnknownValueError, match="nenhuma fonte"):
        v5e.source("power")


def test_a_value_without_source_has_the_defaults_that_python_readers_expect() -> None:
    v5e = hardware.chip("v5e")
    assert v5e.peak_flops.get("fp8") is None
    assert "fp8" not in v5e.peak_flops
    assert getattr(v5e, "sparsecores", None) is None
    assert v5e.value("sparsecores").value is None


def test_a_field_that_is_not_recorded_comes_with_the_closest_names() -> None:
    v5e = hardware.chip("v5e")
    with pytest.raises(hardware.UnknownFieldError, match=r"'hbm_bandwith'.*hbm_bandwidth"):
        _ = v5e.hbm_bandwith
    with pytest.raises(hardware.UnknownFieldError, match=r"peak_flops\.fp64"):
        v5e.peak_flops["fp64"]
    assert not hasattr(v5e, "nonsense")


def test_peak_rates_iterate_over_what_is_known() -> None:
    assert dict(hardware.chip("v5e").peak_flops) == {"bf16": 197e12, "int8": 393e12, "int4": 788e12}
    assert len(hardware.chip("v5e").peak_flops) == 3
    assert hardware.chip("v5e").peak_flops["int8"].unit == "OP/s"


def test_the_side_of_a_square_mxu_goes_by_rows_and_by_columns() -> None:
    v6e = hardware.chip("v6e")
    assert (v6e.mxu_rows, v6e.mxu_columns) == (256, 256)
    assert len([0] * v6e.mxu_rows) == 256
    assert v6e.source("mxu_rows").key == "gdoc_v6e"


@pytest.mark.parametrize(
    ("path", "spanish"),
    [
        ("v5e.hbm_bandwidth", "819\N{NO-BREAK SPACE}GB/s"),
        ("v5e.peak_flops.bf16", "197\N{NO-BREAK SPACE}TFLOP/s"),
        ("TPU v5e.hbm_capacity", "16\N{NO-BREAK SPACE}GiB"),
        ("v5e.mxu_rows", "128"),
        ("v5e.clock", "1,5\N{NO-BREAK SPACE}GHz"),
        ("v5e.ici_topology", "toro 2D"),
        ("v5p.pod_shape", "16×20×28"),
    ],
)
def test_a_dotted_path_reaches_a_value(path: str, spanish: str) -> None:
    assert hardware.get(path).format("es") == spanish


@pytest.mark.parametrize("path", ["v5e", "v5e.", "", ".hbm_bandwidth"])
def test_a_path_that_names_no_value_is_refused(path: str) -> None:
    with pytest.raises(LookupError):
        hardware.get(path)


def test_words_are_translated_and_remain_what_the_source_said() -> None:
    topology = hardware.chip("v5p").ici_topology
    assert topology == "3D torus, optical switches"
    assert topology.format("pt") == "toro 3D, comutadores ópticos"
    assert topology._repr_html_() == "<span>toro 3D, conmutadores ópticos</span>"


def test_alternatives_are_what_other_sources_say() -> None:
    said = {other.source: float(other.value) for other in hardware.chip("v5e").alternatives("hbm_bandwidth")}
    assert said == {"gdoc_v5e": 858_993_459_200, "jax": 820e9, "book_tpu": 810e9}


def test_a_value_may_have_several_sources() -> None:
    assert [source.key for source in hardware.chip("Gaudi3").sources("peak_flops.bf16")] == ["gaudi3_yob", "stas"]


def test_a_derived_value_carries_its_formula() -> None:
    source = hardware.chip("v5p").source("ici_bandwidth_per_link_oneway")
    assert source.derived == "1200 GBps bidirectional / 6 links / 2"
    assert source.format("pt").endswith("(sem data); calculado: 1200 GBps bidirectional / 6 links / 2")


def test_arithmetic_without_a_source_of_its_own_says_so() -> None:
    assert hardware.chip("v5e").implied_clock == 1_502_990_723
    assert hardware.chip("v5e").sources("implied_clock") == ()
    with pytest.raises(hardware.UnknownValueError, match="aritmética"):
        hardware.chip("v5e").source("implied_clock")


def test_a_source_in_a_repository_has_a_link_to_the_file_at_that_commit() -> None:
    source = hardware.chip("v5e").source("vmem_per_core")
    assert source.link == "https://github.com/jax-ml/jax/blob/cec06d116c05/jax/_src/tpu_info.py"
    assert source.format("es") == "Fuente: jax/_src/tpu_info.py (per-TensorCore constants) (2026-08-07)"


def test_prices_have_place_terms_and_source() -> None:
    price = hardware.chip("v5e").price("us-west4")
    assert (price.amount, price.terms, price.source) == (1.2, "on-demand list", "sky")
    assert hardware.chip("v2").price().slice_price == 4.5
    with pytest.raises(hardware.UnknownValueError, match=r"mars.*us-central1"):
        hardware.chip("v5e").price("mars")
    with pytest.raises(hardware.UnknownValueError, match="TPU7x"):
        hardware.chip("7x").price()


def test_a_chip_survives_pickle_and_copy() -> None:
    v4 = hardware.chip("v4")
    assert pickle.loads(pickle.dumps(v4)) is v4
    assert copy.deepcopy(v4) is v4


def test_completion_offers_the_fields() -> None:
    assert {"hbm_bandwidth", "mxu_rows", "peak_flops", "source"} <= set(dir(hardware.chip("v5e")))


def test_a_table_says_what_is_known_what_has_no_source_and_what_does_not_apply() -> None:
    table = hardware.table(["v3", "H100"], ["peak_flops.bf16", "clock", "mxu_rows", "ici_topology"])
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["Cloud TPU v3", "123\N{NO-BREAK SPACE}TFLOP/s", "sin fuente", "128", "toro 2D"],
        ["H100 SXM5 80GB", "989\N{NO-BREAK SPACE}TFLOP/s", "1,83\N{NO-BREAK SPACE}GHz", "—", "—"],
    ]
    assert table.headings == ("Chip", "Pico bf16", "Reloj", "Lado de la MXU", "Topología ICI")
    assert hardware.compiled() in table.caption
    assert table.rows[0][1].title == "Fuente: TPU v3 | Google Cloud docs (sin fecha)"


def test_a_table_speaks_portuguese_and_can_have_any_field_of_the_catalogue() -> None:
    messages.use("pt")
    fields = list(dict.fromkeys(field for chip in hardware.chips() for field in chip.values))
    table = hardware.table(hardware.chips(), fields, caption="Tudo")
    assert len(table.rows) == len(hardware.chips())
    assert "Largura de banda de HBM" in table.headings
    assert table.caption == "Tudo"


def test_a_table_with_a_field_that_no_catalogue_has_fails() -> None:
    with pytest.raises(LookupError):
        hardware.table(["v5e"], ["hbm_bandwith"])


@pytest.mark.parametrize("name", [5, None, b"v5e", ["v5e"], True, "x" * 10_000], ids=lambda name: repr(name)[:12])
def test_what_is_no_name_of_a_chip_is_said_in_a_few_words(name: Any) -> None:
    with pytest.raises(hardware.UnknownChipError, match="Chip desconocido") as refusal:
        hardware.chip(name)
    assert len(str(refusal.value)) < 1000


@pytest.mark.parametrize("field", [5, None, ["hbm_bandwidth"], b"hbm_bandwidth"])
def test_what_is_no_name_of_a_field_is_said(field: Any) -> None:
    with pytest.raises(hardware.UnknownFieldError):
        hardware.chip("v5e").value(field)
    with pytest.raises(LookupError):
        hardware.get(field)


@pytest.mark.parametrize("field", ["hbm_bandwidth", "mxu_rows", "peak_flops", "ici_topology"])
def test_a_sourced_value_is_not_overwritten(field: str) -> None:
    before = hardware.chip("v5e").hbm_bandwidth
    with pytest.raises(AttributeError):
        setattr(hardware.chip("v5e"), field, 3)
    assert hardware.chip("v5e").hbm_bandwidth is not None
    assert hardware.chip("v5e").hbm_bandwidth == before


def test_a_table_of_one_chip_and_one_field_needs_no_lists() -> None:
    one = hardware.table("v5e", "hbm_bandwidth")
    assert str(one) == str(hardware.table(["v5e"], ["hbm_bandwidth"]))


def test_a_table_with_a_field_that_no_chip_has_is_refused() -> None:
    with pytest.raises(hardware.UnknownFieldError, match="hbm_bandwith"):
        hardware.table(["v5e"], ["hbm_bandwith"])
    assert "—" in str(hardware.table(["h100"], ["mxu_rows"]))
