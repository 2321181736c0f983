"""The facts on networks: complete, typed, sourced; what is not known stays so. Tables are what their source prints."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tpu_kernels import messages
from tpu_kernels.models import collective_cost, network, topology
from tpu_kernels.models.catalogue import Text, UnknownValueError
from tpu_kernels.models.collective_cost import busbw
from tpu_kernels.models.network.facts import document
from tpu_kernels.models.quantity import UNITS, Quantity
from tpu_kernels.models.topology import gpu_machines

FACTS = list(network.facts().values())
WHOLE = [fact for fact in FACTS if fact.id in document()["facts"]]
TABLES = list(document()["tables"])
STATUSES = {"verified", "secondary-only", "conflicting", "derived"}


def test_the_counts_are_those_of_the_compilation() -> None:
    counts = document()["meta"]["counts"]
    assert len(WHOLE) == counts["facts"] + counts["added"]
    assert counts["facts"] + counts["left_to_serving"] == 214
    assert len(TABLES) == counts["tables"]
    assert len(network.formulas()) == counts["formulas"]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.id)
def test_every_fact_has_a_status_a_unit_and_a_source_or_says_why_not(fact: network.Fact) -> None:
    assert fact.name
    assert fact.status in STATUSES
    assert fact.bound in (None, "over", "under", "up to")
    if fact.parts:
        assert fact.value is None
        return
    assert fact.unit in {*UNITS, "text", "statement"}
    if fact.value is None:
        assert fact.note
        assert fact.source_key is None
        return
    assert (fact.source_key is None) == (fact.status == "derived")
    values = fact.value if isinstance(fact.value, tuple) else (fact.value,)
    for value in values:
        assert isinstance(value, Text) == (fact.unit in ("text", "statement"))
        if isinstance(value, Quantity):
            assert value.unit == fact.unit
            for code in ("es", "pt"):
                assert value.format(code)


def test_every_source_is_used_and_complete() -> None:
    used = {fact.source_key for fact in WHOLE} | {network.measurements(name).source.key for name in TABLES}
    used |= {formula.source_key for formula in network.formulas().values()}
    assert set(network.sources()) == used - {None}
    for source in network.sources().values():
        assert source.title
        assert source.kind
        assert source.date is None or re.fullmatch(r"\d{4}(-\d\d){0,2}", source.date)
        assert source.date or source.note  # an undated page says so
        # One table of a planning guide has no public address; its fact is marked as secondary.
        assert source.link.startswith(("https://", "http://")) or source.key == "rails_sec"


def test_every_formula_that_a_docstring_names_is_there_with_its_source() -> None:
    faces = (network, topology, collective_cost)
    modules = {getattr(getattr(face, name), "__module__", face.__name__) for face in faces for name in face.__all__}
    texts = [Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8") for module in modules]
    named = {key for text in texts for key in re.findall(r"\bF\d+\b", text)}
    assert {"F5", "F9", "F14", "F19"} <= named <= set(network.formulas())
    for formula in network.formulas().values():
        assert formula.name
        assert formula.formula
        assert formula.status in STATUSES | {"standard"}
        assert (formula.source_key is None) <= (formula.status == "derived")


def test_a_fact_gives_its_value_and_where_it_comes_from() -> None:
    limit = network.fact("vpn.pps")
    assert limit.known() == network.number("vpn.pps") == 250_000
    assert limit.known().format("es") == "250\N{NO-BREAK SPACE}kpps"
    assert (limit.source.key, limit.source.date) == ("vpn_bw", "2025-08-12")
    assert limit.source.published == "250000 packets/s"


def test_a_part_is_a_fact_and_the_whole_points_to_its_parts() -> None:
    assert network.number("pod.v6e.bisection") == 3.2e12
    assert network.fact("pod.v6e.topology").known() == "2D torus"
    with pytest.raises(UnknownValueError, match=r"pod\.v6e\.chips, pod\.v6e\.topology"):
        network.fact("pod.v6e").known()


def test_a_statement_is_its_own_value() -> None:
    assert str(network.fact("vm.bw.per_vm").known()).startswith("Bandwidth is accounted per VM")


def test_what_no_source_says_is_an_error_never_a_guess() -> None:
    with pytest.raises(UnknownValueError, match=r"slice\.tpu_7x\.wrap.*no se encontró una fuente"):
        network.fact("slice.tpu_7x.wrap").known()
    messages.use("pt")
    with pytest.raises(UnknownValueError, match="nenhuma fonte foi encontrada"):
        network.fact("slice.tpu_v2.wrap").known()


def test_arithmetic_has_no_source_of_its_own() -> None:
    with pytest.raises(UnknownValueError, match="aritmética"):
        _ = network.fact("gpu.a3mega.per_nic").source


@pytest.mark.parametrize(("wrong", "near"), [("vpn.ps", r"vpn\.pps"), ("mtu.vpc", r"mtu\.vpc\.def")])
def test_an_unknown_fact_comes_with_the_closest_ones(wrong: str, near: str) -> None:
    with pytest.raises(network.UnknownFactError, match=f"'{wrong}'.*{near}"):
        network.fact(wrong)


def test_a_fact_of_another_kind_is_no_number() -> None:
    with pytest.raises(TypeError, match="expected one number"):
        network.number("mtu.ic.values")
    with pytest.raises(TypeError, match="expected a list"):
        network.numbers("vpn.pps")
    with pytest.raises(TypeError, match="expected numbers"):
        network.numbers("ic.kinds")


@pytest.mark.parametrize("name", TABLES)
def test_every_table_can_be_read_in_both_languages(name: str) -> None:
    table = network.measurements(name)
    for code in ("es", "pt"):
        messages.use(code)
        assert len(table.table().rows) == len(table.rows)
        assert table.source.title in repr(table)
        assert "<table" in table._repr_html_()


def test_a_cell_that_was_not_published_is_skipped_in_pairs_and_refused_in_a_column() -> None:
    table = network.measurements("V4")
    assert table.pairs("payload", "send") == [(2048, 94.5e9), (4096, 97.6e9)]
    assert len(table.column("raw")) == 3
    assert table.rows[2][1:3] == (None, None)
    assert table.table().rows[2][1].text == "sin fuente"
    with pytest.raises(UnknownValueError, match="send"):
        table.column("send")
    with pytest.raises(network.UnknownFactError, match=r"'bandwidth'.*payload, send, write, raw"):
        table.column("bandwidth")
    with pytest.raises(network.UnknownFactError, match="V99"):
        network.measurements("V99")


# V1 to V3: NCCL all_gather on 16 GPUs, cluster-toolkit (2026-04-16, 2025-05-09, 2026-04-03). They print size, time
# and bus bandwidth, so each of the 44 rows checks the definition of PERFORMANCE.md, to the rounding of the print.
@pytest.mark.parametrize("name", ["V1", "V2", "V3"])
def test_bus_bandwidth_is_what_the_nccl_tests_printed(name: str) -> None:
    table = network.measurements(name)
    for size, time, printed in zip(*map(table.column, ("size", "time", "busbw")), strict=True):
        ours = busbw("all-gather", 16, size, time)
        assert float(ours) == pytest.approx(printed, abs=6e6, rel=1e-3)


# V11, restated from Table 5 of The Llama 3 Herd of Models (2024-07).
def test_the_interruptions_of_llama_3_add_up_to_the_mean_time_between_them() -> None:
    rows: dict[Any, Any] = {row[0]: row[1] for row in network.measurements("V11").rows}
    unexpected = rows["all unexpected"]
    assert unexpected == network.number("goodput.llama3.interrupts_unexpected") == 419
    assert unexpected + rows["planned"] == network.number("goodput.llama3.interrupts_total")
    hours = 24 * network.number("goodput.llama3.days") / unexpected
    assert hours == pytest.approx(network.number("goodput.llama3.mtti"), abs=0.005)


def test_the_shares_of_llama_3_add_up_except_the_one_that_the_source_prints_wrong() -> None:
    rows: list[Any] = [row for row in network.measurements("V11").rows if isinstance(row[2], Quantity)]
    off = {str(row[0]) for row in rows if abs(row[1] / 419 - row[2]) > 0.001}
    assert off == {"faulty GPU"}  # 148 of 419 is 35.3 %, printed as 30.1 %


def test_gpu_machines_are_made_of_facts_and_their_totals_add_up() -> None:
    for machine in gpu_machines().values():
        assert machine.type.endswith((f"{machine.gpus}g", f"{machine.gpus}g-metal"))
        assert machine.gpu_rate < machine.total_rate  # the rest are the NICs of the host
    assert gpu_machines()["a4-highgpu-8g"].gpu_rate == network.number("gpu.a3ultra_a4.gpu_bw")
    assert gpu_machines()["a4x-highgpu-4g"].gpu_rate == network.number("gpu.a4x.gpu_nics.total")
    ultra = gpu_machines()["a3-ultragpu-8g"]
    assert ultra.gpu_rate + network.number("gpu.a3ultra_a4.host_bw") == ultra.total_rate
