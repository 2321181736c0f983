"""The command line: its words, its lines and its exit status."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tpu_kernels import messages
from tpu_kernels.training import command
from tpu_kernels.training.recipes import text
from tpu_kernels.training.text import text as whole
from tpu_kernels.training.transformer import Config

SMALL = Config(context=16, width=16, layers=1, heads=2)


def lines(out: str) -> list[str]:
    return out.strip().splitlines()


@pytest.mark.parametrize(
    ("lang", "words", "steps"),
    [("es", "Exactitud en validación: ", "paso 20 de 30"), ("pt", "Acurácia na validação: ", "passo 20 de 30")],
)
def test_digits_tells_its_result_and_the_way_to_it_apart(
    capsys: pytest.CaptureFixture[str], lang: str, words: str, steps: str
) -> None:
    messages.use(lang)
    assert command.main(["digits", "--steps", "30"]) == 0
    told = capsys.readouterr()
    assert lines(told.out)[0].startswith(words)
    assert "MFU sin dato" in told.out or "MFU sem dado" in told.out
    assert steps in told.err


def test_text_tells_what_it_read_and_what_counting_gives(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(text.train_text, "__defaults__", (text.TEXT, SMALL))
    monkeypatch.setattr(text, "text", lambda lang: whole(lang)[:4000])
    monkeypatch.setattr(text, "sample", lambda *_: "lo que el modelo escribe")
    arguments = ["text", "pt", "--steps", "4", "--batch", "8", "--devices", "2", "--policy", "bf16"]
    assert command.main([*arguments, "--checkpoints", str(tmp_path), "--save-every", "2"]) == 0
    told = capsys.readouterr()
    first, bits, speed, *sample = lines(told.out)
    assert first == "Texto: Dom Casmurro, de Machado de Assis (1899), capítulos I a XLIV."
    assert bits.startswith("Bits por byte en validación: ") and "," in bits
    assert "tokens/s" in speed and sample
    assert {"2", "4", "log.jsonl"} <= {path.name for path in tmp_path.iterdir()}
    assert command.main([*arguments, "--checkpoints", str(tmp_path), "--seed", "9"]) == 1
    assert "seed era 0 y aquí es 9" in capsys.readouterr().err


def test_a_run_that_is_done_is_only_measured_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["digits", "--steps", "2", "--checkpoints", str(tmp_path)]
    for measured in ("ejemplos/s", "sin medir"):
        assert command.main(arguments) == 0
        accuracy, speed = lines(capsys.readouterr().out)
        assert accuracy.startswith("Exactitud") and measured in speed


def test_a_fault_with_a_cure_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert command.main(["digits", "--checkpoints", str(tmp_path / "file")]) == 1
    assert "No se puede escribir" in lines(capsys.readouterr().err)[-1]
    assert command.main(["digits", "--devices", "99"]) == 1
    assert "99" in lines(capsys.readouterr().err)[-1]
    assert command.main(["digits", "--devices", "3"]) == 1
    assert "64" in lines(capsys.readouterr().err)[-1]


@pytest.mark.parametrize(
    "arguments", [["digits", "--steps", "0"], ["text", "en"], ["cats"], ["digits", "--policy", "f8"]]
)
def test_wrong_arguments_are_refused_as_usual(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert command.main(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_says_how_to_go_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int
) -> None:
    told = command._line

    def stop(report: object) -> None:
        told(report)
        os.kill(os.getpid(), number)

    monkeypatch.setattr(command, "_line", stop)
    assert command.main(["digits", "--checkpoints", str(tmp_path)]) == 128 + number
    assert f"quedó guardado en {tmp_path}" in lines(capsys.readouterr().err)[-1]


def test_devices_can_be_simulated_and_libraries_that_are_missing_are_named() -> None:
    """In programs of their own: devices are counted once in a program."""
    program = "import sys; from tpu_kernels.training.command import main; sys.exit(main(sys.argv[1:]))"
    base = [sys.executable, "-W", "error", "-c"]
    environment = {**os.environ, "SISTOLICA_LANG": "es"}
    arguments = ["digits", "--steps", "2", "--devices", "4", "--simulate"]
    run = subprocess.run([*base, program, *arguments], capture_output=True, text=True, env=environment)
    assert run.returncode == 0 and "simulados" in run.stderr, run.stderr
    without = "import sys; sys.modules['optax'] = None; " + program
    run = subprocess.run([*base, without, "digits"], capture_output=True, text=True, env=environment)
    assert run.returncode == 1 and "pip install 'sistolica[train]'" in run.stderr.splitlines()[-1], run.stderr
