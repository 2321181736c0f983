"""``sistolica doctor`` as a learner runs it: from any folder, on a machine that is ill in a known way."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from sistolica.commands import doctor as command
from tpu_kernels.doctor.diagnosis import diagnose
from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.machine.attached import Attached, attached

COMMAND = [sys.executable, "-c", "from sistolica.cli import main; main()", "doctor"]
TOO_LATE = """
import os, jax
jax.devices()
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
from tpu_kernels import doctor
report = doctor.report()
print(report)
raise SystemExit(report.exit_status)
"""


no_accelerator = pytest.mark.skipif(attached() != Attached(), reason="this machine has an accelerator")


@pytest.fixture
def run(tmp_path: Path):
    """Run the command in an empty folder, in an environment that says nothing of jax but what is given."""

    def go(*options: str, command: list[str] = COMMAND, **environ: str) -> "subprocess.CompletedProcess[str]":
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        environ = {**inherited, "SISTOLICA_LANG": "es", "COLUMNS": "200", **environ}
        folder = tmp_path / "elsewhere"
        folder.mkdir(exist_ok=True)
        return subprocess.run(
            [*command, *options], capture_output=True, text=True, env=environ, cwd=folder, check=False
        )

    return go


@pytest.fixture
def fake(tmp_path: Path):
    """A folder of modules and metadata that stand before what is installed; to be put in ``PYTHONPATH``."""
    root = tmp_path / "fakes"
    root.mkdir()

    def metadata(name: str, version: str) -> None:
        folder = root / f"{name}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")

    def module(name: str, code: str) -> None:
        (root / name).mkdir()
        (root / name / "__init__.py").write_text(code)

    return root, metadata, module


@no_accelerator
def test_a_plain_machine_is_told_plainly(run) -> None:
    ended = run()
    assert ended.returncode == 0, ended.stdout
    assert "la CPU, dispositivos: 1. jax no encontró TPU ni GPU." in ended.stdout
    assert "Todo en orden" in ended.stdout
    assert ended.stderr == ""


def test_a_program_gets_one_json_object_and_nothing_else(run) -> None:
    ended = run("--json", "--lang", "pt", "--expect-devices", "2", XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert ended.stdout.isascii(), "a terminal that is not UTF-8 would be given no JSON"
    report = json.loads(ended.stdout)
    assert ended.returncode == report["exit_status"] == 0
    assert (report["schema"], report["language"]) == (1, "pt")
    assert (report["jax"]["platform"], report["jax"]["count"]) == ("cpu", 2)
    assert report["environment"] == {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    assert report["jax"]["described"] == "a CPU, dispositivos: 2. São dispositivos simulados na CPU."


@no_accelerator
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("tpu", "Error: JAX_PLATFORMS=tpu pide tpu, y esta máquina solo tiene: cpu."),
        ("cuda", "Error: JAX_PLATFORMS=cuda pide cuda, y esta máquina solo tiene: cpu."),
        ("tpus", "Error: JAX_PLATFORMS=tpus: jax no conoce ninguna plataforma 'tpus'."),
    ],
)
def test_a_platform_that_cannot_be_had_ends_with_one(run, asked: str, said: str) -> None:
    ended = run(JAX_PLATFORMS=asked)
    assert ended.returncode == 1
    assert said in ended.stdout
    assert "Errores: 1. Avisos: 0." in ended.stdout


def test_a_long_dash_is_shown_and_jax_is_not_started(run) -> None:
    ended = run("--json", XLA_FLAGS="-–xla_force_host_platform_device_count=4")
    report = json.loads(ended.stdout)
    assert ended.returncode == 1
    assert report["jax"] is None
    (error,) = (finding for finding in report["findings"] if finding["severity"] == "error")
    assert error["kind"] == "odd_character"
    assert "«–» (U+2013, EN DASH)" in error["message"]


def test_a_number_of_devices_that_came_too_late_is_found_in_the_notebook(run) -> None:
    ended = run(command=[sys.executable, "-c", TOO_LATE])
    assert ended.returncode == 1
    assert "Error: XLA_FLAGS pide 8 dispositivos, pero jax ya corre con 1" in ended.stdout


def test_a_jax_that_aborts_does_not_take_the_doctor_with_it(run) -> None:
    ended = run(XLA_FLAGS="--xla_nonsense=3")
    assert ended.returncode == 1
    assert "en un cuaderno muere el kernel): --xla_nonsense=3" in ended.stdout


def test_too_few_devices_end_with_one(run) -> None:
    ended = run("--expect-devices", "8")
    assert ended.returncode == 1
    assert "Se esperaban 8 dispositivos y jax ve 1 (cpu)." in ended.stdout


def test_a_torch_xla_for_another_torch_spoils_only_torch(run, fake) -> None:
    root, metadata, module = fake
    metadata("torch", "2.13.0")
    metadata("torch_xla", "2.9.0")
    module("torch_xla", 'raise ImportError("/x/_XLAC.so: undefined symbol: _ZN2at4_ops5dummyE")')
    assert run(command=[sys.executable, "-c", "import tpu_kernels"], PYTHONPATH=str(root)).returncode == 0
    ended = run(PYTHONPATH=str(root))
    assert ended.returncode == 1
    assert "torch 2.13.0 y torch_xla 2.9.0 no casan (ImportError: /x/_XLAC.so: undefined symbol" in ended.stdout
    assert "pip install 'torch==2.9.*' 'torch_xla==2.9.*'" in ended.stdout
    assert "la CPU, dispositivos: 1." in ended.stdout


def test_a_jaxlib_of_another_version_is_named(run, fake) -> None:
    root, metadata, _ = fake
    metadata("jaxlib", "0.7.0")
    ended = run(PYTHONPATH=str(root))
    assert ended.returncode == 1
    assert "jaxlib 0.7.0" in ended.stdout
    assert "Error: Versiones que no casan: jax " in ended.stdout
    assert "reinicia el entorno" in ended.stdout


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch):
    """What a terminal of a width shows of a TPU machine without jax, and the exit status."""

    def show(width: int, *, json_only: bool = False) -> tuple[str, int]:
        ill = diagnose(Evidence(attached=Attached(tpu_chips=4), place="tpu_vm", python="3.11.7"))
        monkeypatch.setattr(command, "report", lambda expect_devices: ill)
        console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
        complaints = Console(file=io.StringIO())
        status = command.doctor(console, complaints, json_only=json_only)
        return console.file.getvalue(), status

    return show


@pytest.mark.parametrize("width", [30, 60, 120])
def test_a_report_fits_its_terminal_and_keeps_its_brackets(shown, width: int) -> None:
    text, status = shown(width)
    assert status == 1
    assert "'jax[tpu]'" in text
    assert max(map(len, text.splitlines())) <= width


def test_json_is_not_cut_to_the_terminal(shown) -> None:
    text, status = shown(40, json_only=True)
    assert (json.loads(text)["exit_status"], status) == (1, 1)


def test_an_unknown_language_is_refused(run) -> None:
    ended = run("--lang", "fr")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "usa es o pt" in ended.stderr
