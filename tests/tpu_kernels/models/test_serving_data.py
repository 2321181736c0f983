"""data/serving.toml: every value has a unit and a source, every source is used, tables are whole."""

import re

import pytest

from tpu_kernels.models import serving
from tpu_kernels.models.quantity import UNITS
from tpu_kernels.models.serving.published import document

KINDS = ("systems", "models", "replicas")
ENTRIES = [(kind, key) for kind in KINDS for key in serving.names(kind)]


@pytest.mark.parametrize(("kind", "key"), ENTRIES)
def test_every_value_has_a_unit_and_a_source(kind: str, key: str) -> None:
    for value in serving.values(kind, key).values():
        assert value.unit in UNITS
        assert value.published or value.derived
        assert value.sources
        assert set(value.sources) <= set(serving.sources())
        assert float(value.known()) >= 0


def test_every_source_is_used_dated_and_has_an_address() -> None:
    used = {source for kind, key in ENTRIES for value in serving.values(kind, key).values() for source in value.sources}
    used |= {serving.table(key).source for key in serving.names("tables")}
    assert used == set(serving.sources())
    for source in serving.sources().values():
        assert source.title
        assert source.link.startswith("https://")
        assert source.date is None or re.fullmatch(r"\d{4}(-\d\d){0,2}", source.date)
    assert [key for key, source in serving.sources().items() if source.date is None] == ["llama_config"]


@pytest.mark.parametrize("key", serving.names("tables"))
def test_tables_are_whole(key: str) -> None:
    table = serving.table(key)
    assert table.rows
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_the_means_of_v6_are_those_of_its_stages() -> None:
    by_rate = serving.table("V6_by_rate").rows
    for scheduler, output, p90, mean, _ in serving.table("V6").rows:
        rows = [row for row in by_rate if row[1] == scheduler]
        assert len(rows) == 16
        assert sum(row[2] for row in rows) / 16 == pytest.approx(output, abs=0.1)
        # Latencies are averaged in a way that the report does not tell: within a quarter of the plain mean.
        assert sum(row[3] for row in rows) / 16 == pytest.approx(p90, rel=0.25)
        assert sum(row[4] for row in rows) / 16 == pytest.approx(mean, rel=0.25)


def test_derived_sizes_are_the_arithmetic_that_they_say() -> None:
    parameters = serving.values("models", "llama_3_1_8b")["parameters"]
    assert eval(parameters.derived or "") == parameters.known()  # a formula of our own file


def test_what_no_source_says_is_never_guessed() -> None:
    with pytest.raises(ValueError, match=r"gaie_v1_0 no registra 'affinity_threshold'.*queue_weight"):
        serving.number("systems", "gaie_v1_0", "affinity_threshold")
    assert {key for key in document() if key not in (*KINDS, "tables", "sources", "meta")} == set()
