"""Slices of TPU pods: the wrap-around rule of each generation, and published pod figures as the test of the whole."""

from typing import Any

import pytest

from tpu_kernels import messages
from tpu_kernels.models import hardware, network
from tpu_kernels.models.catalogue import UnknownValueError
from tpu_kernels.models.topology import chips_per_host, multislice, pod, tpu_slice


@pytest.mark.parametrize(
    ("chip", "shape", "wrap"),
    [
        # v5e and v6e: only on an axis of 16 (scaling book, tpus.md, 2025-02-18)
        ("v5e", "4x4", (False, False)),
        ("v5e", "8x16", (False, True)),
        ("v5e", "16x8", (True, False)),
        ("v5e", "16x16", (True, True)),
        ("Trillium", "4x8", (False, False)),
        # v4 and v5p: all axes of a slice of whole cubes, none otherwise (same)
        ("v4", "2x2x1", (False, False, False)),
        ("v4", "2x2x4", (False, False, False)),
        ("v4", "4x4x4", (True, True, True)),
        ("v5p", "4x4x8", (True, True, True)),
        ("v4", "12x12x24", (True, True, True)),
        ("v3", "32x32", (True, True)),
    ],
)
def test_each_generation_closes_the_axes_that_its_rule_says(chip: str, shape: str, wrap: tuple[bool, ...]) -> None:
    assert tpu_slice(chip, shape).torus.wrap == wrap


@pytest.mark.parametrize(("chip", "shape"), [("v3", "4x4"), ("7x", "4x4x4"), ("v2", "4x4"), ("8t", "4x4x4")])
def test_where_no_source_says_what_closes_the_caller_must(chip: str, shape: str) -> None:
    with pytest.raises(UnknownValueError):
        tpu_slice(chip, shape)
    if chip != "8t":  # its pod has no known shape either, and its links no known rate
        assert tpu_slice(chip, shape, wrap=False).torus.diameter > 0


# Bisection of a whole pod as Cloud TPU's pages print it: links across the cut times the rate of one, one way.
@pytest.mark.parametrize("chip", ["v3", "v5e", "v6e"])
def test_the_bisection_of_a_pod_is_the_published_one(chip: str) -> None:
    assert pod(chip).bisection_bandwidth == hardware.chip(chip).pod_bisection_bandwidth


def test_the_bisection_of_a_v4_pod_misses_the_published_one_by_4_percent() -> None:
    # 2 * 16 * 16 links at the 45 GB/s of the scaling book give 23.04 TB/s; Google prints 24 TB/s
    ratio = pod("v4").bisection_bandwidth / hardware.chip("v4").pod_bisection_bandwidth
    assert ratio == pytest.approx(0.96)


# "All-reduce bandwidth per pod": what all chips can put on their links at once.
@pytest.mark.parametrize(("chip", "within"), [("v5e", 1e-9), ("v6e", 1e-9), ("v4", 0.006)])
def test_the_all_reduce_bandwidth_of_a_pod_is_the_injection_of_its_chips(chip: str, within: float) -> None:
    assert pod(chip).injection_bandwidth == pytest.approx(hardware.chip(chip).pod_allreduce_bandwidth, rel=within)


def test_the_all_reduce_bandwidth_of_a_v3_pod_is_20_percent_above_the_published_one() -> None:
    # 1024 chips * 4 links * the 1e11 that the scaling book gives as a round figure: 409.6 TB/s; Google prints 340 TB/s
    ratio = pod("v3").injection_bandwidth / hardware.chip("v3").pod_allreduce_bandwidth
    assert ratio == pytest.approx(1.2, abs=0.01)


# Hosts: scaling book, question 2 (a v5e pod has 32, a v5p pod 2,240), and Google's table of v5p shapes.
@pytest.mark.parametrize(
    ("chip", "shape", "hosts"),
    [
        ("v5e", "16x16", 32),
        ("v5p", "16x20x28", 2240),
        ("v5p", "4x4x8", 32),
        ("v5p", "16x16x24", 1536),
        ("v5e", "2x2", 1),
    ],
)
def test_hosts_are_those_of_the_book(chip: str, shape: str, hosts: int) -> None:
    of = tpu_slice(chip, shape, wrap=False)
    assert of.hosts == hosts


def test_chips_of_a_host_come_from_the_catalogue_or_from_its_shape() -> None:
    assert (chips_per_host("v6e"), chips_per_host("v4"), chips_per_host("7x")) == (8, 4, 4)
    with pytest.raises(UnknownValueError, match="v2"):
        chips_per_host("v2")


def test_ici_against_the_data_centre_network() -> None:
    full = pod("v5p")
    # per chip 6 links * 100 GB/s out against 50 Gbit/s
    assert full.ici_over_dcn == pytest.approx(600e9 / 6.25e9)
    assert full.dcn_bandwidth == 8960 * network.number("dcn.v5p") / 8
    both = multislice(tpu_slice("v5e", "16x16"), 4)
    assert (both.chips, both.hosts) == (1024, 128)
    # one host of v5e: 8 chips at 3.125 GB/s, the 25 GB/s that the book gives as typical
    assert tpu_slice("v5e", "2x4").dcn_bandwidth == network.number("dcn.host")


@pytest.mark.parametrize(
    ("chip", "shape", "error", "message"),
    [
        ("v5e", "4x4x4", ValueError, "2 ejes y se recibieron 3"),
        ("v4", "4x4", ValueError, "3 ejes y se recibieron 2"),
        ("v5e", "8x32", ValueError, "no cabe en el pod de 16×16"),
        ("v5e", "32x32", ValueError, "1024"),
        ("v4", "2x2x8", ValueError, "cubos enteros de lado 4"),
        ("v4", "16x16x32", ValueError, "4096"),
        ("8i", "4x4x4", ValueError, "Boardfly"),
        ("H100", "4x4", LookupError, "ici_topology"),
        ("v99", "4x4", LookupError, "v99"),
    ],
)
def test_slices_that_cannot_be_are_refused(chip: str, shape: str, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        tpu_slice(chip, shape)


def test_the_pod_of_a_generation_without_a_known_shape_is_unknown() -> None:
    with pytest.raises(UnknownValueError, match="TPU7x"):
        pod("7x")
    with pytest.raises(ValueError, match="slices"):
        multislice(tpu_slice("v5e", "4x4"), 0)


def test_a_slice_says_what_it_is_in_the_language_in_force() -> None:
    of = tpu_slice("v5e", "8x16")
    assert repr(of) == "Slice de Cloud TPU v5e. Malla de 8×16: 128 chips, ejes cerrados en anillo: 1"
    messages.use("pt")
    assert "400\N{NO-BREAK SPACE}GB/s cada um" in repr(multislice(of, 2))
