"""Another process is asked; however it ends, this one goes on and says how."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tpu_kernels import messages
from tpu_kernels.doctor.look import Sight
from tpu_kernels.doctor.probe import LONGEST, Failure, ask_jax, import_failure


@pytest.fixture
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    return monkeypatch


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write a module ``fake`` that the other process finds as this one does."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(code: str) -> None:
        (tmp_path / "fake.py").write_text(code)

    return write


def test_jax_is_asked_in_another_process(on_the_cpu: pytest.MonkeyPatch) -> None:
    on_the_cpu.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=3")
    on_the_cpu.setenv("JAX_ENABLE_X64", "1")
    answer = ask_jax(60)
    assert isinstance(answer, Sight), answer
    assert (answer.here.platform, answer.here.count, answer.x64) == ("cpu", 3, True)
    assert answer.described == "la CPU, dispositivos: 3. Son dispositivos simulados en la CPU."
    assert answer.matmul[0] == "xla"


def test_an_abort_is_told_by_its_last_words(on_the_cpu: pytest.MonkeyPatch) -> None:
    on_the_cpu.setenv("XLA_FLAGS", "--xla_nonsense=3")
    assert ask_jax(60) == Failure("aborted", "Unknown flag in XLA_FLAGS: --xla_nonsense=3")


def test_an_error_of_jax_is_told_in_one_line(on_the_cpu: pytest.MonkeyPatch) -> None:
    on_the_cpu.setenv("JAX_PLATFORMS", "tpus")
    answer = ask_jax(60)
    assert isinstance(answer, Failure)
    assert answer.how == "raised"
    assert answer.words.startswith("RuntimeError: Unable to initialize backend 'tpus'")


def test_a_limit_in_time_is_kept(on_the_cpu: pytest.MonkeyPatch) -> None:
    assert ask_jax(0.01) == Failure("timed_out", "0.01 s")


def test_a_sight_goes_through_json_unchanged(seen) -> None:
    for sight in (seen("gpu", count=4), replace(seen(), matmul=None, kernels_failure="no absl")):
        assert Sight.from_dict(json.loads(json.dumps(sight.to_dict()))) == sight


def test_a_module_that_can_be_imported_has_no_failure(module) -> None:
    module("")
    assert import_failure("fake", 60) is None


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        (
            "raise ImportError('/x/_XLAC.so: undefined symbol')",
            Failure("raised", "ImportError: /x/_XLAC.so: undefined symbol"),
        ),
        ("import os; os.kill(os.getpid(), 6)", Failure("aborted", "SIGABRT")),
        ("import os; os._exit(3)", Failure("aborted", "exit 3")),
        ("raise ImportError('x' * 1000)", Failure("raised", f"ImportError: {'x' * 1000}"[:LONGEST])),
    ],
)
def test_a_failed_import_is_told(module, code: str, failure: Failure) -> None:
    module(code)
    assert import_failure("fake", 60) == failure


def test_a_module_that_cannot_be_imported_does_not_reach_this_process(module) -> None:
    module("import os; os.kill(os.getpid(), 6)")
    import_failure("fake", 60)
    assert "fake" not in sys.modules


def test_of_a_flood_the_last_logged_errors_are_kept(module) -> None:
    module(
        "import os, sys\n"
        "print('E1201 02:01:16.284951   13201 common_lib.cc:55] noise', file=sys.stderr)\n"
        "print('E1201 02:01:17.057284   13278 command_line_flags.cc:63] No value four.', file=sys.stderr)\n"
        "print('F1201 02:01:17.057331   13278 a/b.cc:220] Flag parsing failed.\\nusage: x\\n' * 1, file=sys.stderr)\n"
        "sys.stderr.flush(); os.abort()\n"
    )
    assert import_failure("fake", 60) == Failure("aborted", "No value four. Flag parsing failed.")


def test_the_other_process_takes_no_gpu_memory_in_advance(module) -> None:
    module("import os; raise ImportError(os.environ['XLA_PYTHON_CLIENT_PREALLOCATE'])")
    assert import_failure("fake", 60) == Failure("raised", "ImportError: false")


def test_the_languages_of_both_processes_are_the_same(module) -> None:
    messages.use("pt")
    module("import os; raise ImportError(os.environ['SISTOLICA_LANG'])")
    assert import_failure("fake", 60) == Failure("raised", "ImportError: pt")


def test_the_folder_is_searched_where_this_process_searches_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "beside.py").touch()
    monkeypatch.chdir(tmp_path)
    found = [folder for folder in sys.path if folder]
    monkeypatch.setattr(sys, "path", found)
    assert import_failure("beside", 60) == Failure("raised", "ModuleNotFoundError: No module named 'beside'")
    monkeypatch.setattr(sys, "path", ["", *found])
    assert import_failure("beside", 60) is None
