"""Rules in small: addresses, waivers, words, differences, and what the command says and returns."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from sistolica.check import command
from sistolica.check.address import is_external, peer_address
from sistolica.check.compare import Difference, compare_in_order
from sistolica.check.fault import Findings
from sistolica.check.page import Item
from sistolica.check.passage import plain_passage
from sistolica.check.same_text import own_words, same_text
from sistolica.check.terms import Term, Termbase
from sistolica.check.waiver import Waivers
from sistolica.project import Project

if TYPE_CHECKING:
    from conftest import Course


@pytest.mark.parametrize(
    ("spanish", "portuguese", "peers"),
    [
        ("https://a.org/x?hl=es", "https://a.org/x?hl=pt-br", True),
        ("https://a.org/x?hl=es-419&y=1#z", "https://a.org/x?hl=pt_BR&y=1#z", True),
        ("https://es.wikipedia.org/wiki/TPU", "https://pt.wikipedia.org/wiki/TPU", True),
        ("https://a.org/es/b", "https://a.org/pt-BR/b", True),
        ("figures/array.es.svg", "figures/array.pt.svg", True),
        ("labs/sums/es.md", "labs/sums/pt.md", True),
        ("https://a.org/espera", "https://a.org/ptolomeu", False),
        ("https://a.org/x?hl=es", "https://a.org/y?hl=pt", False),
        ("https://a.org/x?q=es", "https://a.org/x?q=pt", False),
        ("https://es.wikipedia.org/wiki/TPU", "https://fr.wikipedia.org/wiki/TPU", False),
    ],
)
def test_addresses_that_differ_in_language_only_are_peers(spanish: str, portuguese: str, peers: bool) -> None:
    assert (peer_address(spanish) == peer_address(portuguese)) is peers


@pytest.mark.parametrize(
    ("target", "external"),
    [("https://a.org", True), ("mailto:a@b.c", True), ("//a.org", True), ("#x", False), ("project:#x", False)],
)
def test_what_leaves_the_course(target: str, external: bool) -> None:
    assert is_external(target) is external


def test_waiver_covers_its_paragraph_and_no_more() -> None:
    waivers = Waivers(Path("a.md"), "% terms: allow Ficha -- why\nuna\ndos\n\ntres\n")
    assert [waivers.allow_form("ficha", line) for line in (1, 2, 3, 4, 5)] == [False, True, True, False, False]
    assert not waivers.allow_form("fichas", 2)


def test_waiver_in_toml_covers_one_key() -> None:
    source = '# parity: same text -- why\n# more\na = """\nuna\n"""\nb = 1\n'
    waivers = Waivers(Path("a.toml"), source)
    assert [waivers.allow_same_text(line) for line in range(1, 7)] == [False, True, True, True, True, False]


def test_mark_of_the_other_format_is_no_waiver() -> None:
    assert Waivers(Path("a.toml"), "% terms: allow ficha -- why\n").waivers == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Solo los pesos", ["Solo", "los", "pesos"]),
        ("Total: el valor de cada ciclo", ["el"]),
        ("En Google Cloud hay TPU y SparseCore", ["En", "hay", "y"]),
        ("Leer. Sumar", ["Leer", "Sumar"]),
        ("El chip usa `numpy` con {calc}`x`", ["El", "usa", "con"]),
        ("128 × 128", []),
    ],
)
def test_words_that_should_differ_between_the_languages(text: str, words: list[str]) -> None:
    row = Term("chip", {"es": "chip", "pt": "chip"}, True, {"es": (), "pt": ()}, 2)
    passage = plain_passage(text, "text", 1)
    assert passage is not None
    assert own_words(passage, Termbase((row,))) == words


def test_text_is_the_same_only_with_enough_words_of_its_own() -> None:
    passage = plain_passage("los pesos", "text", 1)
    assert passage is not None
    assert [same_text(passage, passage, Termbase(()), at_least=least) for least in (1, 2, 3)] == [True, True, False]


def items(keys: str) -> list[Item]:
    return [Item("cell", key, line) for line, key in enumerate(keys, start=1)]


def test_moved_thing_is_one_difference() -> None:
    _, differences = compare_in_order(items("abcde"), items("bcdae"))
    assert differences == [Difference(Item("cell", "a", 1), Item("cell", "a", 4), moved=True)]


def test_same_sequences_are_peers_throughout() -> None:
    peers, differences = compare_in_order(items("aba"), items("aba"))
    assert [one.line for one, _ in peers] == [1, 2, 3]
    assert differences == []


def test_faults_come_out_once_and_in_order() -> None:
    findings = Findings(Path("/course"))
    for line in (10, 9, 10):
        findings.add("number", Path("/course/b.md"), line, got="1", expected="2", cure="Correct it")
    findings.add("number", Path("/course/a.md"), 30, got="1", expected="2", cure="Correct it")
    assert [str(fault) for fault in findings.outcome().faults] == [
        "a.md:30: number: got 1; expected 2. Correct it.",
        "b.md:9: number: got 1; expected 2. Correct it.",
        "b.md:10: number: got 1; expected 2. Correct it.",
    ]


def shown(course: "Course") -> tuple[int, str]:
    console = Console(file=io.StringIO(), width=100)
    status = command(Project(course.root), console)
    assert isinstance(console.file, io.StringIO)
    return status, console.file.getvalue()


def test_command_passes_a_sound_course_and_prints_its_counts(course: "Course") -> None:
    status, text = shown(course)
    assert status == 0
    assert "faults: 0" in text
    assert "quiz questions" in text


def test_command_fails_and_says_where(course: "Course") -> None:
    course.replace("book/pt/tpu/array.md", "| VMEM | 16 MiB |", "| VMEM [x] | 32 MiB |")
    status, text = shown(course)
    assert status == 1
    assert "book/pt/tpu/array.md:43: number: got number 32" in text
    assert "faults: 1 (number 1)" in text
