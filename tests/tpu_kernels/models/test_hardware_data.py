"""The data itself: complete, typed, sourced. The counts are those of the compilation that the file was made from."""

import re

import pytest

from tpu_kernels.models import hardware
from tpu_kernels.models.catalogue import document
from tpu_kernels.models.quantity import UNITS

VALUES = [value for chip in hardware.chips() for value in chip.values.values()]
PRICES = [price for chip in hardware.chips() for price in chip.prices]
COUNTS = document()["meta"]["counts"]


def test_the_counts_are_those_of_the_compilation() -> None:
    computed = [value for value in VALUES if value.field == "implied_clock"]  # arithmetic: not counted as sourced
    sourced = [value for value in VALUES if value.value is not None and value not in computed]
    priced = [price for price in PRICES if price.amount is not None]
    derived = [value for value in VALUES if value.derived] + [price for price in priced if price.derived]
    unknown = [value for value in VALUES if value.value is None]
    assert len(hardware.chips()) == COUNTS["accelerators"] == 34
    assert len(sourced) + len(priced) == COUNTS["values_sourced"] == 400
    assert len(derived) == COUNTS["of_which_derived"] == 55  # the nine implied clocks among them
    assert len(unknown) + len(PRICES) - len(priced) == COUNTS["values_null"] == 91


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{value.chip}-{value.field}")
def test_every_value_has_a_unit_and_a_source_or_says_why_not(value: hardware.Value) -> None:
    assert value.unit in UNITS or value.unit == "text"
    if value.value is None:
        assert value.note
        assert not value.sources
        assert value.published is value.derived is None
        return
    assert value.sources or value.derived
    assert value.published or value.derived
    assert isinstance(value.value, hardware.Text) == (value.unit == "text")
    if isinstance(value.value, hardware.Quantity):
        assert value.value.unit == value.unit
        assert value.value > 0
    assert set(value.sources) <= set(hardware.sources())
    assert {other.source for other in value.alternatives} <= set(hardware.sources())


@pytest.mark.parametrize("value", [v for v in VALUES if v.value is not None], ids=lambda v: f"{v.chip}-{v.field}")
def test_every_known_value_can_be_written_in_both_languages(value: hardware.Value) -> None:
    known = value.known()
    for code in ("es", "pt"):
        assert re.search(r"cycle|hour|torus|switch", known.format(code)) is None


def test_every_source_is_used_and_complete() -> None:
    used = {key for value in VALUES for key in value.sources}
    used |= {other.source for value in VALUES for other in value.alternatives}
    used |= {price.source for price in PRICES if price.source}
    assert set(hardware.sources()) == used
    for source in hardware.sources().values():
        assert source.title
        assert source.kind
        assert source.link.startswith("https://")
        assert source.date is None or re.fullmatch(r"(after )?\d{4}(-\d\d){0,2}", source.date)


def test_every_price_adds_up() -> None:
    for price in PRICES:
        if price.amount is None:
            assert price.note
            continue
        assert price.slice_price is not None
        assert price.slice_chips is not None
        assert price.amount == pytest.approx(price.slice_price / price.slice_chips, abs=1e-5)
        assert price.region
        assert price.terms
        assert price.source in hardware.sources()


def test_the_implied_clock_is_the_arithmetic_that_it_says() -> None:
    for chip in hardware.chips():
        if "implied_clock" in chip.values:
            macs = chip.tensorcores * chip.mxus_per_tensorcore * chip.mxu_rows * chip.mxu_columns
            assert chip.implied_clock == pytest.approx(chip.peak_flops["bf16"] / (2 * macs), rel=1e-8)


def test_vmem_of_a_chip_is_that_of_its_cores() -> None:
    for chip in hardware.chips():
        if "vmem_per_chip" in chip.values:
            assert chip.vmem_per_chip == chip.tensorcores * chip.vmem_per_core


def test_a_link_counted_both_ways_adds_up_to_the_chip() -> None:
    for chip in hardware.chips():
        one_way = getattr(chip, "ici_bandwidth_per_link_oneway", None)
        if one_way is not None:
            assert chip.ici_bandwidth_bidirectional == pytest.approx(2 * chip.ici_links * one_way)
