"""Lines, prose and structure of a page, read from MyST's own tokens."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sistolica.check.page import Page
from sistolica.check.page_reader import parser_for, read_page
from sistolica.check.passage import OPAQUE

EXTENSIONS = ["colon_fence", "deflist", "dollarmath", "attrs_inline", "linkify"]
PARSER: MarkdownIt = parser_for({"parse": {"myst_enable_extensions": EXTENSIONS}})


def page_of(text: str) -> Page:
    return read_page(PARSER, Path("page.md"), text)


PIECES = ["palabra", "*énfasis*", "`código`", "`dos\ntrozos`", "$a + b$", "{spec}`v5e.hbm\nbandwidth`"]
PIECES += [
    "[un\nenlace](#x)",
    "![una\nimagen](a.png)",
    "**fuerte**",
    "&eacute;",
    "\\*",
    "[^1]",
    "<b>x</b>",
    "http://a.org",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=6), st.sampled_from(["", "> ", "- ", ":::{note}\n"]))
def test_line_is_right_whatever_stands_before_it(pieces: list[str], opening: str) -> None:
    text = "\n".join([*pieces, "marca7 final"])
    if opening.endswith("\n"):
        source = f"Antes.\n\n{opening}{text}\n:::\n"
    else:
        later = "> " if opening == "> " else " " * len(opening)
        source = f"Antes.\n\n{opening}" + text.replace("\n", f"\n{later}") + "\n"
    source += "\n[^1]: nota\n"
    line = source.count("\n", 0, source.index("marca7")) + 1
    page = page_of(source)
    (found,) = [passage for passage in page.passages if "marca7" in passage.text]
    assert found.line_at(found.text.index("marca7")) == line


@pytest.mark.parametrize("extension", ["colon_fence", "dollarmath"])
def test_page_is_read_with_the_extensions_that_the_book_turns_on(extension: str) -> None:
    source = ":::{note}\nHola\n:::\n\n$a$\n"
    without = parser_for({"parse": {"myst_enable_extensions": [name for name in EXTENSIONS if name != extension]}})
    assert read_page(without, Path("page.md"), source) != page_of(source)


def test_code_mathematics_and_roles_are_not_prose() -> None:
    page = page_of("Una `ficha` de $n = 3$ con {spec}`v5e.hbm` y {ref}`su nombre <label-9>`.\n")
    assert [passage.text for passage in page.passages] == [f"Una {OPAQUE} de {OPAQUE} con {OPAQUE} y su nombre."]


def test_nested_directives_know_what_they_are_in() -> None:
    page = page_of("::::{note}\n:::{tip}\n```{figure} a.png\n:alt: Algo\n:name: f\n\nPie.\n```\n:::\n::::\n")
    assert [(item.key, item.line) for item in page.of_kind("directive")] == [
        ("{note}", 1),
        ("{tip} inside note", 2),
        ("{figure} a.png inside note > tip", 3),
    ]
    assert [(label.key, label.line) for label in page.labels] == [("f", 5)]
    assert [(passage.where, passage.text, passage.line) for passage in page.passages] == [
        ("alt", "Algo", 4),
        ("text", "Pie.", 7),
    ]


def test_option_block_in_yaml_style_keeps_lines() -> None:
    page = page_of("```{figure} a.png\n---\nname: f\nalt: Una cosa\n---\nPie.\n```\n")
    assert [(passage.where, passage.line) for passage in page.passages] == [("alt", 4), ("text", 6)]


def test_alternative_of_a_cell_may_hold_a_colon() -> None:
    page = page_of("```{code-cell}\n:cell: one\n:alt: Un cuadro: 3 filas, 'así'\n```\n")
    assert page.of_kind("cell")[0].alt == "Un cuadro: 3 filas, 'así'"


def test_decomposed_accents_and_soft_hyphens_do_not_hide_a_word() -> None:
    page = page_of("i\u0301co\u00adnes\n")
    assert [passage.text for passage in page.passages] == ["ícones"]
