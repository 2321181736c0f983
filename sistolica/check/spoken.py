"""Text that lives in a TOML file in both languages, with the lines it is on.

``es = "…"`` beside ``pt = "…"``, or ``es.text`` and ``es.feedback`` beside ``pt.text`` and ``pt.feedback``: wherever
one language speaks in a table, the other must say as much. ``tomllib`` knows no lines, so they are found by a scan of
the keys; a text inside an inline table or an array is placed at the key that holds it.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sistolica.check.fault import Findings
from sistolica.lesson import LessonError
from sistolica.lesson.source import read_source, split_lines
from tpu_kernels.messages import LANGUAGES

Place = tuple[str | int, ...]

_KEY = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_TABLE = re.compile(rf"\s*(?P<opening>\[\[?)\s*(?P<key>{_DOTTED})\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(rf"\s*(?P<key>{_DOTTED})\s*=\s*(?P<value>.*)$")
_LONG_STRING = re.compile(r"\"\"\"|'''")


@dataclass(frozen=True)
class SpokenText:
    """One text in each language; ``key`` is its dotted place without the language, ``lines`` where each starts."""

    key: str
    texts: dict[str, str]
    lines: dict[str, int]


def read_toml(path: Path, findings: Findings) -> tuple[str, dict[str, Any]]:
    """A TOML file's text and tables; text that is not TOML becomes a fault and reads as empty."""
    try:
        source = read_source(path, "no such file", "Create it")
    except LessonError as error:
        findings.add("toml", path, error.line, got=error.problem, expected="TOML in UTF-8", cure=error.cure)
        return "", {}
    try:
        return source, tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        line = int(at[1]) if at else 1
        findings.add("toml", path, line, got=f"text that is not TOML: {error}", expected="TOML", cure="Correct it")
        return source, {}


def spoken_texts(
    source: str, tables: dict[str, Any], missing: Callable[[str, str, int], None] | None = None
) -> list[SpokenText]:
    """Every text that both languages have; ``missing(key, language, line)`` hears of those that one has not."""
    lines = key_lines(source)
    found = []
    for place, sides in _speaking(tables, ()):
        leaves = {language: dict(_strings(sides.get(language), ())) for language in LANGUAGES}
        for rest in dict.fromkeys(rest for texts in leaves.values() for rest in texts):
            key = ".".join(str(part) for part in (*place, *rest))
            at = {language: _line(lines, (*place, language, *rest)) for language in LANGUAGES}
            absent = [language for language in LANGUAGES if not leaves[language].get(rest, "").strip()]
            if not absent:
                texts = {language: leaves[language][rest] for language in LANGUAGES}
                found.append(SpokenText(key, texts, at))
            elif missing is not None:
                missing(key, absent[0], max(at.values()))
    return found


def _speaking(value: Any, place: Place) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Every table in which a language speaks, with its place."""
    if isinstance(value, dict):
        if any(language in value for language in LANGUAGES):
            yield place, value
        for key, inner in value.items():
            if key not in LANGUAGES:
                yield from _speaking(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _speaking(inner, (*place, index))


def _strings(value: Any, rest: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(value, str):
        yield rest, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _strings(inner, (*rest, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _strings(inner, (*rest, index))


def key_lines(source: str) -> dict[Place, int]:
    """The line on which the value of each key starts, by its place in the tables."""
    lines: dict[Place, int] = {}
    counts: dict[Place, int] = {}
    table: Place = ()
    closing = ""
    for number, text in enumerate(split_lines(source), start=1):
        if closing:
            closing = "" if closing in text else closing
            continue
        if header := _TABLE.match(text):
            table = _table_place(_parts(header["key"]), header["opening"] == "[[", counts)
            lines.setdefault(table, number)
        elif assignment := _ASSIGNMENT.match(text):
            long = _LONG_STRING.match(assignment["value"])
            opened = long is not None and assignment["value"].count(long.group()) == 1
            closing = long.group() if long and opened else ""
            starts_below = closing and assignment["value"].strip() == closing
            lines[(*table, *_parts(assignment["key"]))] = number + 1 if starts_below else number
    return lines


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_KEY, dotted))


def _table_place(parts: tuple[str, ...], array: bool, counts: dict[Place, int]) -> Place:
    place: Place = ()
    for index, part in enumerate(parts):
        place = (*place, part)
        last = index == len(parts) - 1
        if last and array:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = (*place, counts[place])
    return place


def _line(lines: dict[Place, int], place: Place) -> int:
    """The line of a place, or of the nearest one around it."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)
