"""A page as a notebook for any host: the same words and code, in Markdown that every host reads."""

import re

import nbformat
import pytest

from sistolica.lesson import LessonError
from sistolica.lesson.portable import Heading, page_notebook, read_headings
from sistolica.phrases import phrase
from tpu_kernels.messages import LANGUAGES
from tpu_kernels.models import hardware

BIB = """\
@article{kung1982why,
  author = {Kung, H. T. and others}, title = {Why Systolic Architectures?}, journal = {Computer}, year = {1982},
  url = {https://example.org/kung}, urldate = {2026-11-30}
}
@misc{jax, author = {{JAX authors}}, title = {JAX}}
"""
SCRIPT = "# %% setup\nn = 2\n\n# %% folded\nn + 1\n"
QUIZ = """\
[q]
kind = "multiple"
es.text = "¿{calc}`n`?"
pt.text = "{calc}`n`?"
options = [
  { key = "a", correct = true, es = { text = "sí", feedback = "f1" }, pt = { text = "sim", feedback = "f1" } },
  { key = "b", correct = false, es = { text = "no", feedback = "f2" }, pt = { text = "não", feedback = "f2" } },
]
"""
PROSE = """\
---
myst:
  html_meta:
    description: d
---
(page)=
# Título

% a note for authors
Tiene {spec}`v5e.hbm_bandwidth` y {calc}`n`. Véase {cite}`kung1982why` y {cite}`jax, kung1982why`; {ref}`la parte
que sigue <page-next>`, {ref}`other`; {math}`x_1` y $y$.

```{code-cell}
:cell: setup
:alt: nada
```

(page-next)=
## Lo que sigue

```python
{spec}`v5e.clock` is code here
```

:::{note}
Cuidado con {calc}`n`.
:::

:::{admonition} Un {calc}`n`
Texto.
:::

```{math}
a = b
```

```{code-cell}
:cell: folded
:tags: hide-cell
```

```{quiz} q
```

:::{solution}
Son {calc}`n`.

- uno
:::

```{bibliography}
```
"""


@pytest.fixture
def page(author):
    author.script(SCRIPT)
    author.quiz(QUIZ)
    author.prose(PROSE)
    author.project.bibliography.write_text(BIB, encoding="utf-8")
    for lang in LANGUAGES:
        author.project.prose(lang, "other").write_text("(other)=\n# Otra página\n", encoding="utf-8")
    return author


def notebook(author, lang="es"):
    values = {"n": {"value": 2, "unit": None}}
    return page_notebook(author.project, author.lesson(lang), values)


def prose_of(made):
    return "\n\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_it_is_a_sound_notebook_that_first_sets_its_language(page, lang):
    made = notebook(page, lang)
    nbformat.validate(made)
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    assert [cell.id for cell in code] == ["set_up", "setup", "folded"], "a cell may be called setup"
    assert f'messages.use("{lang}")' in code[0].source
    assert phrase("notebook.setup", lang=lang) in code[0].source
    assert code[2].metadata.tags == ["hide-cell"]
    assert all(cell.outputs == [] for cell in code)
    assert made.metadata.sistolica == {"page": "part/page", "lang": lang}
    assert "myst" not in made.metadata


def test_roles_become_plain_text_and_links(page):
    text = prose_of(notebook(page))
    bandwidth = hardware.chip("v5e").hbm_bandwidth.format("es")
    assert f"Tiene {bandwidth} y 2. Véase [1] y [2], [1]; [la parte que sigue](#page-next), *Otra página*;" in text
    assert "$x_1$ y $y$" in text
    assert '<a id="page-next"></a>\n\n## Lo que sigue' in text


def test_nothing_of_myst_is_left_outside_code(page):
    text = prose_of(notebook(page))
    assert "```python\n{spec}`v5e.clock` is code here\n```" in text
    rest = text.replace("{spec}`v5e.clock`", "")
    assert not re.search(r"\{[a-z-]+\}|^:::|^\(.*\)=$|^%", rest, re.M)
    assert "a note for authors" not in rest


@pytest.mark.parametrize("lang", LANGUAGES)
def test_blocks_become_quotes_formulas_and_disclosures(page, lang):
    text = prose_of(notebook(page, lang))
    assert f"> **{phrase('admonition.note', lang=lang)}**\n>\n> Cuidado con 2." in text
    assert "> **Un 2**\n>\n> Texto." in text
    assert "$$\na = b\n$$" in text
    solution = phrase("page.solution", lang=lang)
    assert f"<details>\n<summary>{solution}</summary>\n\nSon 2.\n\n- uno\n\n</details>" in text
    yes = {"es": "sí", "pt": "sim"}[lang]
    assert f"({phrase('quiz.multiple', lang=lang)})\n\n- {yes}\n" in text
    assert f"- {yes} **{phrase('quiz.right', lang=lang)}** f1" in text


def test_references_are_those_cited_in_their_order(page):
    text = prose_of(notebook(page))
    read = phrase("reference.read", lang="es", date="2026-11-30")
    first, second = text.split("\n")[-2:]
    assert (
        first
        == f"1. H. T. Kung y otros. *Why Systolic Architectures?* Computer, 1982. <https://example.org/kung> {read}"
    )
    assert second == f"2. JAX authors. *JAX.* {phrase('reference.undated', lang='es')}."


@pytest.mark.parametrize(
    ("before", "after", "line", "problem"),
    [
        ("{calc}`n`. V", "{calc}`m`. V", 10, "no cell of this page defines 'm'"),
        ("v5e.hbm_bandwidth", "v9.hbm_bandwidth", 10, "v9"),
        ("kung1982why` y", "nobody` y", 10, "citation of unknown 'nobody'"),
        ("{ref}`other`", "{ref}`nowhere`", 11, "link to unknown label 'nowhere'"),
        ("{math}`x_1`", "{abbr}`x`", 11, "role {abbr} has no plain form"),
        ("{math}\na = b", "{list-table}\na = b", 33, "directive {list-table} has no plain form"),
        ("Cuidado con {calc}`n`", "Cuidado con {calc}`m`", 26, "defines 'm'"),
    ],
)
def test_what_has_no_plain_form_names_its_line(page, before, after, line, problem):
    assert before in PROSE
    page.prose(PROSE.replace(before, after))
    with pytest.raises(LessonError, match=re.escape(problem)) as caught:
        notebook(page)
    assert (caught.value.file, caught.value.line) == (page.project.prose("es", "part/page"), line)


@pytest.mark.parametrize("part", ["author", "title", "urldate"])
def test_a_reference_that_lacks_a_part_is_named(page, part):
    page.project.bibliography.write_text(BIB.replace(f"{part} =", "note =", 1), encoding="utf-8")
    with pytest.raises(LessonError, match=f"'kung1982why' has no {part}"):
        notebook(page)


def test_labels_lead_to_the_heading_that_follows():
    text = "(a)=\n# Uno\n\n(b)=\n\n## Dos\n\n(c)=\ntexto\n\n# Tres\n"
    assert read_headings({"p": text}) == {"a": Heading("p", "Uno"), "b": Heading("p", "Dos")}
