"""The pages of figures say what their JSON says, and the JSON holds what the benchmarks write today."""

import itertools
import json
from pathlib import Path

from markdown_it import MarkdownIt

from tests.tpu_kernels.bench.simulated import FakeSimulator, report
from tpu_kernels.bench.chooser import Case, bench_chooser
from tpu_kernels.bench.fairness import HBM
from tpu_kernels.bench.xray import Contest, bench_xray
from tpu_kernels.bench.xray_page import chooser_page, matmul_page
from tpu_kernels.xray.errors import LimitError
from tpu_kernels.xray.record import MODELLED

FIGURES = Path(__file__).resolve().parents[3] / "docs" / "xray"
PAGES = {"matmul": matmul_page, "chooser": chooser_page}
SIDES = (256, 256, 256)


def record(*rows):
    return {
        "command": "sistolica bench xray --quick",
        "date": "2026-12-01",
        "versions": {"libtpu": "0.0.42.1", "jax": "0.10.2"},
        "rows": [row.to_dict() for row in rows],
    }


def contest(**programs):
    return next(bench_xray([Contest("v5e", SIDES, "bfloat16", HBM)], examine=FakeSimulator(**programs)))


def cells(page):
    """The texts of the table's cells, row by row."""
    tokens = MarkdownIt().enable("table").parse(page)
    texts = [after.content for token, after in itertools.pairwise(tokens) if token.type in ("th_open", "td_open")]
    width = sum(token.type == "th_open" for token in tokens)
    return [texts[start : start + width] for start in range(0, len(texts), width)]


def too_long(program):
    raise LimitError("after 900 s")


def test_a_row_of_the_page_holds_both_programs_and_how_they_compare():
    page = matmul_page(record(contest(ours=lambda _: report(123_400), xla=lambda _: report(246_800))))
    (_, row) = cells(page)
    assert row[:4] == ["v5e", "256x256x256", "bfloat16", "H"]
    assert (row[5], row[7], row[9], row[10]) == ("123,400", "246,800", "0.500", "cycles")
    assert "0.0.42.1" in page
    assert "2026-12-01. Made by `sistolica bench xray --quick --out" in page
    assert "By bundles" not in page
    assert "By model" not in page


def test_the_page_says_when_xlas_cycles_are_a_floor_or_a_model():
    unknown = report(990, label=MODELLED, executed=1000)
    floor = matmul_page(record(contest(ours=lambda _: report(900), xla=lambda _: unknown)))
    assert cells(floor)[1][9] == "≤ 0.900"
    assert "By bundles" in floor
    model = matmul_page(record(contest(ours=lambda _: report(2000), xla=lambda _: unknown)))
    assert cells(model)[1][10] == "model"
    assert "By model" in model


def test_a_row_that_could_not_be_had_is_on_the_page_with_its_reason():
    page = matmul_page(record(contest(ours=too_long)))
    assert cells(page)[1][5] == "—"
    assert "- v5e 256x256x256 bfloat16: after 900 s" in page


def test_a_choice_stands_beside_the_best():
    (choice,) = bench_chooser(
        [Case("v5e", 1, *SIDES, "bfloat16")], examine=FakeSimulator(ours=lambda _: report(1_000_000))
    )
    (_, row) = cells(chooser_page(record(choice)))
    pick, best, tried = str(choice.pick.block), str(choice.best.block), str(len(choice.trials))
    assert row[3:] == [pick, "1,000,000", best, "1,000,000", "1.000", tried, tried, "0", "0"]


def test_the_pages_in_the_repository_are_made_from_their_json():
    kept = {path.stem: json.loads(path.read_text("utf-8")) for path in FIGURES.glob("*.json")}
    assert "matmul" in kept
    assert {path.stem: path.read_text("utf-8") for path in FIGURES.glob("*.md")} == {
        name: PAGES[name](found) for name, found in kept.items()
    }


def test_the_figures_in_the_repository_have_the_fields_of_today():
    found = json.loads((FIGURES / "matmul.json").read_text("utf-8"))
    fields = set(contest(ours=lambda _: report(900)).to_dict())
    assert all(set(row) == fields for row in found["rows"])
    assert all(row["libtpu"] == found["versions"]["libtpu"] for row in found["rows"] if not row["reason"])
    assert all(row["ratio"] == row["cycles"] / row["cycles_xla"] for row in found["rows"] if not row["reason"])
