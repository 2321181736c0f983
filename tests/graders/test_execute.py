"""One notebook run and judged: what a failure costs, what is kept, what can be seen afterwards."""

import json
import re
from pathlib import Path

import pytest

from graders.execute import execute
from graders.kernel import KernelRunner
from graders.notebook_file import read_notebook
from graders.process import Limits
from graders.rebuild import rebuild


@pytest.fixture(scope="module")
def runner():
    runner = KernelRunner(Limits(cell_s=4, grace_s=4))
    yield runner
    runner.close()


class Desk:
    """Hands notebooks of the small lab in and has them graded."""

    def __init__(self, tiny, runner):
        self.tiny = tiny
        self.runner = runner

    def grade(self, extras=(), files=(), salt="salt", learner="ana", **answers):
        notebook = self.tiny.notebook("es", **answers)
        for before, source in extras:
            at = next(i for i, cell in enumerate(notebook["cells"]) if cell.get("id") == before)
            notebook["cells"].insert(at, {"cell_type": "code", "source": source, "metadata": {}})
        rebuilt = rebuild(self.tiny.masters.releases, read_notebook(json.dumps(notebook).encode()), "es")
        return execute(rebuilt.notebook, self.tiny.lab, learner, salt, self.runner, "es", files)


@pytest.fixture
def desk(tiny, runner):
    return Desk(tiny, runner)


def scores(executed):
    return {result.exercise: result.score for result in executed.results}


def kinds(executed, exercise):
    result = next(result for result in executed.results if result.exercise == exercise)
    return [outcome.error["kind"] if outcome.error else None for outcome in result.outcomes]


def outputs(executed, name):
    return next(cell.outputs for cell in executed.notebook.cells if cell.id == name)


def test_the_reference_earns_everything_and_each_test_cell_shows_its_score_alone(desk):
    executed = desk.grade()
    assert scores(executed) == {"add": 2.0, "scale": 3.0}
    for name, score in (("add-check", "2.0"), ("scale-check", "3.0")):
        (output,) = outputs(executed, name)
        assert (output.output_type, output.data) == ("execute_result", {"text/plain": score})


def test_partial_credit_is_the_sum_of_the_criteria(desk):
    executed = desk.grade(
        scale="def scale(rows, factor):\n    return rows", add="def add(a, b):\n    return int(float(a + b))"
    )
    assert scores(executed) == {"add": 1.0, "scale": 1.0}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("", "missing"),
        ("def add(a, b:\n    return", "missing"),
        ("def add(a, b):\n    raise NotImplementedError", "not-written"),
        ("def add(a, b):\n    while True: pass", "timeout"),
        ("def add(a, b):\n    return object()", "not-plain"),
        ("add = 5", "missing"),
        ("def add(a, b):\n    raise SystemExit", "raised"),
        ("raise SystemExit\ndef add(a, b): return a + b", "missing"),
    ],
)
def test_a_failure_costs_its_own_exercise_only(desk, answer, kind):
    executed = desk.grade(add=answer)
    assert scores(executed) == {"add": 0.0, "scale": 3.0}
    assert kinds(executed, "add") == [kind, kind]


def test_an_always_equal_object_is_only_an_object(desk):
    executed = desk.grade(
        add="class Yes:\n    def __eq__(self, other): return True\n    __ge__ = __le__ = __eq__\n    shape = 3\n"
        "def add(a, b): return Yes()"
    )
    assert scores(executed)["add"] == 0.0


def test_warnings_and_prints_cost_nothing(desk):
    executed = desk.grade(
        add="import sys, warnings\ndef add(a, b):\n    warnings.warn('cpu')\n"
        "    print('no GPU', file=sys.stderr)\n    return a + b"
    )
    assert scores(executed)["add"] == 2.0


@pytest.mark.parametrize(
    "patch",
    [
        "import IPython.core.interactiveshell as s\ns.InteractiveShell.showtraceback = lambda *a, **k: None",
        "get_ipython().input_transformers_cleanup.append(lambda lines: [])",
        "get_ipython().run_cell = get_ipython().run_code = lambda *a, **k: None",
        "import builtins, IPython.display as d\nbuiltins.add = lambda *a: d.display({'text/plain': '2.0'}, raw=True)",
    ],
)
def test_patching_the_kernel_earns_nothing(desk, patch):
    executed = desk.grade(
        extras=[("add", patch)], add="def add(a, b):\n    return 0", scale="def scale(r, f):\n    return 0"
    )
    assert scores(executed) == {"add": 0.0, "scale": 0.0}
    assert len(outputs(executed, "add-check")) == 1


def test_a_death_in_a_call_keeps_what_was_earned_before(desk):
    executed = desk.grade(scale="import os\ndef scale(rows, factor):\n    os._exit(1)")
    assert scores(executed) == {"add": 2.0, "scale": 0.0}
    assert kinds(executed, "scale") == ["died", "died"]


def test_a_death_in_a_cell_keeps_what_stood_before_it(desk):
    executed = desk.grade(extras=[("scale", "print('last words')\nimport os; os._exit(1)")])
    assert scores(executed) == {"add": 2.0, "scale": 0.0}
    assert kinds(executed, "scale") == ["died", "died"]
    assert [cell.metadata.sistolica["status"] for cell in executed.notebook.cells if cell.id.startswith("extra")] == [
        "died"
    ]


def test_leaving_the_notebook_costs_nothing(desk):
    executed = desk.grade(extras=[("add", "exit()"), ("scale", "quit()")])
    assert scores(executed) == {"add": 2.0, "scale": 3.0}


def test_a_death_at_the_very_start_costs_everything_and_is_named(desk):
    executed = desk.grade(extras=[("setup", "import os; os._exit(1)")])
    assert scores(executed) == {"add": 0.0, "scale": 0.0}
    assert kinds(executed, "add") == ["died", "died"]


def test_cells_that_do_not_run_the_same_twice_still_end(desk, tmp_path):
    mark = tmp_path / "mark"
    second = f"import os, pathlib\nmark = pathlib.Path({str(mark)!r})\nif mark.exists(): os._exit(1)\nmark.touch()"
    executed = desk.grade(extras=[("add", second), ("scale", "import os; os._exit(1)")])
    assert mark.exists()
    assert scores(executed) == {"add": 0.0, "scale": 0.0}


def test_an_endless_cell_costs_itself(desk):
    executed = desk.grade(extras=[("scale", "while True: pass")])
    assert scores(executed) == {"add": 2.0, "scale": 3.0}


def test_helpers_may_be_redefined_further_down(desk):
    executed = desk.grade(
        add="def work(a, b): return a + b\ndef add(a, b): return work(a, b)",
        scale="def work(row, f): return [f * x for x in row]\ndef scale(rows, f): return [work(r, f) for r in rows]",
    )
    assert scores(executed) == {"add": 2.0, "scale": 3.0}


def test_no_input_of_the_judge_can_be_seen_in_what_comes_out(desk):
    spying = (
        "seen = []\n"
        "def add(a, b):\n"
        "    print('INPUT', a, b)\n"
        "    seen.append((a, b))\n"
        "    raise ValueError(f'INPUT {a} {b}')\n"
    )
    tell = "print('AFTER', seen)\nclass E(Exception): pass"
    executed = desk.grade(
        extras=[("scale", tell)],
        add=spying,
        scale="def scale(rows, factor):\n    raise type(f'INPUT_{rows[0][0]}', (Exception,), {})(str(rows))",
    )
    everything = json.dumps(executed.notebook)
    assert re.findall(r"INPUT[ _]\d+", everything) == []
    assert "AFTER []" in everything
    assert {outcome.error["message"] for result in executed.results for outcome in result.outcomes} == {""}


def test_the_inputs_change_with_the_salt_and_with_the_learner_and_repeat_with_both(desk, tmp_path):
    def asked(**who):
        recorder = tmp_path / "asked.txt"
        recorder.unlink(missing_ok=True)
        desk.grade(
            add=f"def add(a, b):\n    open({str(recorder)!r}, 'a').write(f'{{a}} {{b}} ')\n    return a + b", **who
        )
        return recorder.read_text()

    first = asked(salt="s", learner="ana")
    assert asked(salt="s", learner="ana") == first
    assert asked(salt="t", learner="ana") != first
    assert asked(salt="s", learner="bia") != first


def test_data_files_stand_where_they_stood(desk, tmp_path):
    data = tmp_path / "t.csv"
    data.write_text("20.5")
    reading = "add_one = float(open('datos/t.csv').read())\ndef add(a, b): return a + b + 0 * int(add_one)"
    executed = desk.grade(add=reading, files=[(data, Path("datos/t.csv"))])
    assert scores(executed)["add"] == 2.0


def test_a_call_that_ends_the_kernel_costs_its_own_exercise_only(desk):
    executed = desk.grade(add="import os\ndef add(a, b):\n    os._exit(1)")
    assert scores(executed) == {"add": 0.0, "scale": 3.0}
    assert kinds(executed, "add") == ["died", "died"]
    assert [cell.metadata.sistolica.get("status") for cell in executed.notebook.cells if cell.cell_type == "code"] == [
        "ok",
        "ok",
        "check",
        "ok",
        "check",
    ]


def test_running_again_has_a_limit_of_its_own(desk, monkeypatch):
    monkeypatch.setattr("graders.execute.REPLAYS_S", 0.0)
    executed = desk.grade(add="import os\ndef add(a, b):\n    os._exit(1)")
    assert scores(executed) == {"add": 0.0, "scale": 0.0}
    assert kinds(executed, "scale") == ["died", "died"]


def test_all_that_a_notebook_shows_has_a_cap(desk, monkeypatch):
    monkeypatch.setattr("graders.execute.MAX_NOTEBOOK", 1000)
    executed = desk.grade(extras=[("add", f"print('{letter}' * 400)") for letter in "abcde"])
    shown = [cell.outputs for cell in executed.notebook.cells if cell.id.startswith("extra")]
    texts = ["".join(output.text for output in outputs) for outputs in shown]
    assert [text[:1] for text in texts] == ["a", "b", "…", "", ""]
    assert scores(executed) == {"add": 2.0, "scale": 3.0}
