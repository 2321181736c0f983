"""The zygote and the nursery: what they import, what they hold, what is done when one is lost."""

import contextlib
import dataclasses
import os
import select
import signal
from pathlib import Path

import pytest

from graders.execute import execute
from graders.kernel import KernelRunner
from graders.lab import read_lab
from graders.learner import ProcessDiedError
from graders.process import Limits, RunnerLostError
from graders.sandbox import choice, nursery
from graders.sandbox.choice import NotContainedError, ground
from graders.sandbox.compiled import warm
from graders.sandbox.confinement import ConfinementError
from graders.sandbox.imports import imported
from graders.sandbox.nursery import Nursery
from graders.sandbox.permitted import Missing, permitted
from sistolica.lesson.lab import handed_in, wrong_solutions
from sistolica.project import find_project

PROJECT = find_project(Path(__file__))
LAB = read_lab("matmul", PROJECT.labs)
WRONG = wrong_solutions(PROJECT, "matmul")
LIMITS = Limits(cell_s=60, grace_s=30)


def text_of(run):
    return "".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in run.outputs)


def lose(made, process):
    """Kill the zygote and wait until the learner's process is gone too."""
    os.kill(made._zygote._process.pid, signal.SIGKILL)
    assert select.select([process._death], [], [], 60)[0]


@pytest.fixture(scope="module")
def own(place, tmp_path_factory):
    """A nursery that these tests may spoil, and what it said."""
    said = []
    with Nursery(place.confinement, ["tests_no_such_module"], LIMITS, say=lambda *words: said.append(words)) as made:
        yield made, said


def test_a_zygote_that_is_lost_is_replaced_and_the_notebook_runs_again(own, tiny):
    made, said = own
    runner = made.runner()
    first = iter([True])

    class Losing:
        def start(self, lang, files=()):
            process = runner.start(lang, files)
            if next(first, False):
                lose(made, process)
            return process

    done = execute(handed_in(tiny.project, "tiny", "es"), tiny.lab, "ana", "salt", Losing(), "es")
    assert sum(result.score for result in done.results) == tiny.lab.points
    assert said == [("nursery.lost", {"count": 1, "most": nursery.MAX_LOST})]


def test_a_zygote_lost_in_a_call_is_no_fault_of_the_check(own, tiny):
    made, _ = own
    runner = made.runner()
    first = iter([True])

    class Losing:
        def start(self, lang, files=()):
            process = runner.start(lang, files)
            if next(first, False):
                real = process.ask

                def ask(request, timeout_s):
                    process.ask = real
                    lose(made, process)
                    return real(request, timeout_s)

                process.ask = ask
            return process

    done = execute(handed_in(tiny.project, "tiny", "es"), tiny.lab, "ana", "salt", Losing(), "es")
    assert [result.fault for result in done.results] == [None, None]
    assert sum(result.score for result in done.results) == tiny.lab.points


def test_learners_die_with_their_zygote(own):
    made, _ = own
    process = made.runner().start("es")
    lose(made, process)
    with pytest.raises(RunnerLostError):
        process.run_cell("1")
    with pytest.raises(ProcessDiedError):
        process.checkpoint("here")
    process.close()


def test_too_many_lost_are_the_end(own, monkeypatch):
    made, _ = own
    process = made.runner().start("es")
    monkeypatch.setattr(nursery, "MAX_LOST", 0)
    lose(made, process)
    with pytest.raises(RunnerLostError):
        process.run_cell("1")
    process.close()
    with pytest.raises(RunnerLostError, match="one after the other"):
        made.runner().start("es")


def test_a_module_that_starts_something_is_left_out_and_said(place, tmp_path, monkeypatch):
    (tmp_path / "starts_a_thread.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(9,)).start()"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    said = []
    with Nursery(place.confinement, ["starts_a_thread"], LIMITS, say=lambda *words: said.append(words)) as made:
        process = made.runner().start("es")
        assert process.run_cell("1").status == "ok"
        process.close()
    assert said == [("nursery.left-out", {"module": "starts_a_thread"})]


def test_what_a_labs_cells_import_is_found(tiny):
    assert imported([handed_in(PROJECT, "matmul", "es")]) == [
        "jax",
        "jax.numpy",
        "numpy",
        "tpu_kernels",
        "tpu_kernels.messages",
        "tpu_kernels.models",
        "tpu_kernels.models.hardware",
    ]
    assert imported(tiny.masters.releases.values()) == ["tpu_kernels", "tpu_kernels.messages"]


def test_the_zygote_has_imported_it_run_nothing_and_kept_no_environment(place):
    process = place.nursery.runner(LIMITS).start("es")
    with contextlib.closing(process):
        imported = "[name in sys.modules for name in ('jax', 'numpy', 'matplotlib')]"
        assert text_of(process.run_cell(f"import sys\n{imported}")) == "[True, True, False]"
        assert text_of(process.run_cell("sys.modules['jax._src.xla_bridge']._backends")) == "{}"
        assert text_of(process.run_cell("import threading\nthreading.active_count()")) == "1"
        assert process.run_cell("import gc\nassert gc.get_freeze_count() > 100_000").status == "ok"


def test_a_lab_that_draws_has_what_draws_imported(place):
    with Nursery(place.confinement, ["matplotlib"], LIMITS) as made:
        process = made.runner().start("es")
        with contextlib.closing(process):
            names = "('matplotlib.pyplot', 'matplotlib_inline.backend_inline')"
            assert text_of(process.run_cell(f"import sys\n[name in sys.modules for name in {names}]")) == "[True, True]"


def test_nobody_writes_compiled_programs_but_the_reference(place):
    warm(place.nursery, place.confinement, LAB, handed_in(PROJECT, "matmul", "es"), "es")
    folder = Path(place.confinement.cache)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert any(name.startswith("jit_jax_matmul") for name in before)
    process = place.nursery.runner(LIMITS).start("es")
    with contextlib.closing(process):
        run = process.run_cell(
            f"import os, jax, jax.numpy as jnp\nfolder = {str(folder)!r}\n"
            "jax.config.update('jax_persistent_cache_min_compile_time_secs', 0.0)\n"
            "x = jax.jit(lambda x: jnp.sin(x) @ x)(jnp.ones((7, 7))).block_until_ready()\n"
            "for act in (\n"
            "    lambda: open(folder + '/mine-cache', 'w'), lambda: os.remove(folder + '/' + os.listdir(folder)[0]),\n"
            "    lambda: os.chmod(folder, 0o777), lambda: os.rename(folder, folder + '2'),\n"
            "):\n"
            "    try: act(); print('done')\n"
            "    except OSError: print('refused')"
        )
    if place.confinement.kind == "limits":  # its notice says that files of the same user are open to it
        return
    assert text_of(run).count("refused") == 4
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_programs_of_the_reference_are_found_by_others(place):
    warm(place.nursery, place.confinement, LAB, handed_in(PROJECT, "matmul", "es"), "es")
    process = place.nursery.runner(LIMITS).start("es")
    with contextlib.closing(process):
        process.run_cell("import jax, jax.numpy as jnp, logging\nlogging.getLogger('jax._src.compiler').setLevel(10)")
        run = process.run_cell(
            "logging.basicConfig()\n@jax.jit\ndef jax_matmul(a, b):\n"
            "    return jnp.matmul(a, b, preferred_element_type=jnp.float32)\n"
            "import numpy as np\njax_matmul(np.ones((9, 17), np.float32), np.ones((17, 5), np.float32)).shape"
        )
    assert "cache hit for 'jit_jax_matmul'" in text_of(run)


def test_only_plain_files_with_the_name_of_a_program_are_kept(place, tmp_path):
    from graders.sandbox.compiled import _keep

    staging, folder = tmp_path / "staging", tmp_path / "kept"
    staging.mkdir()
    folder.mkdir()
    digest = "0" * 64
    (staging / f"jit_f-{digest}-cache").write_bytes(b"program")
    (staging / f"jit_link-{digest}-cache").symlink_to("/etc/passwd")
    os.mkfifo(staging / f"jit_pipe-{digest}-cache")
    (staging / "evil.py").write_text("x")
    _keep(staging, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {f"jit_f-{digest}-cache": b"program"}


@pytest.mark.parametrize(
    ("lang", "names"),
    [("es", ["reference", *WRONG]), ("pt", ["reference", "raises", "syntax_error", "narrow_accumulator"])],
)
def test_grades_are_those_of_a_plain_kernel(place, lang, names):
    """Code is the same in both languages but for comments, so one of them is compared in full."""
    kernel = KernelRunner()
    contained = place.nursery.runner()
    try:
        for name in names:
            notebook = handed_in(PROJECT, "matmul", lang, WRONG.get(name, {}))
            one, other = (execute(notebook, LAB, name, "salt", runner, lang).results for runner in (kernel, contained))
            assert [result.to_dict() for result in one] == [result.to_dict() for result in other], name
    finally:
        kernel.close()


def test_what_is_missing_is_said_or_refused(monkeypatch):
    lacking = permitted().__class__("limits", (), None, (Missing("sandbox.no-network", "no reason"),))
    monkeypatch.setattr(choice, "permitted", lambda: lacking)
    said = []
    with ground(said.append, "pt", backend="cpu") as place:
        assert place.confinement.kind == "limits"
    assert len(said) == 1
    assert "no reason" in said[0]
    with (
        pytest.raises(NotContainedError, match="--require-sandbox foi pedido"),
        ground(said.append, "pt", required=True),
    ):
        pytest.fail("it was started")
    assert len(said) == 1


def test_another_system_gets_a_kernel_and_is_told(monkeypatch):
    monkeypatch.setattr(choice.sys, "platform", "darwin")
    said = []
    with ground(said.append, "es") as place:
        assert isinstance(place.new_runner(), KernelRunner)
    assert "darwin" in said[0]
    with pytest.raises(NotContainedError), ground(said.append, "es", required=True):
        pytest.fail("it was started")


def test_a_zygote_that_cannot_start_says_why(place, monkeypatch):
    monkeypatch.setattr(nursery, "_START", "import json, socket, sys\nraise SystemExit")
    with Nursery(place.confinement) as made, pytest.raises(RunnerLostError):
        made.runner().start("es")
    monkeypatch.undo()
    broken = dataclasses.replace(place.confinement, read_only=("/no/such",))
    with Nursery(broken) as made, pytest.raises(ConfinementError, match="no/such"):
        made.runner().start("es")
