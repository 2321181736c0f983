"""The benchmarks from the command line: tables, one line of JSON, and what is refused."""

import json

import pytest
import typer
from typer.testing import CliRunner

from tpu_kernels.__main__ import app
from tpu_kernels.bench.command import parsed_shapes

RUN = CliRunner()
TINY = ["--warmup", "0", "--repeats", "1"]


def ran(*words):
    found = RUN.invoke(app, ["bench", *words], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert not isinstance(found.exception, Exception), found.exception
    return found


def test_json_is_one_line_and_nothing_else():
    found = ran("matmul", "--shapes", "16,8x24x8", "--dtypes", "float32", "--json", *TINY)
    assert found.exit_code == 0
    record = json.loads(found.stdout)
    assert found.stdout.count("\n") == 1
    assert [(row["m"], row["k"], row["n"]) for row in record["rows"]] == [(16, 16, 16)] * 2 + [(8, 24, 8)] * 2
    assert record["environment"]["versions"]["jax"]
    assert record["environment"]["devices"] == 8


@pytest.mark.parametrize(("lang", "word"), [("es", "implementación"), ("pt", "implementação")])
def test_the_table_speaks_the_readers_language(lang, word):
    found = ran("matmul", "--shapes", "16", "--lang", lang, *TINY)
    assert word in found.stdout
    assert "16x16x16" in found.stdout


def test_the_record_is_also_written_to_a_file(tmp_path):
    out = tmp_path / "result.json"
    ran("matmul", "--shapes", "16", "--out", str(out), *TINY)
    assert json.loads(out.read_text())["rows"][0]["right"] is True


def test_training_is_measured_on_several_devices():
    words = ["--devices", "1,2", "--batch", "2", "--context", "4", "--width", "8", "--layers", "1", "--json", *TINY]
    found = ran("training", *words)
    record = json.loads(found.stdout)
    assert found.exit_code == 0
    assert [row["devices"] for row in record["rows"]] == [1, 2, 2, 2, 2]
    assert "tokens/s" in ran("training", "--batch", "1", "--context", "4", "--width", "8", *TINY).stdout


def test_a_wrong_result_is_an_exit_status(monkeypatch):
    from tpu_kernels.bench import matmul as bench

    monkeypatch.setattr(bench, "matmul", lambda x, y, backend: x @ y + 1)
    found = ran("matmul", "--shapes", "8", *TINY)
    assert found.exit_code == 1
    assert "MAL" in found.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["matmul", "--shapes", ""],
        ["matmul", "--shapes", "0"],
        ["matmul", "--dtypes", "complex64"],
        ["matmul", "--out", "no/such/folder/result.json"],
        ["matmul", "--shapes", "2x2"],
        ["matmul", "--shapes", "-4"],
        ["matmul", "--dtypes", "float33"],
        ["matmul", "--repeats", "0"],
        ["training", "--devices", "two"],
        ["training", "--devices", ","],
        ["training", "--dtypes", "int8"],
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(words):
    found = RUN.invoke(app, ["bench", *words], env={"COLUMNS": "200"})
    assert found.exit_code == 2
    assert "Traceback" not in found.output


def test_shapes_are_cubes_or_three_sides():
    assert parsed_shapes("64, 1x2x3") == [(64, 64, 64), (1, 2, 3)]
    with pytest.raises(typer.BadParameter, match=r"64\.5"):
        parsed_shapes("64.5")
