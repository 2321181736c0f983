"""A lesson: prose, cells and questions that fit each other, as a notebook."""

import nbformat
import pytest

from sistolica.lesson import LessonError, read_lesson
from tpu_kernels.messages import LANGUAGES

SCRIPT = """\
# %% first
#es hola
#pt olá
a = 1

# %% second
a + 1
"""

PROSE = """\
---
myst:
  html_meta:
    description: d
---
# T

```{code-cell}
:cell: first
```

Vale {calc}`a`.

```{code-cell}
:cell: second
:alt: un gráfico
:tags: hide-cell
```

```{quiz} q
```
"""

QUIZ = """\
[q]
kind = "single"
es.text = "¿{calc}`a`?"
pt.text = "a"
[[q.options]]
key = "x"
correct = true
es.text = "{calc}`b:.1f`"
pt.text = "x"
es.feedback = "x"
pt.feedback = "{calc}`only_pt`"
[[q.options]]
key = "y"
correct = false
es.text = "y"
pt.text = "y"
es.feedback = "{calc}`c`"
pt.feedback = "y"
"""


@pytest.fixture
def page(author):
    author.script(SCRIPT)
    author.prose(PROSE)
    author.quiz(QUIZ)
    return author


def fault(author, lang="es"):
    with pytest.raises(LessonError) as caught:
        author.lesson(lang)
    return caught.value


@pytest.mark.parametrize(("lang", "comment"), [("es", "# hola"), ("pt", "# olá")])
def test_the_notebook_holds_prose_and_cells_in_the_order_of_the_page(page, lang, comment):
    notebook = page.lesson(lang).notebook()

    nbformat.validate(notebook)
    assert [(cell.cell_type, cell.id) for cell in notebook.cells] == [
        ("markdown", "prose-0"),
        ("code", "first"),
        ("markdown", "prose-2"),
        ("code", "second"),
        ("markdown", "prose-4"),
    ]
    assert notebook.cells[1].source == f"{comment}\na = 1"
    assert notebook.cells[3].metadata == {"tags": ["hide-cell"], "mystnb": {"image": {"alt": "un gráfico"}}}
    assert notebook.metadata.myst == {"html_meta": {"description": "d"}}
    assert notebook.metadata.kernelspec.name == "python3"


def test_warnings_can_name_the_line_of_the_prose(page):
    lesson = page.lesson()
    lines = page.project.prose("es", page.slug).read_text("utf-8").split("\n")
    starts = [lines[index + 1] for index in lesson.notebook().metadata.source_map]
    assert starts == ["# T", "```{code-cell}", "Vale {calc}`a`.", "```{code-cell}", "```{quiz} q"]


def test_quoted_variables_are_those_of_the_page_in_its_language(page):
    assert page.lesson("es").quoted() == {"a", "b", "c"}
    assert page.lesson("pt").quoted() == {"a", "only_pt"}


def test_a_notebook_is_made_anew_each_time(page):
    lesson = page.lesson()
    lesson.notebook().cells[1].source = "spoilt"
    assert lesson.notebook().cells[1].source.endswith("a = 1")


def test_a_page_may_have_neither_script_nor_quiz(author):
    author.prose("# T\n\nHola.\n")
    lesson = author.lesson()
    assert (dict(lesson.cells), dict(lesson.questions), lesson.quoted()) == ({}, {}, set())
    assert [cell.cell_type for cell in lesson.notebook().cells] == ["markdown"]


def test_an_empty_page_is_an_empty_notebook(author):
    author.prose("")
    assert author.lesson().notebook().cells == []


def test_text_in_hand_stands_for_the_file(page):
    lesson = read_lesson(page.project, page.slug, "es", PROSE.replace("Vale", "Ahora vale"))
    assert "Ahora vale" in lesson.notebook().cells[2].source


class TestFaults:
    @pytest.mark.parametrize(
        ("before", "after", "line", "problem", "cure"),
        [
            (":cell: second", ":cell: secnd", 14, "unknown cell 'secnd': page.py does not define it", "'second'?"),
            (":cell: second", ":cell: zzzzzz", 14, "unknown cell 'zzzzzz'", "Define it in page.py"),
            (":cell: second", ":cell: first", 14, "cell 'first' placed twice: line 8", "one of the two"),
            ("{quiz} q", "{quiz} r", 20, "unknown question 'r': page.quiz.toml does not define it", "Define it in"),
            (
                "```{quiz} q\n```",
                "```{quiz} q\n```\n```{quiz} q\n```",
                22,
                "question 'q' placed twice: line 20",
                "Keep",
            ),
        ],
    )
    def test_what_the_page_places_wrongly(self, page, before, after, line, problem, cure):
        page.prose(PROSE.replace(before, after))
        error = fault(page)
        assert (error.file, error.line) == (page.project.prose("es", page.slug), line)
        assert problem in error.problem
        assert cure in error.cure

    def test_a_cell_that_the_page_never_uses(self, page):
        script = page.script(SCRIPT + "\n# %% third\n3\n")
        error = fault(page, "pt")
        assert (error.file, error.line) == (script, 9)
        assert "cell 'third' is never used" in error.problem
        assert str(page.project.prose("pt", page.slug)) in error.problem
        assert "remove the cell" in error.cure

    def test_a_question_that_the_page_never_asks(self, page):
        page.prose(PROSE.replace("```{quiz} q\n```", ""))
        error = fault(page)
        assert (error.file.name, error.line) == ("page.quiz.toml", 1)
        assert "question 'q' is never used" in error.problem

    def test_cells_on_a_page_without_a_script(self, author):
        author.prose("```{code-cell}\n:cell: a\n```\n")
        error = fault(author)
        assert error.line == 1
        assert "page.py does not define it" in error.problem

    def test_a_script_without_cells(self, author):
        author.script("# nothing yet\n")
        author.prose("# T\n")
        assert author.lesson().cells == {}

    @pytest.mark.parametrize("lang", LANGUAGES)
    def test_a_page_missing_in_one_language(self, page, lang):
        page.project.prose(lang, page.slug).unlink()
        error = fault(page, lang)
        assert (error.file, error.line) == (page.project.prose(lang, page.slug), 1)
        assert "missing in its language" in error.problem
        other = "pt" if lang == "es" else "es"
        assert page.lesson(other).lang == other

    def test_front_matter_that_a_notebook_cannot_carry(self, author):
        author.prose("---\ntitle: 2026\n---\n# T\n")
        with pytest.raises(LessonError, match=r"front matter that no notebook can carry.*2026") as caught:
            author.lesson().notebook()
        assert caught.value.line == 1
