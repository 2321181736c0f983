"""``%xray`` and ``%%xray`` in IPython, with the compiler replaced by a stored report."""

import sys
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from tests.tpu_kernels.xray import stored
from tpu_kernels.xray import Comparison, Report
from tpu_kernels.xray.errors import CompileError
from tpu_kernels.xray.magics import split


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    made = InteractiveShell()  # one of its own: no test inherits the names of another
    made.user_ns.update(f=lambda *arguments, **keywords: pytest.fail("it was called"), a=jnp.ones((2, 2)), b=3)
    made.run_line_magic("load_ext", "tpu_kernels.xray")
    yield made
    made.history_manager.end_session()


def ran(shell: InteractiveShell, cell: str) -> Any:
    """What a cell gives; what it raises."""
    result = shell.run_cell(cell, store_history=False)
    if result.error_in_exec is not None:
        raise result.error_in_exec
    return result.result


def test_a_call_is_seen_and_not_made(shell: InteractiveShell, asked: list[dict[str, Any]]) -> None:
    report = ran(shell, "%xray f(a, -b) --chip v6e --no-simulate --topology v6e:2x2 --seconds 9 --flag=--xla_x=1")
    assert report is stored.report("matmul-v6e")
    assert asked[0]["function"] is shell.user_ns["f"]
    assert asked[0]["specs"][0] is shell.user_ns["a"] and asked[0]["specs"][1] == -3
    options = {name: value for name, value in asked[0].items() if name not in {"function", "specs"}}
    assert options == {
        "chip": "v6e", "simulate": False, "topology": "v6e:2x2", "seconds": 9.0, "flags": ["--xla_x=1"], "cache": True,
    }  # fmt: skip


def test_options_may_come_first(shell: InteractiveShell, asked: list[dict[str, Any]]) -> None:
    ran(shell, "%xray --chip v6e --no-cache f(a, b - 1)")
    assert (asked[0]["chip"], asked[0]["cache"], asked[0]["specs"][1]) == ("v6e", False, 2)


def test_keywords_are_arguments_too(shell: InteractiveShell, asked: list[dict[str, Any]]) -> None:
    ran(shell, "%xray f(a, scale=b)")
    assert asked[0]["specs"][1] == {"scale": 3}
    assert {name: value for name, value in asked[0].items() if name not in {"function", "specs"}} == {
        "chip": "v5e",
        "cache": True,
    }


def test_the_result_can_be_kept(shell: InteractiveShell, asked: list[dict[str, Any]]) -> None:
    ran(shell, "r = %xray f(a)")
    assert isinstance(shell.user_ns["r"], Report)


def test_several_chips_are_compared(shell: InteractiveShell, asked: list[dict[str, Any]]) -> None:
    found = ran(shell, "%xray f(a) --chip v5e,v6e,v5p")
    assert isinstance(found, Comparison)
    assert found.titles == ("v5e", "v6e", "v5p")
    assert found.entries[2].error == "no cabe en VMEM"


def test_a_cell_is_run_but_for_its_last_line(shell: InteractiveShell, asked: list[dict[str, Any]]) -> None:
    cell = "%%xray --chip v6e\ndef g(x):\n    return x\nk = 7\nscale = !echo 1\ng(k)\n"
    assert ran(shell, cell) is stored.report("matmul-v6e")
    assert asked[0]["function"] is shell.user_ns["g"]
    assert asked[0]["specs"] == (7,)
    assert shell.user_ns["scale"] == ["1"]


@pytest.mark.parametrize(
    "cell",
    ["%xray a", "%xray f(a", "%xray", "%%xray\ndef g(x):\n    return x\n", "%%xray\nk = f(a)\n", "%%xray\n\n"],
)
def test_what_is_no_call_is_told(shell: InteractiveShell, asked: list[dict[str, Any]], cell: str) -> None:
    with pytest.raises(UsageError, match="Se esperaba una llamada"):
        ran(shell, cell)
    assert asked == []


def test_an_option_that_does_not_exist_is_told(shell: InteractiveShell, asked: list[dict[str, Any]]) -> None:
    with pytest.raises(UsageError, match="--chop"):
        ran(shell, "%xray f(a) --chop v5e")
    with pytest.raises(UsageError, match="--chip v5e"):
        ran(shell, "%xray f(a) --chip ,")


def test_a_missing_name_stays_a_name_error(shell: InteractiveShell, asked: list[dict[str, Any]]) -> None:
    with pytest.raises(NameError, match="nowhere"):
        ran(shell, "%xray f(nowhere)")
    with pytest.raises(NameError, match="elsewhere"):
        ran(shell, "%%xray\nk = elsewhere\nf(k)")


def test_a_refusal_is_one_message(
    shell: InteractiveShell, asked: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%xray f(a) --chip v5p", store_history=False)
    assert capsys.readouterr().out.strip() == "CompileError: no cabe en VMEM"
    assert isinstance(sys.last_value, CompileError) and sys.last_value.original == "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("f(a) --chip v5e", ("f(a)", " --chip v5e")),
        ("f(a)", ("f(a)", "")),
        ("--chip v5e f(a)", ("", "--chip v5e f(a)")),
        ("f(a --b)", ("f(a --b)", "")),
        ("f(a --b) --chip v5e", ("f(a --b)", " --chip v5e")),
        ("f('x --y') --simulate", ("f('x --y')", " --simulate")),
    ],
)
def test_options_are_told_from_the_call(line: str, expected: tuple[str, str]) -> None:
    assert split(line) == expected


@pytest.mark.parametrize("cell", ["%xray f(nothing)", "%%xray\n1 / 0\nf(a)", "%%xray\ny = = 3\nf(a)"])
def test_what_the_learner_wrote_wrong_is_shown_without_our_lines(
    shell: InteractiveShell, asked: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], cell: str
) -> None:
    assert shell.run_cell(cell, store_history=False).error_in_exec is not None
    shown = "".join(capsys.readouterr())
    assert "Error" in shown
    assert "magics.py" not in shown and "capture.py" not in shown
    assert asked == []
