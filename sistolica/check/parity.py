"""Compares a page with its peer: es and pt must be one page told twice.

Born of measured drift: in a well-kept course with two parallel trees and only a check of its table of contents, 10 to
14 of 43 shared Spanish or Portuguese pages had lost or gained headings and 14 to 16 had other code blocks; in the one
project with a structure gate, none of 124 had.

Compared in order: front matter, headings' levels, labels, directives (name, nesting, argument and options without
language), cells, quiz questions, block equations, images, tables' shapes, code blocks (without comments), HTML tags.
Compared in any order, because a native sentence runs in its own: inline equations, value roles, citations, footnotes,
numbers. Compared as sets: links. Text alternatives must exist in both and differ; other text may not be the same.

It cannot see whether two sentences mean the same, whether inline code differs, or whether both pages are wrong alike.
"""

from collections.abc import Collection
from dataclasses import dataclass

from sistolica.check.compare import compare_in_any_order, compare_in_order, once_each, report
from sistolica.check.fault import Findings
from sistolica.check.page import Item, Page
from sistolica.check.passage import Passage, plain_passage
from sistolica.check.same_text import normal, own_words, same_text
from sistolica.check.terms import Termbase
from sistolica.check.waiver import Waivers

_PLACED = ("cell", "quiz")
_FREE_PASSAGE_WORDS = 3  # a heading or a table cell of two common words may well be the same in both languages
_FIXED_TEXT_WORDS = 2


@dataclass(frozen=True)
class Peers:
    """The two pages of one pair with the waivers of each file."""

    spanish: Page
    portuguese: Page
    waivers: tuple[Waivers, Waivers]

    @property
    def pages(self) -> tuple[Page, Page]:
        return self.spanish, self.portuguese


def compare_pages(peers: Peers, termbase: Termbase, findings: Findings, settled: Collection[tuple[str, str]]) -> None:
    """Write every difference between two pages.

    ``settled`` names the cells and questions, by (kind, name), that another check has reported already.
    """
    spanish, portuguese = (
        [item for item in page.skeleton if item.kind not in _PLACED or item.identity not in settled]
        for page in peers.pages
    )
    for item in spanish:
        findings.count(_plural(item.kind))
    pairs, differences = compare_in_order(spanish, portuguese)
    report(findings, peers.pages, differences)
    for ours, theirs in pairs:
        _compare_options(peers, ours, theirs, findings)
        _compare_alternatives(peers, ours, theirs, termbase, findings)
    compare_contents(peers, findings)
    _refuse_untranslated(peers, termbase, findings)


def compare_contents(peers: Peers, findings: Findings) -> None:
    """Compare what may stand in any order: inline equations, roles, citations, footnotes, numbers, links."""
    kinds = ("equation", "role", "citation", "footnote")
    for kind in kinds:
        spanish, portuguese = ([item for item in page.inline if item.kind == kind] for page in peers.pages)
        findings.count(_plural(kind), len(spanish))
        report(findings, peers.pages, compare_in_any_order(spanish, portuguese, peers.pages))
    numbers = peers.spanish.numbers(), peers.portuguese.numbers()
    findings.count("numbers", len(numbers[0]))
    report(findings, peers.pages, compare_in_any_order(*numbers, peers.pages))
    links = once_each(peers.spanish.links), once_each(peers.portuguese.links)
    findings.count("links", len(links[0]))
    report(findings, peers.pages, compare_in_any_order(*links, peers.pages))


def compare_fixed_texts(
    peers: Peers, spanish: Passage, portuguese: Passage, termbase: Termbase, findings: Findings
) -> None:
    """Compare two texts that stand for each other (an answer, a message, a title): they may not be the same."""
    if not same_text(spanish, portuguese, termbase, at_least=_FIXED_TEXT_WORDS):
        return
    _add_untranslated(peers, spanish, portuguese, findings)


def _compare_options(peers: Peers, ours: Item, theirs: Item, findings: Findings) -> None:
    if ours.options != theirs.options:
        findings.add(
            theirs.kind,
            peers.portuguese.path,
            theirs.line,
            got=f"{theirs} with options {theirs.options or 'none'}",
            expected=f"{ours.options or 'none'}, as at {findings.name(peers.spanish.path)}:{ours.line}",
            cure="Make the two equal",
        )


def _compare_alternatives(peers: Peers, ours: Item, theirs: Item, termbase: Termbase, findings: Findings) -> None:
    if ours.alt is None and theirs.alt is None and not ours.needs_alt:
        return
    findings.count("text alternatives")
    empty = False
    for page, item in zip(peers.pages, (ours, theirs), strict=True):
        if not (item.alt or "").strip():
            empty = True
            findings.add(
                "alt",
                page.path,
                item.line,
                got=f"{item} without a text alternative",
                expected="one in each language",
                cure="Say what the image shows and the number to take away",
            )
    if empty:
        return
    spanish, portuguese = (plain_passage(item.alt or "", "alt", item.line) for item in (ours, theirs))
    if spanish and portuguese and same_text(spanish, portuguese, termbase, at_least=1):
        _add_untranslated(peers, spanish, portuguese, findings, kind="alt")


def _refuse_untranslated(peers: Peers, termbase: Termbase, findings: Findings) -> None:
    ours = {normal(passage): passage for passage in reversed(peers.spanish.passages) if passage.where != "alt"}
    for passage in peers.portuguese.passages:
        twin = ours.get(normal(passage))
        if twin and passage.where != "alt" and len(own_words(passage, termbase)) >= _FREE_PASSAGE_WORDS:
            _add_untranslated(peers, twin, passage, findings)


def _add_untranslated(
    peers: Peers, spanish: Passage, portuguese: Passage, findings: Findings, kind: str = "untranslated"
) -> None:
    waived = [
        waivers.allow_same_text(passage.line)
        for waivers, passage in zip(peers.waivers, (spanish, portuguese), strict=True)
    ]
    if any(waived):
        return
    findings.add(
        kind,
        peers.portuguese.path,
        portuguese.line,
        got=f"{_short(normal(portuguese))!r}, the same as {findings.name(peers.spanish.path)}:{spanish.line}",
        expected="a text of its own in each language",
        cure="Translate it, or put 'parity: same text -- why' in a comment on the line above",
    )


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _plural(kind: str) -> str:
    return {
        "quiz": "quiz questions",
        "code": "code blocks",
        "html": "HTML tags",
        "front matter": "front matter keys",
    }.get(kind, f"{kind}s")
