"""The matmul lab graded: the reference earns everything, each wrong solution loses what its header says."""

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
import numpy as np
import pytest
from rich.console import Console

from graders.judge import judge
from graders.lab import read_lab
from graders.learner import NamespaceLearner
from graders.seed import PUBLISHED_SALT, generator
from sistolica.commands.grade import grade
from sistolica.lesson.lab import handed_in, lab_notebook, wrong_solutions
from sistolica.project import find_project

PROJECT = find_project(Path(__file__))
LAB = read_lab("matmul", PROJECT.labs)
WRONG = wrong_solutions(PROJECT, "matmul")
ALL = {f"{key}.{criterion}": points for key, e in LAB.exercises.items() for criterion, points in e.criteria.items()}


@dataclass(frozen=True)
class Expected:
    """What the header of a wrong solution says."""

    score: float
    fails: frozenset[str]


def expected(name: str) -> Expected:
    header = dict(re.findall(r"^# (why|score|fails): (.+)$", (LAB.folder / "wrong" / f"{name}.py").read_text(), re.M))
    return Expected(float(header["score"]), frozenset(header["fails"].split(", ")))


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


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The reference and every wrong solution, each handed in in both languages, through the whole command."""
    folder = tmp_path_factory.mktemp("entregas")
    for lang in ("es", "pt"):
        for name, answers in {"reference": {}, **WRONG}.items():
            path = folder / f"{name}.{lang}" / "matmul.ipynb"
            path.parent.mkdir()
            path.write_text(nbformat.writes(handed_in(PROJECT, "matmul", lang, answers)), encoding="utf-8")
    out = tmp_path_factory.mktemp("notas")
    console = Console(file=io.StringIO())
    status = grade(PROJECT, folder, "matmul", out, console, console, lang="es", workers=2)
    with (out / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["learner"]: row for row in csv.DictReader(file)}
    return status, rows, out


def test_there_are_wrong_solutions_of_every_kind():
    assert len(WRONG) >= 8
    assert {"empty", "syntax_error", "hard_coded", "infinite_loop", "mutates_inputs", "wrong_values"} <= set(WRONG)
    assert LAB.points == 10


def test_every_criterion_is_failed_by_some_wrong_solution():
    assert frozenset.union(*(expected(name).fails for name in WRONG if name not in ("empty", "not_written"))) == set(
        ALL
    )


@pytest.mark.parametrize("name", WRONG)
def test_headers_add_up(name):
    said = expected(name)
    assert said.fails <= set(ALL)
    assert said.score == LAB.points - sum(ALL[criterion] for criterion in said.fails)


@pytest.mark.parametrize("lang", ["es", "pt"])
def test_the_reference_earns_everything(graded, lang):
    status, rows, _ = graded
    row = rows[f"reference.{lang}"]
    assert (row["score"], row["max_score"], row["status"], row["message"], row["language"]) == (
        "10",
        "10",
        "ok",
        "",
        lang,
    )
    assert status == 0


@pytest.mark.parametrize("lang", ["es", "pt"])
@pytest.mark.parametrize("name", WRONG)
def test_each_wrong_solution_earns_exactly_what_it_should(graded, name, lang):
    _, rows, out = graded
    said, row = expected(name), rows[f"{name}.{lang}"]
    assert (float(row["score"]), row["status"], row["language"]) == (said.score, "ok", lang)
    for key, exercise in LAB.exercises.items():
        lost = sum(ALL[one] for one in said.fails if one.startswith(f"{key}."))
        assert float(row[key]) == exercise.points - lost
    page = (out / "feedback" / f"{name}.{lang}.html").read_text(encoding="utf-8")
    marks = re.findall(r'<td class="(good|bad)">', page)
    assert marks == ["bad" if criterion in said.fails else "good" for criterion in ALL]


def test_a_syntax_error_is_named_with_its_line(graded):
    _, _, out = graded
    page = (out / "feedback" / "syntax_error.pt.html").read_text(encoding="utf-8")
    assert "A célula blocked terminou com um erro: SyntaxError: &#39;(&#39; was never closed (linha 2)" in page.replace(
        "&#x27;", "&#39;"
    )


@pytest.mark.parametrize(
    ("name", "es", "pt"),
    [
        ("transposed", "traspuestos", "transpostos"),
        ("ragged_edges", "pierdes el último tramo", "perde o último trecho"),
        ("wrong_dtype", "Sin <code>dtype</code>, numpy crea float64", "Sem <code>dtype</code>, o numpy cria float64"),
        ("narrow_accumulator", "cambia el tipo, pero no devuelve los bits", "muda o tipo, mas não devolve os bits"),
        ("integer_overflow", "Con int8 la suma se desborda", "Com int8 a soma estoura"),
        ("mutates_inputs", "la segunda llamada no da el mismo producto", "a segunda chamada não dá o mesmo produto"),
        ("counts_multiplications", "Contaste solo las multiplicaciones", "Você contou só as multiplicações"),
        ("infinite_loop", "superó el tiempo permitido", "passou do tempo permitido"),
        ("not_written", "todavía no está escrita", "ainda não foi escrita"),
        ("raises", "IndexError (línea 3", "IndexError (linha 3"),
        ("empty", "No existe la función", "não existe"),
    ],
)
def test_the_hint_fits_the_mistake(graded, name, es, pt):
    _, _, out = graded
    for lang, said in (("es", es), ("pt", pt)):
        assert said in (out / "feedback" / f"{name}.{lang}.html").read_text(encoding="utf-8")


def test_knowing_the_published_answers_passes_the_self_check_and_nothing_else():
    learner = NamespaceLearner(namespace("es", WRONG["hard_coded"]))
    assert judge(LAB, "naive", learner, generator("matmul", "", "naive", PUBLISHED_SALT)).score == 2.5
    assert judge(LAB, "naive", learner, generator("matmul", "", "naive", "another")).score == 0


@pytest.mark.parametrize("name", sorted(set(WRONG) - {"infinite_loop", "hard_coded"}))
def test_the_self_check_finds_what_the_grader_finds(name):
    learner = NamespaceLearner(namespace("pt", WRONG[name]))
    results = [judge(LAB, key, learner, generator("matmul", "", key, PUBLISHED_SALT)) for key in LAB.exercises]
    assert [result.fault for result in results] == [None] * 4
    assert failing(results) == expected(name).fails


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
