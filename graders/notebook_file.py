"""Read one handed-in file, whatever an editor, a browser or a merge has done to it.

Nothing here asks nbformat's schema for leave: cells are taken where they can be found (formats 3 and 4, ids or not,
widgets half saved), and what cannot be read is refused with a reason that has a line number.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# Reasons, as the messages' keys name them ([status] in messages.toml).
OK = "ok"
EMPTY = "empty"
NOT_JSON = "not-json"
CONFLICT = "conflict"
HTML = "html"
NOT_NOTEBOOK = "not-notebook"
TOO_LARGE = "too-large"
UNREADABLE = "unreadable"
NO_NOTEBOOK = "no-notebook"
UNRECOGNISED = "unrecognised"
CHECK_FAULT = "check-fault"
GRADER_FAULT = "grader-fault"

MAX_FILE = 64 * 2**20
_CONFLICT_MARK = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?:\s|$)", re.MULTILINE)
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


class UnreadableNotebookError(Exception):
    """A file that cannot be graded: ``status`` is the reason's key, ``values`` fill its message."""

    def __init__(self, status: str, **values: object) -> None:
        super().__init__(f"{status} {values}")
        self.status = status
        self.values = values


@dataclass(frozen=True)
class SubmittedCell:
    """One cell as handed in: its ``number`` in the file from 1, and the names by which the master may know it."""

    number: int
    type: str
    source: str
    grade_id: str | None
    name: str | None


@dataclass(frozen=True)
class SubmittedNotebook:
    """The cells, and the lab and language that its release wrote into the metadata, where they are still there."""

    cells: tuple[SubmittedCell, ...]
    lab: str | None
    lang: str | None


def read_notebook(data: bytes) -> SubmittedNotebook:
    """The notebook in ``data``; raises :class:`UnreadableNotebookError`."""
    text = _decode(data)
    if not text.strip():
        raise UnreadableNotebookError(EMPTY)
    notebook = _parse(text)
    if not isinstance(notebook, dict):
        raise UnreadableNotebookError(NOT_NOTEBOOK)
    raw_cells = _raw_cells(notebook)
    if raw_cells is None:
        raise UnreadableNotebookError(NOT_NOTEBOOK)
    cells = tuple(_cell(number, raw) for number, raw in enumerate(raw_cells, start=1) if isinstance(raw, dict))
    about = _table(_table(notebook, "metadata"), "sistolica")
    lab, lang = (value if isinstance(value := about.get(key), str) else None for key in ("lab", "lang"))
    return SubmittedNotebook(cells, lab, lang)


def _decode(data: bytes) -> str:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")  # what an old Windows editor saves; the JSON around it is ASCII


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        start = text.lstrip()[:200].lower()
        if start.startswith(("<!doctype html", "<html")):
            raise UnreadableNotebookError(HTML) from None
        mark = _CONFLICT_MARK.search(text)
        if mark is not None:
            raise UnreadableNotebookError(CONFLICT, line=text.count("\n", 0, mark.start()) + 1) from None
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise UnreadableNotebookError(NOT_JSON, line=line) from None


def _raw_cells(notebook: dict[str, Any]) -> list[Any] | None:
    if isinstance(notebook.get("cells"), list):
        return list(notebook["cells"])
    sheets = notebook.get("worksheets")  # format 3
    if isinstance(sheets, list):
        return [cell for sheet in sheets if isinstance(sheet, dict) for cell in _list(sheet, "cells")]
    return None


def _cell(number: int, raw: dict[str, Any]) -> SubmittedCell:
    metadata = _table(raw, "metadata")
    grade_id = _table(metadata, "nbgrader").get("grade_id")
    name = _table(metadata, "sistolica").get("cell")
    return SubmittedCell(
        number,
        "code" if raw.get("cell_type") == "code" else "markdown",
        _source(raw.get("source", raw.get("input", ""))),
        grade_id if isinstance(grade_id, str) else None,
        name if isinstance(name, str) else None,
    )


def _source(written: Any) -> str:
    text = "".join(_strings(written)) if isinstance(written, list) else written if isinstance(written, str) else ""
    # A lone surrogate cannot be written to any file; a NUL cannot be run.
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")


def _strings(items: list[Any]) -> Iterator[str]:
    return (item for item in items if isinstance(item, str))


def _table(parent: dict[str, Any], key: str) -> dict[str, Any]:
    found = parent.get(key)
    return found if isinstance(found, dict) else {}


def _list(parent: dict[str, Any], key: str) -> list[Any]:
    found = parent.get(key)
    return found if isinstance(found, list) else []
