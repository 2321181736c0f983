"""The matmul lab: what its checks make of its solutions, and of anything else, in this process."""

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

from graders.judge import judge
from graders.lab import read_lab
from graders.learner import NamespaceLearner
from graders.seed import PUBLISHED_SALT, generator
from sistolica.lesson.lab import handed_in, lab_notebook, wrong_solutions
from sistolica.project import find_project

PROJECT = find_project(Path(__file__))
LAB = read_lab("matmul", PROJECT.labs)
WRONG = wrong_solutions(PROJECT, "matmul")


def fails(name: str) -> frozenset[str]:
    """What the header of a wrong solution says that it fails."""
    text = (LAB.folder / "wrong" / f"{name}.py").read_text(encoding="utf-8")
    return frozenset(re.search(r"^# fails: (.+)$", text, re.MULTILINE)[1].split(", "))


def namespace(lang: str, answers: dict[str, str]) -> dict:
    """The names that the notebook's own cells define, without a kernel; a cell that fails defines nothing more."""
    names: dict = {"__name__": "__main__", "check": lambda exercise: None}
    for cell in handed_in(PROJECT, "matmul", lang, answers).cells:
        if cell.cell_type == "code" and cell.id != "setup":
            source = cell.source
        elif cell.cell_type == "code":
            source = "import jax, jax.numpy as jnp, numpy as np"
        else:
            continue
        try:
            exec(source, names)
        except (SyntaxError, NameError, NotImplementedError):
            continue
    return names


def failing(results) -> frozenset[str]:
    return frozenset(
        f"{result.exercise}.{one.criterion}" for result in results for one in result.outcomes if not one.passed
    )


def test_there_are_wrong_solutions_of_every_kind():
    assert len(WRONG) >= 8
    assert {"empty", "syntax_error", "hard_coded", "infinite_loop", "mutates_inputs", "wrong_values"} <= set(WRONG)
    assert LAB.points == 10


def test_knowing_the_published_answers_passes_the_self_check_and_nothing_else():
    learner = NamespaceLearner(namespace("es", WRONG["hard_coded"]))
    assert judge(LAB, "naive", learner, generator("matmul", "", "naive", PUBLISHED_SALT)).score == 2.5
    assert judge(LAB, "naive", learner, generator("matmul", "", "naive", "another")).score == 0


@pytest.mark.parametrize("name", sorted(set(WRONG) - {"infinite_loop", "hard_coded"}))
def test_the_self_check_finds_what_the_grader_finds(name):
    learner = NamespaceLearner(namespace("pt", WRONG[name]))
    results = [judge(LAB, key, learner, generator("matmul", "", key, PUBLISHED_SALT)) for key in LAB.exercises]
    assert [result.fault for result in results] == [None] * 4
    assert failing(results) == fails(name)


def test_no_luck_of_the_draw_changes_a_verdict():
    right, edges = (NamespaceLearner(namespace("es", answers)) for answers in ({}, WRONG["ragged_edges"]))
    narrow, mutates = (
        NamespaceLearner(namespace("es", WRONG[name])) for name in ("narrow_accumulator", "mutates_inputs")
    )
    for salt in range(20):

        def verdict(key, learner, salt=salt):
            return failing([judge(LAB, key, learner, generator("matmul", "x", key, str(salt)))])

        assert {key: verdict(key, right) for key in LAB.exercises} == dict.fromkeys(LAB.exercises, frozenset())
        assert verdict("blocked", edges) == {"blocked.edges"}
        assert verdict("blocked", narrow) == {"blocked.accumulation"}
        assert verdict("jax", narrow) == {"jax.accumulation"}
        assert verdict("naive", mutates) == {"naive.inputs"}


@pytest.mark.parametrize(
    "value", [None, 1, "x", [], [[]], [[None]], [["a"]], {"a": 1}, np.float32(2), np.zeros((0, 3)), [[2.5]]]
)
@pytest.mark.parametrize("exercise", LAB.exercises)
def test_whatever_a_learner_returns_is_judged_and_never_breaks_the_check(exercise, value):
    names = dict.fromkeys(["naive_matmul", "blocked_matmul", "jax_matmul", "flops"], lambda *args: value)
    result = judge(LAB, exercise, NamespaceLearner(names), generator("matmul", "", exercise, "x"))
    assert (result.fault, result.score) == (None, 0.0)


def test_nothing_released_holds_a_solution_or_an_input():
    rng = generator("matmul", "", "naive", PUBLISHED_SALT)
    first = rng.integers(-9, 9, (2, 3), endpoint=True).tolist()
    for lang in ("es", "pt"):
        released = nbformat.writes(lab_notebook(PROJECT, "matmul", lang, "release"))
        for solved in ("SOLUTION", "product[i", "accumulator", "* m * k", "jnp.matmul(a"):
            assert solved not in released
        assert str(first) not in released


def test_the_checks_tell_nothing_of_an_input_in_a_hint():
    for key, texts in LAB.phrase.entries.items():
        for text in texts.values():
            assert "{" not in text, f"{key} has a placeholder: make sure that no input fills it, then list it here"
