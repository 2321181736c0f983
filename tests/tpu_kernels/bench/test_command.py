"""The benchmarks from the command line: tables, one line of JSON, and what is refused."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tpu_kernels.__main__ import app
from tpu_kernels.bench.command import parsed_shapes
from tpu_kernels.bench.measurement_error import MeasurementError

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


@pytest.mark.parametrize("option", ["--out", "--plot"])
@pytest.mark.parametrize(("lang", "said"), [("es", "No se puede escribir en"), ("pt", "Não é possível escrever em")])
def test_a_place_that_cannot_be_written_is_refused_before_anything_runs(tmp_path, option, lang, said):
    """A folder; and a name that no file may have, also for root."""
    for place in (tmp_path, tmp_path / ("x" * 300)):
        words = ["bench", "all-reduce", "--sizes", "1K", option, str(place), "--lang", lang]
        found = RUN.invoke(app, words, env={"COLUMNS": "600", "NO_COLOR": "1"})
        assert found.exit_code == 2
        assert said in found.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_disk_costs_the_file_and_not_the_table():
    words = ["bench", "matmul", "--shapes", "16", "--out", "/dev/full", *TINY]
    found = RUN.invoke(app, words, env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert " jnp " in found.stdout
    assert isinstance(found.exception, MeasurementError)
    assert "/dev/full" in str(found.exception)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize(("to", "said"), [(">/dev/full", "stdout"), (">&-", "")])
def test_a_full_or_closed_output_ends_in_no_traceback(to, said):
    program = f"{shlex.quote(sys.executable)} -m tpu_kernels bench matmul --shapes 16 --warmup 0 --repeats 1 {to}"
    ran = subprocess.run(["sh", "-c", program], stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == (2 if said else 0)
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_shapes_are_cubes_or_three_sides():
    assert parsed_shapes("64, 1x2x3") == [(64, 64, 64), (1, 2, 3)]
    with pytest.raises(typer.BadParameter, match=r"64\.5"):
        parsed_shapes("64.5")
