"""The learner's process: what it runs, what it refuses to do here, how it ends."""

import contextlib
import os
from pathlib import Path

import numpy as np
import pytest

from graders.kernel import KernelProcess, KernelRunner
from graders.learner import KernelLearner, LearnerError, ProcessDiedError
from graders.process import Limits

PATIENT = Limits(cell_s=60, grace_s=30)  # nothing here is about speed: the machine may be busy
SHORT = Limits(cell_s=1, grace_s=30, output_bytes=2**20)


@contextlib.contextmanager
def started(limits=PATIENT, lang="es"):
    process = KernelProcess(limits)
    try:
        process.wait_until_ready(lang)
        yield process
    finally:
        process.close()


@pytest.fixture(scope="module")
def process():
    with started() as ready:
        yield ready


def text_of(run):
    return "".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in run.outputs)


def call(process, name, *args, timeout_s=60.0, **options):
    process.checkpoint("here")
    return KernelLearner(process.ask, "here", timeout_s).call(name, *args, **options)


def test_cells_share_names_and_show_what_they_print_and_return(process):
    assert process.run_cell("x = 41\nprint('hola')").status == "ok"
    run = process.run_cell("x + 1")
    assert (run.status, text_of(run)) == ("ok", "42")


def test_an_error_ends_its_cell_only(process):
    run = process.run_cell("y = 1\n1 / 0\ny = 2")
    assert (run.status, run.outputs[-1].ename) == ("error", "ZeroDivisionError")
    assert text_of(process.run_cell("y")) == "1"


def test_a_syntax_error_names_its_line(process):
    run = process.run_cell("ok = 1\ndef broken(:\n    pass")
    assert run.status == "error"
    assert "line 2" in run.outputs[-1].evalue


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("!pip install -q nothing", "Omitido al calificar: !pip install -q nothing"),
        ("%pip install nothing", "Omitido al calificar: %pip install nothing"),
        ("if True:\n    !rm -rf /nothing", "Omitido al calificar: !rm -rf /nothing"),
        ("files = !ls\nfiles", "[]"),
        ("%%bash\ntouch here", "Omitido al calificar: %%bash"),
        ("%%script sh -c x\ntouch here", "Omitido al calificar: %%script sh -c x"),
        ("exit()", "Omitido al calificar: exit()"),
        ("quit", "Omitido al calificar: exit()"),
        ("%cd /content", "/content"),
        ("%%time\nz = 1", "Wall time"),
        ("print('''\n!pip in a text\n''')", "!pip in a text"),
    ],
)
def test_installing_and_shell_lines_are_skipped_aloud_and_other_magics_work(process, source, said):
    run = process.run_cell(source)
    assert run.status == "ok"
    assert said in text_of(run)
    assert not (process.folder / "here").exists()


def test_an_unknown_cell_magic_is_an_ordinary_error(process):
    assert process.run_cell("%%magia_inventada\nhola").status == "error"
    assert process.run_cell("1").status == "ok"


def test_a_window_becomes_a_picture(process):
    run = process.run_cell(
        "import matplotlib\nmatplotlib.use('TkAgg')\nimport matplotlib.pyplot as plt\n"
        "plt.plot([1, 2])\nplt.show(block=True)"
    )
    assert run.status == "ok"
    assert any("image/png" in output.get("data", {}) for output in run.outputs)


def test_it_asks_nobody_for_input(process):
    assert process.run_cell("input('?')").status == "error"


def test_a_module_of_theirs_is_found_but_stands_for_no_installed_one(process):
    (process.folder / "mine.py").write_text("value = 7")
    for name in ("zipapp", "nh3"):  # one of the standard library, one installed; neither is loaded yet
        (process.folder / f"{name}.py").write_text("raise SystemExit")
    assert text_of(process.run_cell("import sys; {'zipapp', 'nh3'} & set(sys.modules)")) == "set()"
    assert text_of(process.run_cell("import mine, zipapp, nh3\nmine.value")) == "7"


def test_the_environment_is_empty_but_for_what_it_needs(process, monkeypatch):
    assert "SISTOLICA_LANG" in os.environ
    shown = text_of(process.run_cell("import os; sorted(os.environ)"))
    assert "SISTOLICA_LANG" not in shown
    assert str(process.folder.parent) in text_of(process.run_cell("os.environ['HOME']"))


def test_the_judges_code_is_not_importable_there(process):
    for module in ("judge", "lab", "execute", "seed"):
        assert process.run_cell(f"import graders.{module}").status == "error"
    run = process.run_cell("from graders.selfcheck import selfcheck\nselfcheck('matmul', globals())('blocked')")
    assert (run.status, run.outputs) == ("ok", [])


def test_a_call_takes_and_gives_arrays_and_prints_nowhere(process):
    process.run_cell("def double(a):\n    print('secret', a)\n    return 2 * a")
    got = call(process, "double", np.arange(4, dtype=np.int16))
    assert (got.tolist(), got.dtype.name) == ([0, 2, 4, 6], "int16")
    assert text_of(process.run_cell("'after'")) == "'after'"


def test_an_error_in_a_call_has_the_line_of_their_cell(process):
    process.run_cell("x = 1\n\ndef fails(a):\n    b = a\n    return b[10]")
    with pytest.raises(LearnerError) as caught:
        call(process, "fails", [1])
    assert (caught.value.type, caught.value.line, caught.value.code) == ("IndexError", 5, "return b[10]")


def test_a_check_sees_the_names_as_they_were_at_its_place(process):
    process.run_cell("def rate():\n    return 1\ndef area(x):\n    return rate() * x")
    process.checkpoint("early")
    process.run_cell("def rate():\n    return 100\nlate = lambda: 1")
    early, late = (KernelLearner(process.ask, place, 60.0) for place in ("early", "late"))
    assert early.call("area", 3) == 3
    with pytest.raises(LearnerError, match="missing"):
        early.call("late")
    assert late.call("area", 3) == 300
    assert text_of(process.run_cell("area(3)")) == "300"


def test_an_endless_cell_is_stopped_and_the_next_one_runs():
    with started(SHORT) as process:
        assert process.run_cell("started = True\nwhile True: pass").status == "timeout"
        assert text_of(process.run_cell("started")) == "True"


def test_an_endless_call_is_stopped_and_the_next_one_runs(process):
    process.run_cell("def endless():\n    while True: pass\ndef quick(): return 1")
    with pytest.raises(LearnerError, match="timeout"):
        call(process, "endless", timeout_s=0.5)
    assert call(process, "quick") == 1


def test_a_cell_that_floods_is_stopped():
    with started(Limits(cell_s=60, grace_s=30, output_bytes=2**20)) as process:
        run = process.run_cell("while True: print('x' * 10_000)")
    assert run.status == "flood"
    assert sum(len(output.get("text", "")) for output in run.outputs) < 2**17


@pytest.mark.parametrize(
    "fatal",
    [
        "import os; os._exit(0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    ],
    ids=["exit", "crash", "ignores the interrupt", "stops itself"],
)
def test_a_death_is_seen_and_leaves_nothing_behind(fatal):
    with started(Limits(cell_s=1, grace_s=0.5)) as process:
        assert process.run_cell(fatal).status == "died"
        assert process.run_cell("1").status == "died"
        with pytest.raises(LearnerError, match="died"):
            KernelLearner(process.ask, "here", 1.0).call("f")
        with pytest.raises(ProcessDiedError):
            process.checkpoint("here")
        home = process.folder.parent
    assert not home.exists()


def test_their_children_end_with_it():
    with started() as process:
        run = process.run_cell("import subprocess\nsubprocess.Popen(['sleep', '60']).pid")
        child = int(text_of(run))
        assert Path(f"/proc/{child}").exists()
    assert not alive(child)


def alive(pid):
    with contextlib.suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] not in "ZX"
    return False


def test_what_the_kernel_is_told_to_answer_is_only_an_answer(process):
    """Whoever rewrites the harness in their process chooses what is sent, and nothing else."""
    with started() as own:
        own.run_cell(
            "import sys\nactive = sys.modules['graders.harness'].active\n"
            "active.call_encoded = lambda request: 'rubbish'\ndef f(): return 1"
        )
        with pytest.raises(LearnerError, match="garbled"):
            call(own, "f")


def test_the_runner_keeps_the_next_process_ready_and_ends_it():
    runner = KernelRunner(PATIENT)
    process = runner.start("pt")
    folder, spare = process.folder, runner._spare
    try:
        assert folder.is_dir()
        assert "Ignorado na avaliação" in text_of(process.run_cell("!x"))
    finally:
        process.close()
        runner.close()
    assert not folder.exists()
    assert not spare.folder.exists()


def test_folders_without_end_are_no_trouble():
    with started() as process:
        run = process.run_cell(
            "import os\nfor _ in range(1200):\n    os.mkdir('d')\n    os.chdir('d')\nos.chmod('.', 0)\n'made'"
        )
        assert text_of(run) == "'made'"
        home = process.folder.parent
    assert not home.exists()
