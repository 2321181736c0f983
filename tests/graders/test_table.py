"""grades.csv: columns, encoding, order, and no formula of a learner's making."""

import csv

import pytest

from graders.table import COLUMNS, Row, write_table


def rows_of(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_columns_numbers_and_order(tiny, tmp_path):
    path = tmp_path / "grades.csv"
    write_table(
        path, tiny.lab, [Row("Peña", "es", 2.5, "ok", "", [2.0, 0.5]), Row("bia", "", 0.0, "empty", "x", [0, 0])]
    )
    first, second = rows_of(path)
    assert list(first) == [*COLUMNS, "add", "scale"]
    assert (first["learner"], first["score"], first["max_score"], first["add"], first["scale"]) == (
        "Peña",
        "2.5",
        "5",
        "2",
        "0.5",
    )
    assert (second["language"], second["status"], second["score"]) == ("", "empty", "0")


def test_excel_reads_it_as_utf_8(tiny, tmp_path):
    path = tmp_path / "grades.csv"
    write_table(path, tiny.lab, [])
    assert path.read_bytes().startswith(b"\xef\xbb\xbflearner,")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r=", " ="])
def test_no_cell_begins_as_a_formula(tiny, tmp_path, start):
    path = tmp_path / "grades.csv"
    text = f"{start}HYPERLINK(1)"
    write_table(path, tiny.lab, [Row(text, "es", 0, "ok", text, [0, 0])])
    (row,) = rows_of(path)
    for value in (row["learner"], row["message"]):
        assert value.startswith("'")
        assert "HYPERLINK(1)" in value


def test_a_message_stays_on_its_line(tiny, tmp_path):
    path = tmp_path / "grades.csv"
    write_table(path, tiny.lab, [Row("ana", "es", 0, "ok", 'one\ntwo, "three"', [0, 0])])
    assert rows_of(path)[0]["message"] == 'one two, "three"'
    assert path.read_text(encoding="utf-8").count("\n") == 2
