"""``xray`` from the command line, with the compiler replaced by stored reports."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from sistolica.cli import app as sistolica_app
from tests.tpu_kernels.xray import stored
from tpu_kernels.__main__ import app
from tpu_kernels.xray import Report

RUN = CliRunner()


@pytest.fixture
def asked(asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """A folder with a module to name, and what the compiler is asked for."""
    (tmp_path / "commanded.py").write_text("def f(x): return x\ndef g(): return 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "commanded", raising=False)
    return asked


def ran(*words: str, program: Any = app) -> Result:
    found = RUN.invoke(program, ["xray", *words], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert not isinstance(found.exception, Exception), found.exception
    return found


@pytest.mark.parametrize("program", [app, sistolica_app])
def test_both_programs_print_the_report(asked: list[dict[str, Any]], program: Any) -> None:
    found = ran("commanded:f", "--spec", "bf16[8,128]", program=program)
    assert found.exit_code == 0
    assert found.stdout.strip() == stored.report("matmul-v5e").text()
    assert asked[0]["specs"][0].shape == (8, 128)


def test_options_reach_the_compiler(asked: list[dict[str, Any]]) -> None:
    words = ["--chip", "v6e", "--topology", "v6e:2x4", "--no-simulate", "--flag", "--x=1", "--flag", "--y=2"]
    ran("commanded:g", *words, "--seconds", "7", "--memory", "2G", "--no-cache")
    assert {name: value for name, value in asked[0].items() if name != "function"} == {
        "specs": (),
        "chip": "v6e",
        "topology": "v6e:2x4",
        "simulate": False,
        "flags": ("--x=1", "--y=2"),
        "seconds": 7.0,
        "memory_bytes": 2 * 2**30,
        "cache": False,
    }


def test_json_is_one_line(asked: list[dict[str, Any]]) -> None:
    found = ran("commanded:g", "--json")
    assert found.stdout.count("\n") == 1
    assert Report.from_dict(json.loads(found.stdout)) == stored.report("matmul-v5e")
    several = json.loads(ran("commanded:g", "--json", "--chip", "v5e,v6e").stdout)
    assert [entry["chip"] for entry in several["entries"]] == ["v5e", "v6e"]


def test_what_a_module_prints_is_not_in_the_json(asked: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "talking.py").write_text("print('hello')\ndef g(): return 1\n", encoding="utf-8")
    found = ran("talking.py:g", "--json")
    assert json.loads(found.stdout)["chip"] == "v5e"
    assert "hello" in found.stderr


def test_several_chips_are_a_table_and_each_report(asked: list[dict[str, Any]]) -> None:
    found = ran("commanded:g", "--chip", "v5e,v6e")
    assert found.exit_code == 0
    assert found.stdout.startswith("Rayos X, lado a lado: v5e, v6e")
    assert all(stored.report(f"matmul-{chip}").text() in found.stdout for chip in ("v5e", "v6e"))


def test_one_chip_that_fails_is_told_and_the_others_stay(asked: list[dict[str, Any]]) -> None:
    found = ran("commanded:g", "--chip", "v5e,v5p")
    assert found.exit_code == 2
    assert "v5p: no cabe en VMEM" in found.stdout
    assert stored.report("matmul-v5e").text() in found.stdout
    assert ran("commanded:g", "--chip", "v5e,v5p", "--json").stderr.strip() == "no cabe en VMEM"


@pytest.mark.parametrize("chips", ["v5e", "v5e,v6e"])
def test_a_page_is_written(asked: list[dict[str, Any]], tmp_path: Path, chips: str) -> None:
    ran("commanded:g", "--chip", chips, "--html", "page.html", "--lang", "pt")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith('<!doctype html><html lang="pt-BR">')
    assert page.count("<svg") == 2 * len(chips.split(","))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["commanded:g", "--chip", "v5p"], "no cabe en VMEM"),
        (["commanded:g", "--chip", ","], "--chip v5e"),
        (["commanded:f"], "--spec"),
        (["commanded:f", "--spec", "f32"], "no describe un arreglo"),
        (["commanded:h"], "no tiene h"),
        (["nowhere:h"], "nowhere"),
        (["commanded"], "no nombra una función"),
        (["commanded:g", "--memory", "much"], "no es una cantidad de memoria"),
        (["commanded:g", "--html", "nowhere/page.html"], "nowhere/page.html"),
        (["commanded:g", "--flag", "xla_tpu_x=1", "--chip", "v5e,v6e"], "dos guiones"),
        (["commanded:g", "--lang", "fr"], "fr"),
    ],
)
def test_a_fault_is_one_line(asked: list[dict[str, Any]], words: list[str], reason: str) -> None:
    found = ran(*words)
    assert found.exit_code == 2
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1 and reason in found.stderr
