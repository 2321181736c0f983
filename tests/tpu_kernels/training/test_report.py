"""What a run says of itself, in a line for people and a record for programs."""

import io
import json

import pytest
from rich.console import Console

from tpu_kernels import messages
from tpu_kernels.training.metrics import Speed
from tpu_kernels.training.progress import terminal_line
from tpu_kernels.training.report import Report

SPEED = Speed(steps=12.34, examples=789.0, tokens=1000.4, flops=1e12, mfu=0.0567)


@pytest.mark.parametrize(
    ("lang", "line"),
    [
        ("es", "paso 5 de 9, pérdida 1,2500, exactitud 0,5000, 12,3 pasos/s, 1000 tokens/s, MFU 5,7 %"),
        ("pt", "passo 5 de 9, perda 1,2500, acurácia 0,5000, 12,3 passos/s, 1000 tokens/s, MFU 5,7 %"),
    ],
)
def test_the_line_is_in_the_readers_language(lang: str, line: str) -> None:
    messages.use(lang)
    assert str(Report(5, 9, 1.25, 2.0, SPEED, {"accuracy": 0.5})) == line


def test_the_line_leaves_out_what_is_not_known() -> None:
    assert str(Report(5, 9, 1.25, 2.0)) == "paso 5 de 9, pérdida 1,2500"
    speed = Speed(steps=2.0, examples=4.0, tokens=None, flops=None, mfu=None)
    assert str(Report(5, 9, 1.25, 2.0, speed)) == "paso 5 de 9, pérdida 1,2500, 2,0 pasos/s"


def test_a_measure_of_the_users_own_keeps_its_name() -> None:
    assert "f1 0,2500" in str(Report(5, 9, 1.25, 2.0, None, {"f1": 0.25}))


def test_the_record_has_the_same_keys_whatever_is_known() -> None:
    full, empty = Report(5, 9, 1.25, 2.0, SPEED).record(), Report(5, 9, 1.25, 2.0).record()
    assert full == {
        "step": 5,
        "loss": 1.25,
        "grad_norm": 2.0,
        "steps_per_second": 12.34,
        "examples_per_second": 789.0,
        "tokens_per_second": 1000.4,
        "flops_per_second": 1e12,
        "mfu": 0.0567,
    }
    assert empty == {key: full[key] if key in ("step", "loss", "grad_norm") else None for key in full}
    assert Report(5, 9, 1.25, 2.0, None, {"accuracy": 0.5}).record()["accuracy"] == 0.5


def test_a_gradient_that_overflowed_is_null_in_the_record() -> None:
    record = Report(5, 9, 1.25, float("inf")).record()
    assert json.loads(json.dumps(record, allow_nan=False))["grad_norm"] is None


def test_a_terminal_shows_the_line_and_a_file_nothing() -> None:
    for terminal in (True, False):
        out = io.StringIO()
        console = Console(file=out, force_terminal=terminal, width=120, _environ={})
        with terminal_line(0, 9, console) as show:
            show(Report(5, 9, 1.25, 2.0))
        assert ("paso 5 de 9, pérdida 1,2500" in out.getvalue()) is terminal
        assert terminal or out.getvalue() == ""
