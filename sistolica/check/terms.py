"""The termbase of the course, ``book/terms.csv``: one row a term, what each language calls it, what it must not.

Born of published pages where one chip is *patatas fritas* and one slice has four names: a table that nobody validates
drifts from the text it should rule. This module reads and validates the table; :mod:`sistolica.check.terms_linter`
holds prose to it. It cannot see whether a term is the right one.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sistolica.check.fault import Findings
from tpu_kernels.messages import LANGUAGES

COLUMNS = ("term_en", "es", "es_gender", "pt", "pt_gender", "keep_english", "forbidden_es", "forbidden_pt", "note")
GENDERS = ("m", "f", "a")  # masculine, feminine, adjective
_SEPARATOR = ";"


@dataclass(frozen=True)
class Term:
    """One row. ``local`` and ``forbidden`` are by language; ``line`` is the row's line in the file."""

    english: str
    local: dict[str, str]
    keep_english: bool
    forbidden: dict[str, tuple[str, ...]]
    line: int


@dataclass(frozen=True)
class Termbase:
    """Every sound row of the table."""

    terms: tuple[Term, ...]

    @cached_property
    def alike(self) -> frozenset[str]:
        """The words that both languages write alike, in terms kept in English or equal in both."""
        return frozenset(
            word.casefold()
            for term in self.terms
            if term.keep_english or len(set(term.local.values())) == 1
            for word in term.local["es"].replace("-", " ").split()
        )


def read_terms(path: Path, findings: Findings) -> Termbase:
    """The termbase; each row that is not sound becomes a fault and is left out."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            header = next(rows, [])
            numbered = [(rows.line_num, row) for row in rows if row]
    except (FileNotFoundError, UnicodeDecodeError) as error:
        findings.add(
            "termbase",
            path,
            1,
            got=str(type(error).__name__),
            expected="a termbase in UTF-8",
            cure="Add book/terms.csv: without it no term is checked",
        )
        return Termbase(())
    if tuple(header) != COLUMNS:
        findings.add(
            "termbase",
            path,
            1,
            got=f"columns {', '.join(header)}",
            expected=", ".join(COLUMNS),
            cure="Name the columns so, in that order",
        )
        return Termbase(())
    terms: list[Term] = []
    seen: dict[str, int] = {}
    for line, row in numbered:
        problem = _problem(row, seen)
        if problem is None:
            seen[row[0].casefold()] = line
            terms.append(_term(row, line))
        else:
            got, expected, cure = problem
            findings.add("termbase", path, line, got=got, expected=expected, cure=cure)
    _refuse_contradictions(path, terms, findings)
    findings.count("terms", len(terms))
    return Termbase(tuple(terms))


def _problem(row: list[str], seen: dict[str, int]) -> tuple[str, str, str] | None:
    """What is wrong with a row: got, expected, cure."""
    if len(row) != len(COLUMNS):
        return f"{len(row)} fields", f"{len(COLUMNS)}", "Quote a field that holds a comma"
    named = dict(zip(COLUMNS, row, strict=True))
    if any(value != value.strip() for value in row):
        return "spaces around a field", "none", "Remove them"
    if named["term_en"].casefold() in seen:
        return (
            f"{named['term_en']!r} again, as at line {seen[named['term_en'].casefold()]}",
            "each term once",
            "Keep one of the two rows",
        )
    for column in ("term_en", *LANGUAGES):
        if not named[column]:
            return f"no {column}", "a term in English and in each language", f"Fill in {column}"
    for language in LANGUAGES:
        gender = named[f"{language}_gender"]
        if gender not in GENDERS:
            return f"{language}_gender {gender!r}", " or ".join(GENDERS), "m masculine, f feminine, a adjective"
    if named["keep_english"] not in ("yes", "no"):
        return f"keep_english {named['keep_english']!r}", "yes or no", "Say whether prose keeps the English word"
    return None


def _term(row: list[str], line: int) -> Term:
    named = dict(zip(COLUMNS, row, strict=True))
    return Term(
        named["term_en"],
        {language: named[language] for language in LANGUAGES},
        named["keep_english"] == "yes",
        {language: _forms(named[f"forbidden_{language}"]) for language in LANGUAGES},
        line,
    )


def _forms(field: str) -> tuple[str, ...]:
    return tuple(form.strip() for form in field.split(_SEPARATOR) if form.strip())


def _refuse_contradictions(path: Path, terms: Iterable[Term], findings: Findings) -> None:
    """A form may not be right for one term and forbidden for another: no page could satisfy both."""
    right = {(language, term.local[language]): term for term in terms for language in LANGUAGES}
    for term in terms:
        for language, forms in term.forbidden.items():
            for form in forms:
                rival = right.get((language, form))
                if rival is not None:
                    findings.add(
                        "termbase",
                        path,
                        term.line,
                        got=f"{form!r} forbidden in {language}, and right at line {rival.line}",
                        expected="a form that is right or forbidden, not both",
                        cure="Settle which, and correct the other row",
                    )
