"""Cells and questions: each one written once and placed once in each language.

Born of notebooks copied by language whose code drifted apart (35 to 47 of 43 to 52 shared pages in measured courses),
of answers kept in another repository, and of a cell that nobody noticed was never run. Scripts, prose and quizzes are
read by :mod:`sistolica.lesson`, so this check and the build refuse the same things; a :class:`LessonError` becomes a
fault.

It cannot see whether a cell runs, or whether the right answer of a question is right.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from sistolica.check.fault import Findings
from sistolica.check.page import Page
from sistolica.lesson import LessonError

_Read = TypeVar("_Read")


@dataclass(frozen=True)
class Defined:
    """What a script or a quiz file defines: ``lines`` by name. ``kind`` is ``cell`` or ``quiz``."""

    kind: str
    path: Path
    lines: Mapping[str, int]


def read_or_report(read: Callable[[Path], _Read], path: Path, kind: str, findings: Findings) -> _Read | None:
    """What ``read`` makes of a file; its :class:`LessonError` becomes a fault of ``kind``, and the answer ``None``."""
    try:
        return read(path)
    except LessonError as error:
        findings.add(
            kind,
            error.file,
            error.line,
            got=error.problem,
            expected="what the lesson model can build",
            cure=error.cure.rstrip("."),
        )
        return None


def check_placements(defined: Defined, pages: Mapping[str, Page], findings: Findings) -> set[tuple[str, str]]:
    """Every name placed exactly once in each language; what was reported, as (kind, name).

    A name placed in one language only is left to the comparison of the two pages unless no page places it.
    """
    reported: set[tuple[str, str]] = set()
    placed: dict[str, dict[str, int]] = {language: {} for language in pages}
    for language, page in pages.items():
        for item in page.of_kind(defined.kind):
            if item.key not in defined.lines:
                near = get_close_matches(item.key, defined.lines, n=1)
                reported |= {item.identity, *((defined.kind, name) for name in near)}  # the name meant is not missing
                findings.add(
                    defined.kind,
                    page.path,
                    item.line,
                    got=f"{item}, which {findings.name(defined.path)} does not define",
                    expected="a name that it defines",
                    cure=f"Did you mean {near[0]!r}?" if near else "Define it there, or correct the name",
                )
            elif item.key in placed[language]:
                findings.add(
                    defined.kind,
                    page.path,
                    item.line,
                    got=f"{item} again, as at line {placed[language][item.key]}",
                    expected="each once in a language",
                    cure="Keep one of the two",
                )
                reported.add(item.identity)
            else:
                placed[language][item.key] = item.line
    for name, line in defined.lines.items() if pages else ():
        if (defined.kind, name) not in reported and not any(name in names for names in placed.values()):
            findings.add(
                defined.kind,
                defined.path,
                line,
                got=f"{defined.kind} {name}, which no page places",
                expected=f"it once in each of {', '.join(findings.name(page.path) for page in pages.values())}",
                cure="Place it, or remove it",
            )
    return reported
