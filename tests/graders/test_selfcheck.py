"""The learner's own check: what it says, in which language, and that nothing of theirs becomes markup."""

import subprocess
import sys

import pytest

import graders.lab
from graders.lab import LabError
from graders.markup import inline
from graders.selfcheck import selfcheck
from tpu_kernels import messages

RIGHT = {
    "add": lambda a, b: a + b,
    "scale": lambda rows, factor: [[factor * x for x in row] for row in rows],
}


@pytest.fixture
def check(tiny, monkeypatch):
    monkeypatch.setattr(graders.lab, "labs_folder", lambda: tiny.project.labs)
    return lambda exercise, **names: selfcheck("tiny", {**RIGHT, **names})(exercise)


def test_right_answers_pass_and_the_text_says_that_the_grader_asks_otherwise(check):
    result = check("add")
    assert result.passed
    assert "Suma. Puntaje: 2 de 2" in repr(result)
    assert "La calificación usa otras" in repr(result)


def test_a_wrong_answer_shows_points_and_the_hint_and_raises_nothing(check):
    result = check("scale", scale=lambda rows, factor: rows)
    assert not result.passed
    assert "✓ Cumple  Forma  (1 / 1)" in repr(result)
    assert "✗ Falta  Valores  (0 / 2)\n     pista de escala" in repr(result)


@pytest.mark.parametrize(("lang", "said"), [("es", "dica"), ("pt", "pista")])
def test_it_speaks_the_language_of_the_moment(check, lang, said):
    messages.use(lang)
    result = check("add", add=lambda a, b: 0)
    messages.use("es" if lang == "pt" else "pt")
    for shown in (repr(result), result._repr_html_()):
        assert {"es": "pista de suma", "pt": "dica de soma"}[lang] in shown
        assert said not in shown
    assert result._repr_html_().startswith(f'<div lang="{ {"es": "es", "pt": "pt-BR"}[lang] }"')


def test_the_same_failure_twice_is_said_once(check):
    def broken(a, b):
        raise ValueError("mal")

    shown = repr(check("add", add=broken))
    assert shown.count("ValueError: mal") == 1
    assert "Por la misma razón." in shown


def test_a_function_that_is_not_there_or_not_written_is_said_plainly(check):
    assert "No existe la función `add`" in repr(selfcheck("tiny", {})("add"))

    def add(a, b):
        raise NotImplementedError

    assert "`add` todavía no está escrita" in repr(check("add", add=add))


def test_their_text_never_becomes_markup(check):
    def add(a, b):
        raise ValueError("<img src=x onerror=alert(1)> `<b>")

    html = check("add", add=add)._repr_html_()
    assert "<img" not in html
    assert "<b>" not in html
    assert "&lt;img src=x" in html


@pytest.mark.parametrize(
    ("message", "html"),
    [
        ("a `<b>` c", "a <code>&lt;b&gt;</code> c"),
        ("<i> `x", "&lt;i&gt; `x"),
        ("`a` & `b`", "<code>a</code> &amp; <code>b</code>"),
    ],
)
def test_code_in_a_message_is_marked_and_everything_escaped(message, html):
    assert inline(message) == html


def test_the_result_is_a_table_with_headers_and_never_colour_alone(check):
    html = check("add")._repr_html_()
    assert '<th scope="col"' in html
    assert '<th scope="row"' in html
    assert "<caption" in html
    assert "✓ Cumple" in html


def test_the_same_inputs_every_time(check):
    seen = []

    def add(a, b):
        seen.append((a, b))
        return a + b

    check("add", add=add)
    first, seen[:] = list(seen), []
    check("add", add=add)
    assert seen == first


def test_an_unknown_exercise_or_lab_is_named_in_the_learners_language(check):
    with pytest.raises(LabError, match="no hay ningún ejercicio 'sum': los de este laboratorio son add, scale"):
        check("sum")
    messages.use("pt")
    with pytest.raises(LabError, match="não há nenhum laboratório 'tinny': existem tiny"):
        selfcheck("tinny", {})


def test_a_fault_of_the_check_is_not_put_on_the_learner(check, tiny, monkeypatch):
    def broken(learner, rng, report):
        raise KeyError("of the check")

    monkeypatch.setitem(tiny.lab.__dict__, "checks", {"add": broken})
    monkeypatch.setattr("graders.selfcheck.read_lab", lambda lab_id: tiny.lab)
    result = check("add")
    assert not result.passed
    assert "falló por un error suyo, no tuyo" in repr(result)


def test_it_needs_none_of_the_graders_own_libraries():
    heavy = ("nbformat", "nbgrader", "jupyter_client", "jinja2", "nh3", "sistolica")
    code = f"import sys, graders.selfcheck; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
