"""Reports side by side: what is compared, what is not, and one that fails among others."""

import dataclasses
import json
from typing import Any

import pytest

from tests.tpu_kernels.xray import stored
from tests.tpu_kernels.xray.test_markup import Outline
from tpu_kernels import messages
from tpu_kernels.xray import Report, compare, examine
from tpu_kernels.xray.comparison import Comparison, Entry, name_of
from tpu_kernels.xray.errors import CompileError, MissingCompilerError, UnknownTargetError
from tpu_kernels.xray.side_by_side import table


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The compiler replaced by stored reports: what it was asked for."""
    calls: list[dict[str, Any]] = []

    def xray(function: Any, *specs: Any, chip: str, **options: Any) -> Report:
        calls.append({"function": function, "specs": specs, "chip": chip, **options})
        if function is refused:
            raise CompileError("no cabe en <VMEM>", "RESOURCE_EXHAUSTED", "vmem")
        if function is unlucky:
            raise MissingCompilerError("no hay libtpu")
        return stored.report(f"matmul-{chip}")

    monkeypatch.setattr(examine, "xray", xray)
    return calls


def mine() -> None: ...


def refused() -> None: ...


def unlucky() -> None: ...


def test_each_contestant_is_seen_for_the_same_arguments(asked: list[dict[str, Any]]) -> None:
    found = compare({"a": mine, "b": len}, 1, 2, chip="v5p", seconds=5.0)
    assert [call["specs"] for call in asked] == [(1, 2), (1, 2)]
    assert {(call["chip"], call["seconds"]) for call in asked} == {("v5p", 5.0)}
    assert found.titles == ("a", "b")
    assert [found.ratio(entry) for entry in found.entries] == [1.0, 1.0]


def test_one_function_on_several_chips_is_compared_in_time(asked: list[dict[str, Any]]) -> None:
    found = compare({"mine": mine}, chip=["v5e", "v6e"])
    assert found.titles == ("v5e", "v6e")
    seconds = [entry.report.seconds for entry in found.entries if entry.report]
    assert found.ratio(found.entries[1]) == pytest.approx((seconds[1] or 0) / (seconds[0] or 1))
    assert compare({"a": mine, "b": mine}, chip=["v5e", "v6e"]).titles == ("a v5e", "a v6e", "b v5e", "b v6e")


def test_simulated_and_modelled_are_never_divided() -> None:
    found = compare({"v5e": stored.report("matmul-v5e"), "v4": stored.report("matmul-v4")})
    assert found.mixed
    assert found.ratio(found.entries[1]) is None
    assert "no hay cociente" in found.text()
    assert not compare({"v5e": stored.report("matmul-v5e"), "v6e": stored.report("matmul-v6e")}).mixed


def test_a_report_is_taken_as_it_is(asked: list[dict[str, Any]]) -> None:
    report = stored.report("ragged-v6e")
    found = compare({"before": report, "now": mine}, chip="v6e")
    assert found.entries[0].report is report
    assert len(asked) == 1


def test_one_that_is_refused_does_not_lose_the_others(asked: list[dict[str, Any]]) -> None:
    found = compare({"bad": refused, "good": mine}, chip="v5e")
    assert found.entries[0] == Entry("bad", "v5e", None, "no cabe en <VMEM>")
    assert found.entries[1].report is not None
    assert found.ratio(found.entries[1]) is None
    assert "bad: no cabe en <VMEM>" in found.text()
    cells = {row[0].text: [cell.text for cell in row[1:]] for row in table(found).rows}
    assert cells["ciclos"][0] == "error" and cells["ciclos"][1] != "error"
    page = Outline(found.html())
    assert "bad: no cabe en <VMEM>" in page.words
    assert page.tags.count("svg") == 2


@pytest.mark.parametrize("chip", ["v5e", "v5p"])
def test_what_no_contestant_can_help_is_raised(asked: list[dict[str, Any]], chip: str) -> None:
    with pytest.raises(MissingCompilerError):
        compare({"a": mine, "b": unlucky}, chip=chip)


def test_an_unknown_chip_is_raised() -> None:
    with pytest.raises(UnknownTargetError):
        compare({"a": mine}, chip="v99")


@pytest.mark.parametrize(("contestants", "chip"), [({}, "v5e"), ({"a": mine}, [])])
def test_nothing_to_compare_is_refused(contestants: dict[str, Any], chip: Any) -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        compare(contestants, chip=chip)


@pytest.mark.parametrize(("lang", "words"), [("es", ("cociente", "derrames")), ("pt", ("quociente", "derramamentos"))])
def test_text_and_page_have_each_entry(lang: str, words: tuple[str, ...]) -> None:
    messages.use(lang)
    found = compare({"one": stored.report("matmul-v5e"), "two": stored.report("matmul-v4")})
    page = Outline(found.html())
    assert all(word in str(found) for word in ("one v5e", "two v4", *words))
    assert {"one v5e", "two v4"} <= set(page.words)
    assert page.tags.count("svg") == 4 and page.tags.count("h1") == 1
    assert Outline(found._repr_html_()).tags[0] == "section"


def test_the_record_goes_to_json() -> None:
    found = compare({"one": stored.report("matmul-v5e"), "two": stored.report("ragged-v5e")})
    record = json.loads(json.dumps(found.to_dict()))
    assert [entry["name"] for entry in record["entries"]] == ["one", "two"]
    assert record["entries"][0]["ratio"] == 1.0
    assert Report.from_dict(record["entries"][1]["report"]) == stored.report("ragged-v5e")


def test_times_that_are_not_known_have_no_ratio() -> None:
    sure = stored.report("matmul-v5e")
    unknown = dataclasses.replace(sure, seconds=None)
    for pair in ((sure, unknown), (unknown, sure)):
        found = Comparison(tuple(Entry("x", "v5e", report, "") for report in pair))
        assert found.ratio(found.entries[1]) is None
        assert not found.mixed


def test_a_function_is_named_as_where_it_is_written() -> None:
    from functools import partial

    assert name_of(partial(partial(mine))) == "mine"
    assert name_of(Entry("", "", None, "")) == "Entry"
