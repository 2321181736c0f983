"""The grader beside nbgrader: what is counted, what is graded, how it is told."""

import io
import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from graders.lab import read_lab
from sistolica.bench.cost import Cost, cost_of
from sistolica.bench.grader import BenchError, Measured, Plan
from sistolica.bench.sample import EXITS, LEFT_OUT, RIGHT, sample
from sistolica.bench.stock import judging_itself
from sistolica.commands import bench_grader as command
from sistolica.lesson.lab import handed_in, lab_notebook, wrong_solutions
from sistolica.project import find_project

PROJECT = find_project(Path(__file__))
LAB = read_lab("matmul", PROJECT.labs)
BURN = "import time\nwhile time.process_time() < 0.3: pass\n"
ORPHAN = f"import os, time\nif os.fork(): os._exit(0)\nos.setsid()\n{BURN}"  # nobody waits for it


def test_every_process_counts_also_one_that_nobody_waits_for(tmp_path):
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', sys.argv[1]])\n{BURN}print('done')"
    cost, said = cost_of([sys.executable, "-c", code, ORPHAN], tmp_path, {})
    assert (cost.status, said) == (0, "done\n")
    assert cost.cpu_s >= 0.6
    assert cost.wall_s > 0


def test_a_command_that_fails_says_so_and_what_it_printed(tmp_path):
    code = "import os, sys\nprint(os.environ['WORD'], os.getcwd(), file=sys.stderr)\nsys.exit(3)"
    cost, said = cost_of([sys.executable, "-c", code], tmp_path, {"WORD": "word"})
    assert (cost.status, said) == (3, f"word {tmp_path}\n")


def test_a_command_that_is_not_there_cannot_be_metered(tmp_path):
    with pytest.raises(ChildProcessError, match="no-such-program"):
        cost_of(["no-such-program"], tmp_path, {})


def test_the_same_submissions_each_time_of_every_kind_in_both_languages():
    first, second = (sample(PROJECT, "matmul", 20) for _ in range(2))
    assert first == second
    assert len({one.learner for one in first}) == 20
    kinds = Counter(one.kind for one in first)
    assert kinds[EXITS] == kinds["syntax_error"] == 1
    assert kinds[RIGHT] >= 5
    assert len(kinds) >= 6
    assert not LEFT_OUT & set(kinds)
    assert Counter(one.notebook.metadata.sistolica.lang for one in first) == {"es": 10, "pt": 10}


@pytest.mark.parametrize(("name", "scores"), [("", [2.5, 4.0, 2.5, 1.0]), ("wrong_dtype", [2.5, 3.5, 1.0, 1.0])])
def test_in_the_stock_course_a_test_cell_judges_and_its_value_is_the_score(name, scores):
    answers = wrong_solutions(PROJECT, "matmul")[name] if name else {}
    notebook = judging_itself(LAB, handed_in(PROJECT, "matmul", "pt", answers))
    names, found = {"__name__": "__main__"}, []
    for cell in notebook.cells:
        if cell.cell_type == "code" and LAB.exercise_of(cell.id):
            found.append(eval(cell.source, names))
        elif cell.cell_type == "code":
            exec(cell.source, names)
    assert found == scores


def test_stock_cells_are_the_labs_otherwise():
    source = lab_notebook(PROJECT, "matmul", "es", "source")
    changed = judging_itself(LAB, source)
    pairs = zip(source.cells, changed.cells, strict=True)
    assert {own.id for own, other in pairs if own != other} == {f"{key}-check" for key in LAB.exercises}


PLAN = Plan("matmul", submissions=20, calls=2, workers=(1, 2), larger=100)
MEASURED = Measured(
    PLAN,
    first=Cost(9.0, 8.0, 0),
    batch=Cost(80.0, 70.0, 1),
    calls=[Cost(8.0, 6.0, 0), Cost(9.0, 8.0, 1)],
    ours={1: Cost(9.0, 7.0, 0), 2: Cost(6.0, 8.0, 0)},
    larger={1: Cost(29.0, 32.0, 0), 2: Cost(16.0, 33.0, 0)},
    differing=[],
    ungraded=["learner-007"],
    load=(1.0, 2.5),
    versions={"python": "3"},
)


def told(monkeypatch, plan=PLAN, measured=MEASURED, json_only=False):
    def bench(project, plan, step):
        step("bench.warming")
        if isinstance(measured, Exception):
            raise measured
        return measured

    monkeypatch.setattr(command, "bench_grader", bench)
    console, complaints = (Console(file=io.StringIO(), width=120) for _ in range(2))
    status = command.measure_grader(PROJECT, console, complaints, plan, json_only)
    return status, console.file.getvalue(), complaints.file.getvalue()


def test_the_last_line_is_json_with_the_ratios(monkeypatch):
    status, said, complaints = told(monkeypatch)
    found = json.loads(said.splitlines()[-1])
    assert (status, complaints) == (0, "")
    assert found["cpu_s_per_submission"] == pytest.approx(0.35)
    assert found["ratio_cpu_batch"] == pytest.approx(10)
    assert found["ratio_cpu_cli"] == pytest.approx(20)
    assert found["throughput"] == {"1": pytest.approx(4), "2": pytest.approx(8)}
    assert found["throughput_ratio"] == pytest.approx(2)
    assert (found["nbgrader_cli_calls"], found["first_grading_cpu_s"], found["load"]) == (2, 8.0, [1.0, 2.5])
    assert (found["scores_differ"], found["nbgrader_left_ungraded"]) == ([], ["learner-007"])


def test_the_table_says_each_way_and_what_is_not_in_it_is_said_below(monkeypatch):
    _, said, _ = told(monkeypatch)
    (ours,) = [line for line in said.splitlines() if "--workers 2" in line and "20" in line.split()]
    assert {"0,40", "0,30", "1,14"} <= set(ours.split())
    assert "Ya en marcha, con --workers 2: 8,00 entregas por segundo." in said
    assert "nbgrader dejó sin calificar learner-007." in said
    assert len(told(monkeypatch, json_only=True)[1].splitlines()) == 1


def test_what_was_left_out_is_left_out(monkeypatch):
    plan = replace(PLAN, calls=0, larger=0)
    found = json.loads(
        told(monkeypatch, measured=replace(MEASURED, plan=plan, calls=[], larger={}))[1].splitlines()[-1]
    )
    assert (found["ratio_cpu_cli"], found["throughput"], found["throughput_ratio"]) == (None, {}, None)
    assert (PLAN.steps, plan.steps) == (9, 5)


def test_scores_that_differ_end_in_one(monkeypatch):
    status, said, _ = told(monkeypatch, measured=replace(MEASURED, differing=["learner-003"]))
    assert status == 1
    assert "Las notas de nbgrader son otras en learner-003." in said


def test_a_grading_that_fails_is_said(monkeypatch):
    assert told(monkeypatch, measured=BenchError("grade ended with 1")) == (
        1,
        "",
        "no se pudo medir: grade ended with 1\n",
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"lab_id": "nada"}, "no hay ningún laboratorio 'nada'"),
        ({"workers": (2, 0)}, "--workers 2,0"),
        ({"workers": ()}, "--workers"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_runs(monkeypatch, wrong, said):
    status, printed, complaints = told(monkeypatch, plan=replace(PLAN, **wrong), measured=AssertionError("it ran"))
    assert (status, printed) == (2, "")
    assert said in complaints
