"""Texts outside the pages: quiz questions, message catalogues, labs' titles. The same parity, in small.

Born of quizzes that exist in one language only (17 files in English, 5 in Spanish, 4 in Portuguese in one course) and
of graders without any translation: a learner who reads the lesson in her language gets its answers in another.

A text and its peer hold the same numbers, equations, roles, citations and links, and are not the same words. It cannot
see whether the right option is right, nor a placeholder used with the wrong value.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from sistolica.check.fault import Findings
from sistolica.check.page import Page
from sistolica.check.page_reader import read_page
from sistolica.check.parity import Peers, compare_contents, compare_fixed_texts
from sistolica.check.passage import plain_passage
from sistolica.check.spoken import SpokenText, key_lines, read_toml, spoken_texts
from sistolica.check.terms import Termbase
from sistolica.check.waiver import Waivers
from tpu_kernels.messages import LANGUAGES, Catalogue

Read = Callable[[str, Path, int, str], Page]


@dataclass(frozen=True)
class Spoken:
    """What one file says in each language, a page for each text."""

    path: Path
    waivers: Waivers
    pages: dict[str, list[Page]]


def check_quiz_texts(parser: MarkdownIt, path: Path, termbase: Termbase, findings: Findings) -> Spoken:
    """Compare the texts of a quiz file that the lesson model has read without complaint."""

    def read(text: str, file: Path, line: int, title: str) -> Page:
        page = read_page(parser, file, text, line)
        page.title = title
        return page

    source, tables = read_toml(path, findings)
    findings.count("quiz options", sum(len(question.get("options", [])) for question in tables.values()))
    return _compare(path, source, spoken_texts(source, tables), read, termbase, findings)


def check_messages(path: Path, termbase: Termbase, findings: Findings) -> Spoken:
    """Check a package's catalogue: every message in each language, the same placeholders, the same numbers."""
    source, tables = read_toml(path, findings)
    lines = key_lines(source)
    try:
        complaints = Catalogue(path).faults() if tables else []
    except (AttributeError, ValueError) as error:
        complaints = [f"{path.name}: : a message that cannot be read: {error}"]
    for complaint in complaints:
        _, key, problem = complaint.split(": ", 2)
        findings.add(
            "message",
            path,
            lines.get(tuple(key.split(".", 1)), 1),
            got=f"{key}: {problem}",
            expected=f"a text in each of {', '.join(LANGUAGES)} with the same placeholders",
            cure="Write what is missing",
        )
    texts = spoken_texts(source, tables)
    findings.count("messages", len(texts))
    return _compare(path, source, texts, _plain("message"), termbase, findings)


def check_lab_texts(path: Path, termbase: Termbase, findings: Findings) -> Spoken:
    """Check the titles and other texts of a lab's description."""
    source, tables = read_toml(path, findings)

    def missing(key: str, language: str, line: int) -> None:
        findings.add(
            "lab text",
            path,
            line,
            got=f"no {key} in {language}",
            expected=f"one in each of {', '.join(LANGUAGES)}",
            cure=f"Add it in {language}",
        )

    texts = spoken_texts(source, tables, missing)
    findings.count("lab texts", len(texts))
    return _compare(path, source, texts, _plain("title"), termbase, findings)


def _plain(where: str) -> Read:
    def read(text: str, path: Path, line: int, title: str) -> Page:
        passage = plain_passage(text, where, line)
        return Page(path, title, passages=[passage] if passage else [])

    return read


def _compare(
    path: Path, source: str, texts: list[SpokenText], read: Read, termbase: Termbase, findings: Findings
) -> Spoken:
    spoken = Spoken(path, Waivers(path, source), {language: [] for language in LANGUAGES})
    for text in texts:
        spanish, portuguese = (
            read(text.texts[language], path, text.lines[language], f"{text.key} in {language}")
            for language in LANGUAGES
        )
        peers = Peers(spanish, portuguese, (spoken.waivers, spoken.waivers))
        compare_contents(peers, findings)
        for ours, theirs in zip(spanish.passages, portuguese.passages, strict=False):
            compare_fixed_texts(peers, ours, theirs, termbase, findings)
        for language, page in zip(LANGUAGES, peers.pages, strict=True):
            spoken.pages[language].append(page)
    return spoken
