"""Prose: a page in one language, split where it places cells and quiz questions.

A cell is placed by name, its code is written elsewhere::

    ```{code-cell}
    :cell: operand-reads
    :alt: required when the cell shows an image
    :tags: hide-cell
    ```
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sistolica.lesson.errors import LessonError
from sistolica.lesson.source import read_source, split_lines

# After backticks no backtick may follow in the line: ```x``` is code inside a sentence.
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}(?!.*`)|~{3,}|:{3,})\s*(?P<info>.*?)\s*$")
_OPTION = re.compile(r":(?P<key>[a-z_-]+):\s*(?P<value>.*?)\s*$")
_QUIZ = re.compile(r"\{quiz\}\s*(?P<key>\S*)$")
_ROLE = re.compile(r"\{(?P<role>[a-z]+)\}`(?P<text>[^`]+)`")
_CELL_OPTIONS = frozenset({"cell", "alt", "tags"})
# What MyST-NB folds, hides or widens; its tags that let a cell fail or stay unexecuted are not for us.
CELL_TAGS = frozenset(
    [f"{what}-{part}" for what in ("hide", "remove") for part in ("input", "output", "cell")]
    + ["full-width", "margin", "output_scroll"]
)


@dataclass(frozen=True)
class Markdown:
    """A stretch of MyST Markdown that starts at ``line``."""

    text: str
    line: int


@dataclass(frozen=True)
class Placement:
    """A named cell put at ``line``; ``alt`` describes the image it shows, in the page's language."""

    cell: str
    line: int
    alt: str | None
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Prose:
    """A page as written: its front matter, its segments in order, the quiz questions and roles in them, with lines."""

    path: Path
    front_matter: Mapping[str, Any] = field(default_factory=dict)
    segments: tuple[Markdown | Placement, ...] = ()
    quiz_keys: tuple[tuple[str, int], ...] = ()

    @property
    def placements(self) -> list[Placement]:
        return [segment for segment in self.segments if isinstance(segment, Placement)]

    def roles(self, name: str) -> list[tuple[str, int]]:
        """The text of each ``{name}`` role in the prose, with its line."""
        return [
            (text, segment.line + offset)
            for segment in self.segments
            if isinstance(segment, Markdown)
            for offset, line in enumerate(split_lines(segment.text))
            for text in find_roles(line, name)
        ]


def find_roles(text: str, name: str) -> list[str]:
    """The content of each ``{name}`` role in a stretch of Markdown."""
    return [role["text"] for role in _ROLE.finditer(text) if role["role"] == name]


def read_prose(path: Path) -> Prose:
    """Read one page. Raises :class:`LessonError` for a missing file and for a cell placed wrongly."""
    absent, cure = "this page is missing in its language", "Write it: both languages have the same files"
    return parse_prose(path, read_source(path, absent, cure))


def parse_prose(path: Path, text: str) -> Prose:
    """Like :func:`read_prose`, from text already in hand."""
    lines = split_lines(text)
    front_matter, first = _front_matter(path, lines)
    segments: list[Markdown | Placement] = []
    quiz_keys: list[tuple[str, int]] = []
    pending = first
    number = first
    while number < len(lines):
        opening = find_fence(lines[number])
        if opening is None:
            number += 1
            continue
        end = fence_end(path, lines, number)
        body = lines[number + 1 : end]
        if opening["info"].startswith("{code-cell}"):
            _append_markdown(segments, lines, pending, number)
            segments.append(_placement(path, number + 1, opening["info"], body))
            pending = end + 1
        elif quiz := _QUIZ.match(opening["info"]):
            quiz_keys.append((_quiz_key(path, number + 1, quiz["key"], body), number + 1))
        elif opening["info"].startswith("{"):
            _refuse_nested(path, number + 2, body)
        number = end + 1
    _append_markdown(segments, lines, pending, len(lines))
    return Prose(path, front_matter, tuple(segments), tuple(quiz_keys))


def _front_matter(path: Path, lines: list[str]) -> tuple[dict[str, Any], int]:
    if not lines or lines[0].rstrip() != "---":
        return {}, 0
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "---":
            try:
                found = yaml.safe_load("\n".join(lines[1:number])) or {}
            except yaml.YAMLError as error:
                raise LessonError(path, 1, f"front matter is not YAML: {error}", "Correct it") from None
            if not isinstance(found, dict):
                raise LessonError(path, 1, "front matter is not a table of key: value", "Correct it")
            return json.loads(json.dumps(found, default=str)), number + 1  # a notebook's metadata knows no dates
    raise LessonError(path, 1, "front matter opened with --- is never closed", "Close it with a line ---")


def find_fence(line: str) -> re.Match[str] | None:
    """The opening of a fenced block, with its ``fence`` and ``info``, or ``None``."""
    return _FENCE.match(line)


def fence_end(path: Path, lines: list[str], start: int, first_line: int = 1) -> int:
    """The index of the line that closes the block opened at ``lines[start]``.

    ``first_line`` is the line of ``path`` that ``lines[0]`` is. Raises :class:`LessonError` for a block left open.
    """
    opening = _FENCE.match(lines[start])
    assert opening is not None
    fence = opening["fence"]
    closing = re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}\s*$")
    for number in range(start + 1, len(lines)):
        if closing.match(lines[number]):
            return number
    raise LessonError(
        path, first_line + start, f"block opened with {fence} is never closed", f"Close it with a line {fence}"
    )


def _append_markdown(segments: list[Markdown | Placement], lines: list[str], start: int, end: int) -> None:
    while start < end and not lines[start].strip():
        start += 1
    text = "\n".join(lines[start:end]).rstrip()
    if text:
        segments.append(Markdown(text, start + 1))


def _placement(path: Path, line: int, info: str, body: list[str]) -> Placement:
    if info != "{code-cell}":
        raise LessonError(
            path, line, f"code-cell with an argument: {info!r}", "Write {code-cell} and name the cell with :cell:"
        )
    options: dict[str, str] = {}
    for offset, text in enumerate(body, start=1):
        option = _OPTION.match(text)
        if option is None:
            if text.strip():
                raise LessonError(
                    path,
                    line + offset,
                    f"code in the prose: {text.strip()!r}",
                    "Code lives once, in the lesson's script",
                )
            continue
        if option["key"] not in _CELL_OPTIONS:
            raise LessonError(
                path,
                line + offset,
                f"unknown option {option['key']!r}",
                f"Use one of {', '.join(sorted(_CELL_OPTIONS))}",
            )
        if option["key"] in options:
            raise LessonError(path, line + offset, f"option {option['key']!r} given twice", "Keep one of the two")
        options[option["key"]] = option["value"]
    if not options.get("cell"):
        raise LessonError(path, line, "code-cell that names no cell", "Add :cell: with a name from the lesson's script")
    if "alt" in options and not options["alt"]:
        raise LessonError(path, line, "empty :alt:", "Say what the image shows and the number to take away")
    tags = tuple(options.get("tags", "").replace(",", " ").split())
    for tag in tags:
        if tag not in CELL_TAGS:
            raise LessonError(path, line, f"unknown tag {tag!r}", f"Use one of {', '.join(sorted(CELL_TAGS))}")
    return Placement(options["cell"], line, options.get("alt"), tags)


def _quiz_key(path: Path, line: int, key: str, body: list[str]) -> str:
    if not key:
        raise LessonError(path, line, "quiz without a question key", "Write {quiz} and the key from the quiz file")
    if any(text.strip() for text in body):
        raise LessonError(path, line, f"quiz {key!r} has text here", "Questions live once, in the lesson's quiz file")
    return key


def _refuse_nested(path: Path, first: int, body: list[str]) -> None:
    for offset, line in enumerate(body):
        opening = _FENCE.match(line.strip())
        if opening and opening["info"].startswith(("{code-cell}", "{quiz}")):
            raise LessonError(
                path,
                first + offset,
                f"{opening['info'].split('}')[0]}}} inside another block",
                "Move it out: cells and questions stand at the top level of a page",
            )
