"""``bench xray`` and ``bench chooser`` from the command line: lines, one line of JSON, a page, exit statuses."""

import json
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.tpu_kernels.bench.simulated import FakeSimulator, brought, report
from tpu_kernels.__main__ import app
from tpu_kernels.bench import chooser, xray, xray_command, xray_page
from tpu_kernels.bench.fairness import HBM
from tpu_kernels.xray.errors import MissingCompilerError
from tpu_kernels.xray.libtpu import Libtpu
from tpu_kernels.xray.record import MODELLED

RUN = CliRunner()


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> FakeSimulator:
    """One small contest and one small case, in a simulator that answers at once."""
    fake = FakeSimulator(ours=lambda program: report(10**6))
    monkeypatch.setattr(xray_command.libtpu, "find", lambda: Libtpu(Path("libtpu.so"), "0.0.42.1"))
    monkeypatch.setattr(xray, "bench_xray", partial(xray.bench_xray, examine=fake))
    monkeypatch.setattr(chooser, "bench_chooser", partial(chooser.bench_chooser, examine=fake))
    small = xray.Contest("v5e", (256, 256, 256), "bfloat16", HBM)
    monkeypatch.setattr(xray, "contests", lambda chips, quick: [small])
    monkeypatch.setattr(chooser, "cases", lambda chips: [chooser.Case("v5e", 1, 256, 256, 256, "bfloat16")])
    return fake


def ran(*words: str):
    found = RUN.invoke(app, ["bench", *words], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert not isinstance(found.exception, Exception), found.exception
    return found


@pytest.mark.parametrize(("command", "key"), [("xray", "cycles_xla"), ("chooser", "best_cycles")])
def test_json_is_one_line_and_nothing_else(simulator, command, key):
    found = ran(command, "--json")
    assert found.exit_code == 0
    assert found.stdout.count("\n") == 1
    record = json.loads(found.stdout)
    assert record["versions"]["libtpu"] == "0.0.42.1"
    assert record["rows"][0][key]


@pytest.mark.parametrize("command", ["xray", "chooser"])
@pytest.mark.parametrize(("lang", "words"), [("es", "paquetes"), ("pt", "Nenhuma TPU")])
def test_the_lines_speak_the_readers_language_and_name_what_is_left_out(simulator, command, lang, words):
    found = ran(command, "--lang", lang).stdout
    assert "256x256x256" in found
    assert "TPU" in found
    assert {"es": "lectura de instrucciones", "pt": "leitura de instruções"}[lang] in found


@pytest.mark.parametrize(("command", "page"), [("xray", "matmul_page"), ("chooser", "chooser_page")])
def test_the_record_and_its_page_are_also_written(simulator, tmp_path, command, page):
    out, written = tmp_path / "figures.json", tmp_path / "figures.md"
    ran(command, "--chips", "v5e", "--out", str(out), "--page", str(written))
    record = json.loads(out.read_text("utf-8"))
    assert record["command"] == f"sistolica bench {command} --chips v5e"
    assert written.read_text("utf-8") == getattr(xray_page, page)(record)


def test_a_slower_product_is_a_figure_and_no_fault(simulator):
    simulator.xla = lambda program: report(10)
    found = ran("xray", "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout)["rows"][0]["ratio"] == 10**5


@pytest.mark.parametrize("command", ["xray", "chooser"])
def test_a_row_that_could_not_be_had_is_an_exit_status(simulator, command):
    simulator.ours = lambda program: report(None, label=MODELLED, executed=None)
    found = ran(command, "--lang", "es")
    assert found.exit_code == 1
    assert "El simulador no dio ciclos" in found.stdout


def test_a_fetch_ahead_is_refused_in_words(simulator):
    simulator.xla = lambda program: report(10, moves=[brought(131072, ahead=True)])
    found = ran("xray", "--lang", "pt")
    assert found.exit_code == 1
    assert "131072" in found.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["--chips", "v4"],  # no libtpu simulates it
        ["--chips", "tpu7x"],  # this libtpu does not
        ["--chips", "h100"],
        ["--out", "no/such/folder/figures.json"],
        ["--page", "no/such/folder/figures.md"],
    ],
)
@pytest.mark.parametrize("command", ["xray", "chooser"])
def test_what_makes_no_sense_is_refused_before_anything_runs(simulator, command, words):
    found = RUN.invoke(app, ["bench", command, *words], env={"COLUMNS": "200"})
    assert found.exit_code == 2
    assert "Traceback" not in found.output
    assert simulator.asked == []


def test_without_the_compiler_one_line_says_so(monkeypatch):
    def missing():
        raise MissingCompilerError("no compiler here")

    monkeypatch.setattr(xray_command.libtpu, "find", missing)
    found = ran("xray")
    assert (found.exit_code, found.stderr) == (2, "no compiler here\n")


def test_the_chips_are_those_that_the_compiler_simulates(monkeypatch):
    monkeypatch.setattr(xray_command.libtpu, "find", lambda: Libtpu(Path("libtpu.so"), "0.0.50.1"))
    asked = []
    monkeypatch.setattr(xray, "contests", lambda chips, quick: asked.append(chips) or [])
    ran("xray", "--json")
    ran("xray", "--quick", "--json")
    ran("xray", "--chips", "Trillium,v5e", "--json")
    assert asked == [["v5e", "v5p", "v6e", "tpu7x"], ["v5e", "v6e"], ["v6e", "v5e"]]
