"""Named cells: a percent-format script read as the code of a lesson or a lab.

A cell starts at ``# %% name`` and may carry options (``# %% name timeout="60"``). Lines that begin with ``#es `` or
``#pt `` are comments for the readers of one language; each group of them speaks to both.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sistolica.lesson.errors import LessonError
from sistolica.lesson.source import read_source, split_lines
from tpu_kernels.messages import LANGUAGES

OPTIONS = ("check", "timeout")  # which exercise of a lab the cell checks; seconds that it may run
_HEADER = re.compile(r"# %%(?P<rest>.*)$")
_ALMOST_HEADER = re.compile(r"\s*#\s*%%")
_RESERVED = re.compile(r"prose-\d+")  # ids of the prose between the cells
_LONGEST_NAME = 64  # characters: the name is the cell's id in a notebook, and nbformat allows no more
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_OPTION = re.compile(r'\s+(?P<key>[a-z_]+)="(?P<value>[^"]*)"')
_SPOKEN = re.compile(rf"(?P<indent>\s*)#(?P<lang>{'|'.join(LANGUAGES)})(?:[ \t](?P<text>.*))?$")


@dataclass(frozen=True)
class Cell:
    """One named piece of code. ``line`` is the header's line in ``path``; ``source`` still speaks every language."""

    name: str
    path: Path
    line: int
    options: Mapping[str, str]
    source: str

    def for_language(self, lang: str) -> str:
        """The code as a reader of ``lang`` sees it: their comments made ordinary, the others' gone."""
        kept = []
        for line in split_lines(self.source):
            spoken = _SPOKEN.match(line)
            if spoken is None:
                kept.append(line)
            elif spoken["lang"] == lang:
                kept.append(f"{spoken['indent']}# {spoken['text'] or ''}".rstrip())
        return "\n".join(kept)


def read_cells(path: Path) -> dict[str, Cell]:
    """The cells of a script by name, in order.

    Raises :class:`LessonError` for a missing file, a header without a sound name, an unknown option, a duplicate name,
    an empty cell, code before the first header, and a comment that speaks to one language only.
    """
    lines = split_lines(read_source(path, "no such lesson script", "Create it, or correct the name"))
    starts = [number for number, line in enumerate(lines) if _HEADER.match(line)]
    _refuse_code_before_first_header(path, lines[: starts[0]] if starts else lines)
    cells: dict[str, Cell] = {}
    for start, end in zip(starts, [*starts, len(lines)][1:], strict=True):
        cell = _read_cell(path, start, lines[start:end])
        if cell.name in cells:
            raise LessonError(
                path,
                cell.line,
                f"duplicate cell name {cell.name!r}: line {cells[cell.name].line} has it already",
                "Give one of the two another name",
            )
        cells[cell.name] = cell
    return cells


def _refuse_code_before_first_header(path: Path, preamble: list[str]) -> None:
    """Comments may stand there, and a docstring."""
    try:
        statements = ast.parse("\n".join(preamble)).body
    except SyntaxError as error:
        number = min(error.lineno or 1, len(preamble))
    else:
        if ast.get_docstring(ast.Module(statements, [])) is not None:
            statements = statements[1:]
        if not statements:
            return
        number = statements[0].lineno
    raise LessonError(
        path,
        number,
        f"code before the first cell: {preamble[number - 1].strip()!r}",
        'Put it in a cell: start one with "# %% name"',
    )


def _read_cell(path: Path, start: int, lines: list[str]) -> Cell:
    number = start + 1
    header = _HEADER.match(lines[0])
    assert header is not None
    rest = header["rest"].strip()
    name = _NAME.match(rest)
    if name is None:
        raise LessonError(
            path,
            number,
            f"cell header without a name: {lines[0]!r}",
            'Write "# %% some-name", in lower case with hyphens',
        )
    if _RESERVED.fullmatch(name.group()):
        raise LessonError(path, number, f"cell name {name.group()!r} is reserved", "Say what the cell does")
    if len(name.group()) > _LONGEST_NAME:
        raise LessonError(path, number, f"cell name of {len(name.group())} characters", f"Use at most {_LONGEST_NAME}")
    options, tail = _read_options(rest[name.end() :])
    if tail.strip():
        raise LessonError(
            path,
            number,
            f"cell header not understood after {name.group()!r}: {tail.strip()!r}",
            'Options read key="value"',
        )
    _refuse_bad_options(path, number, options)
    body = lines[1:]
    _refuse_almost_headers(path, number + 1, body)
    if not any(line.strip() for line in body):
        raise LessonError(path, number, f"cell {name.group()!r} is empty", "Write its code or remove the header")
    _refuse_one_sided_comments(path, number + 1, body)
    return Cell(name.group(), path, number, options, "\n".join(body).strip("\n"))


def _read_options(text: str) -> tuple[dict[str, str], str]:
    options: dict[str, str] = {}
    while option := _OPTION.match(text):
        options[option["key"]] = option["value"]
        text = text[option.end() :]
    return options, text


def _refuse_almost_headers(path: Path, first: int, body: list[str]) -> None:
    for number, line in enumerate(body, start=first):
        if _ALMOST_HEADER.match(line):
            raise LessonError(
                path, number, f"cell header not understood: {line.strip()!r}", 'Write "# %% name" at the line\'s start'
            )


def _refuse_bad_options(path: Path, line: int, options: Mapping[str, str]) -> None:
    for key, value in options.items():
        if key not in OPTIONS:
            raise LessonError(path, line, f"unknown option {key!r} of a cell", f"Use one of {', '.join(OPTIONS)}")
        if key == "timeout" and not (value.isascii() and value.isdigit() and int(value) > 0):
            raise LessonError(path, line, f"timeout {value!r}", 'Write whole seconds, such as timeout="60"')


def _refuse_one_sided_comments(path: Path, first: int, body: list[str]) -> None:
    group: dict[str, int] = {}
    for number, line in enumerate([*body, ""], start=first):
        spoken = _SPOKEN.match(line)
        if spoken is not None:
            group.setdefault(spoken["lang"], number)
            continue
        missing = [code for code in LANGUAGES if code not in group]
        if group and missing:
            raise LessonError(
                path,
                min(group.values()),
                f"comment in {', '.join(group)} with none in {', '.join(missing)} beside it",
                f"Add a line that begins with #{missing[0]} right after it",
            )
        group = {}
