"""Quizzes: the questions of a chapter, in every language, in ``lessons/<part>/<slug>.quiz.toml``.

A question is placed in the prose by key, like a cell. Its texts are MyST inline Markdown, so a number comes from data::

    [weights-stay]
    kind = "single"
    es.text = "¿Cuánto ancho de banda tiene una v5e?"
    pt.text = "Quanta largura de banda tem uma v5e?"
    [[weights-stay.options]]
    key = "spec"
    correct = true
    es.text = "{spec}`v5e.hbm_bandwidth`"
    …
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sistolica.lesson.errors import LessonError
from sistolica.lesson.source import read_source, split_lines
from tpu_kernels.messages import LANGUAGES

KINDS = ("single", "multiple")
_KEY = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class Option:
    """One answer. ``text`` and ``feedback`` by language."""

    key: str
    correct: bool
    text: dict[str, str]
    feedback: dict[str, str]


@dataclass(frozen=True)
class Question:
    """One question: ``single`` has exactly one right option, ``multiple`` at least one."""

    key: str
    line: int
    kind: str
    text: dict[str, str]
    options: tuple[Option, ...]


def read_quiz(path: Path) -> dict[str, Question]:
    """The questions of a chapter by key, in order; empty when the chapter has no quiz file.

    Raises :class:`LessonError` for text that is not TOML, an unknown kind, a missing language, repeated option keys,
    and a number of right options that the kind does not allow.
    """
    if not path.is_file():
        return {}
    source = read_source(path, "no such quiz", "Create it")
    try:
        tables = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        raise LessonError(path, int(at[1]) if at else 1, f"not TOML: {error}", "Correct it") from None
    return {key: _question(path, _line_of(source, key), key, table) for key, table in tables.items()}


def _line_of(source: str, key: str) -> int:
    header = f"[{key}]"
    for number, line in enumerate(split_lines(source), start=1):
        if line.strip() == header:
            return number
    return 1


def _question(path: Path, line: int, key: str, table: Any) -> Question:
    def refuse(problem: str, cure: str) -> LessonError:
        return LessonError(path, line, f"question {key!r}: {problem}", cure)

    if not isinstance(table, dict) or table.get("kind") not in KINDS:
        got = table.get("kind") if isinstance(table, dict) else table
        raise refuse(f"kind {got!r}", f"Use one of {', '.join(KINDS)}")
    if not _KEY.fullmatch(key):
        raise refuse("not a name", "Use lower case, digits and hyphens")
    written = table.get("options", [])
    if not isinstance(written, list) or not all(isinstance(option, dict) for option in written):
        raise refuse("options that are not tables", f"Begin each with [[{key}.options]]")
    options = tuple(_option(path, line, key, option) for option in written)
    if len(options) < 2:
        raise refuse(f"{len(options)} options", "A question has two or more")
    keys = [option.key for option in options]
    repeated = sorted({name for name in keys if keys.count(name) > 1})
    if repeated:
        raise refuse(f"repeated option keys {', '.join(repeated)}", "Give each option its own key")
    right = sum(option.correct for option in options)
    if right == 0 or (table["kind"] == "single" and right > 1):
        raise refuse(f"{right} right options for kind {table['kind']!r}", "single: exactly one; multiple: one or more")
    return Question(key, line, table["kind"], _texts(path, line, f"question {key!r}", table, "text"), options)


def _option(path: Path, line: int, question: str, table: Any) -> Option:
    where = f"question {question!r}, option {table.get('key')!r}"
    if not isinstance(table.get("key"), str) or not isinstance(table.get("correct"), bool):
        raise LessonError(
            path, line, f"{where}: no key or no correct", 'Write key = "name" and correct = true or false'
        )
    return Option(
        table["key"],
        table["correct"],
        _texts(path, line, where, table, "text"),
        _texts(path, line, where, table, "feedback"),
    )


def _texts(path: Path, line: int, where: str, table: dict[str, Any], name: str) -> dict[str, str]:
    texts = {}
    for code in LANGUAGES:
        spoken = table.get(code)
        text = spoken.get(name) if isinstance(spoken, dict) else None
        if not isinstance(text, str) or not text.strip():
            raise LessonError(path, line, f"{where}: no {name} in {code}", f"Add {code}.{name}")
        texts[code] = text
    return texts
