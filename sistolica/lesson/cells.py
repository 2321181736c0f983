"""Named cells: a percent-format script read as the code of a lesson or a lab.

A cell starts at ``# %% name`` and may carry options (``# %% name timeout="60"``). Lines that begin with ``#es `` or
``#pt `` are comments for the readers of one language; each group of them speaks to both.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sistolica.lesson.errors import LessonError
from tpu_kernels.messages import LANGUAGES

_HEADER = re.compile(r"# %%(?P<rest>.*)$")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_OPTION = re.compile(r'\s+(?P<key>[a-z_]+)="(?P<value>[^"]*)"')
_SPOKEN = re.compile(rf"(?P<indent>\s*)#(?P<lang>{'|'.join(LANGUAGES)})(?: (?P<text>.*))?$")


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
        for line in self.source.splitlines():
            spoken = _SPOKEN.match(line)
            if spoken is None:
                kept.append(line)
            elif spoken["lang"] == lang:
                kept.append(f"{spoken['indent']}# {spoken['text'] or ''}".rstrip())
        return "\n".join(kept)


def read_cells(path: Path) -> dict[str, Cell]:
    """The cells of a script by name, in order.

    Raises :class:`LessonError` for a missing file, a header without a sound name, a duplicate name, an empty cell,
    code before the first header, and a comment that speaks to one language only.
    """
    lines = _lines(path)
    starts = [number for number, line in enumerate(lines) if _HEADER.match(line)]
    _refuse_code_before_first_header(path, lines[: starts[0]] if starts else lines)
    cells: dict[str, Cell] = {}
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
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


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise LessonError(path, 1, "no such lesson script", "Create it, or correct the name") from None
    except UnicodeDecodeError as error:
        raise LessonError(
            path, 1, f"not UTF-8 text: {error.reason} at byte {error.start}", "Save it as UTF-8"
        ) from None


def _refuse_code_before_first_header(path: Path, preamble: list[str]) -> None:
    for number, line in enumerate(preamble, start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            raise LessonError(
                path,
                number,
                f"code before the first cell: {line.strip()!r}",
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
    options, tail = _read_options(rest[name.end() :])
    if tail.strip():
        raise LessonError(
            path,
            number,
            f"cell header not understood after {name.group()!r}: {tail.strip()!r}",
            'Options read key="value"',
        )
    body = lines[1:]
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
