"""Holds prose to the termbase: no forbidden form, no English where the course has its own word.

Born of machine-translated pages of this very field (*patatas fritas* for chips, *interferencia* for inference,
*organizador* for a host) and of a library called *librería* on one page and *biblioteca* on the next.

A forbidden form counts as a whole word, with its accents, in small letters or capitalised as a sentence or a heading
would; a plural counts when the table lists it. It is let pass inside a right form of the table (*ficha* in *ficha
técnica*) and under a waiver. English counts when the table does not keep it and it differs from both languages' word,
unless it stands in parentheses, in italics or in a ``lang`` span as a gloss, or begins with a capital inside a sentence
(*Cloud TPU* is a name).

It sees prose only: page text, headings, captions, alternatives, quiz texts, messages, spoken comments. It cannot see
grammar (gender, number), a wrong word that the table does not list, or words inside code.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sistolica.check.fault import Findings
from sistolica.check.passage import Passage
from sistolica.check.terms import Term, Termbase
from sistolica.check.waiver import Waivers

_SENTENCE_START = re.compile(r"(?:^|[.:;!?¿¡…«»“”\"])\s*$")
_NAME_FOLLOWS = re.compile(r"\s+[^\W\d_a-zà-ÿ]")
_PARENTHESES = re.compile(r"\([^()]*\)")


@dataclass(frozen=True)
class Linter:
    """The rules of one language, made once from the termbase."""

    termbase: Termbase
    language: str

    def check(self, passage: Passage, path: Path, waivers: Waivers, findings: Findings) -> None:
        """Write a fault for each word or phrase of the passage that the termbase rules out."""
        findings.count("passages of prose")
        for start, got, term in self._slips(passage):
            line = passage.line_at(start)
            if waivers.allow_form(got, line):
                continue
            right = term.local[self.language]
            mark = {".md": "%", ".toml": "#"}.get(path.suffix)
            waiver = f", or put '{mark} terms: allow {got} -- why' on the line above" if mark else ""
            findings.add(
                "term",
                path,
                line,
                got=f"{got!r} in {passage.where}",
                expected=f"{right!r} ({term.english})",
                cure=f"Write {right!r}{waiver}",
            )

    def _slips(self, passage: Passage) -> Iterator[tuple[int, str, Term]]:
        right = [found.span() for found in self._right.finditer(passage.text)]
        for pattern, term in self._forbidden:
            for found in pattern.finditer(passage.text):
                if not any(first <= found.start() and found.end() <= last for first, last in right):
                    yield found.start(), found.group(), term
        glosses = [found.span() for found in _PARENTHESES.finditer(passage.text)]
        for pattern, term in self._english:
            for found in pattern.finditer(passage.text):
                if not self._excused(passage, found, glosses):
                    yield found.start(), found.group(), term

    @staticmethod
    def _excused(passage: Passage, found: re.Match[str], glosses: list[tuple[int, int]]) -> bool:
        """Whether this English is a gloss, another language's text, or a name."""
        start, end = found.span()
        if passage.set_apart(start, end) or any(first <= start and end <= last for first, last in glosses):
            return True
        if not found.group()[0].isupper():
            return False
        opens_sentence = _SENTENCE_START.search(passage.text, 0, start) is not None
        return not opens_sentence or _NAME_FOLLOWS.match(passage.text, end) is not None

    @cached_property
    def _right(self) -> re.Pattern[str]:
        """Every right form of several words: a forbidden word may be part of one."""
        forms = {term.local[self.language] for term in self.termbase.terms if " " in term.local[self.language]}
        alternatives = "|".join(_phrase(form) for form in sorted(forms, key=lambda form: (-len(form), form)))
        return re.compile(rf"(?<!\w)(?:{alternatives or '(?!)'})(?!\w)", re.IGNORECASE)

    @cached_property
    def _forbidden(self) -> list[tuple[re.Pattern[str], Term]]:
        return [
            (re.compile(rf"(?<!\w){_in_any_case(form)}(?!\w)"), term)
            for term in self.termbase.terms
            for form in term.forbidden[self.language]
        ]

    @cached_property
    def _english(self) -> list[tuple[re.Pattern[str], Term]]:
        return [
            (re.compile(rf"(?<![\w-])(?:{_capitalisable(_with_plural(term.english))})(?![\w-])"), term)
            for term in self.termbase.terms
            if not term.keep_english
            and not term.english.isupper()
            and term.english.casefold() not in {form.casefold() for form in term.local.values()}
        ]


def _phrase(form: str) -> str:
    return r"\s+".join(map(re.escape, form.split()))


def _in_any_case(form: str) -> str:
    """A small-letter form as it stands, capitalised, or all in capitals; a form with a capital only as it stands."""
    if form != form.lower():
        return _phrase(form)
    return rf"(?:{_capitalisable(_phrase(form))}|{_phrase(form.upper())})"


def _capitalisable(pattern: str) -> str:
    first = pattern[0]
    return f"[{first}{first.upper()}]{pattern[1:]}" if first.islower() else pattern


def _with_plural(english: str) -> str:
    if english.endswith("y"):
        return rf"{_phrase(english[:-1])}(?:y|ies)"
    if english.endswith(("s", "x", "z", "ch", "sh")):
        return rf"{_phrase(english)}(?:es)?"
    return rf"{_phrase(english)}s?"  # not "es": *gradientes* is no plural of gradient
