"""From a folder of submissions to a list: one entry per learner, in a stable order, each read or refused with a reason.

Understood: one folder per learner (``ana/….ipynb``), flat files (``ana.ipynb``), and nbgrader's layout
(``ana/matmul/matmul.ipynb``). Links are never followed: a link could point at anybody's file.
"""

import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from graders.notebook_file import (
    MAX_FILE,
    NO_NOTEBOOK,
    OK,
    TOO_LARGE,
    UNREADABLE,
    SubmittedNotebook,
    UnreadableNotebookError,
    read_notebook,
)

# What editors and systems leave behind.
_RUBBISH = re.compile(r"\.ipynb_checkpoints|__MACOSX|\..*|Thumbs\.db|desktop\.ini", re.IGNORECASE)
# Some browsers save a download they take for text under one more extension.
_NOTEBOOK = re.compile(r"\.ipynb(?:\.txt|\.json)?$", re.IGNORECASE)
_MAX_DEPTH = 6
MAX_FILES = 32 * 2**20  # bytes of a learner's data files together


@dataclass(frozen=True)
class Notice:
    """Something said aloud about a submission: a key of [notice] in messages.toml and what fills it."""

    key: str
    values: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Submission:
    """What one learner handed in. ``status`` is :data:`~graders.notebook_file.OK` or why it cannot be graded.

    ``learner`` is the name to show, ``key`` the same made safe for file names, unique in the batch; ``files`` are the
    other files beside the notebook, with their place relative to it.
    """

    learner: str
    key: str
    status: str
    values: dict[str, object] = field(default_factory=dict)
    notebook: SubmittedNotebook | None = None
    files: tuple[tuple[Path, Path], ...] = ()
    notices: tuple[Notice, ...] = ()


def read_submissions(folder: Path, lab_id: str, grade_ids: frozenset[str]) -> list[Submission]:
    """Every submission in ``folder``, sorted by learner. ``grade_ids``: the lab's, to choose among notebooks."""
    found: dict[str, list[Path]] = {}
    homes: dict[str, Path] = {}
    for entry in _entries(folder):
        if entry.is_dir():
            found.setdefault(entry.name, []).extend(_notebooks(entry, lab_id))
            homes[entry.name] = entry
        elif _is_notebook(entry):
            found.setdefault(_stem(entry), []).append(entry)
    named = sorted((shown_name(raw), raw) for raw in found)
    submissions: list[Submission] = []
    taken: set[str] = set()
    for learner, raw in named:
        key = _key(learner, taken)
        submissions.append(_read(learner, key, found[raw], homes.get(raw), lab_id, grade_ids))
    return submissions


def left_aside(folder: Path) -> list[str]:
    """The names of what lies in ``folder`` and is no submission: other files, links. Sorted."""
    names = [
        shown_name(entry.name)
        for entry in folder.iterdir()
        if not _RUBBISH.fullmatch(entry.name) and (entry.is_symlink() or (entry.is_file() and not _is_notebook(entry)))
    ]
    return sorted(names)


def shown_name(raw: str) -> str:
    """A file's name for people to read: accents composed, bytes that are not UTF-8 spelled out, nothing invisible."""
    text = raw.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    visible = "".join(char if char.isprintable() else "?" for char in unicodedata.normalize("NFC", text))
    return visible.strip() or "?"


def _is_notebook(path: Path) -> bool:
    return _NOTEBOOK.search(path.name) is not None


def _stem(path: Path) -> str:
    return _NOTEBOOK.sub("", path.name)


def _key(learner: str, taken: set[str]) -> str:
    base = re.sub(r"[^\w.@-]+", "_", learner).strip(".") or "_"
    base = base[:80]
    key, number = base, 2
    while key.casefold() in taken:
        key, number = f"{base}-{number}", number + 1
    taken.add(key.casefold())
    return key


def _entries(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if not entry.is_symlink() and not _RUBBISH.fullmatch(entry.name):
            yield entry


def _files(folder: Path, depth: int = 0) -> Iterator[Path]:
    for entry in _entries(folder):
        if entry.is_dir():
            if depth < _MAX_DEPTH:
                yield from _files(entry, depth + 1)
        elif entry.is_file():
            yield entry


def _notebooks(home: Path, lab_id: str) -> list[Path]:
    """The learner's notebooks; those in a folder named as the lab, as nbgrader lays them out, before any other."""
    found = [path for path in _files(home) if _is_notebook(path)]
    own = [path for path in found if path.relative_to(home).parts[0] == lab_id and path.parent != home]
    return own or found


def _read(
    learner: str, key: str, paths: list[Path], home: Path | None, lab_id: str, grade_ids: frozenset[str]
) -> Submission:
    if not paths:
        return Submission(learner, key, NO_NOTEBOOK)
    readings = [(path, *_attempt(path)) for path in paths]

    def rank(reading: tuple[Path, SubmittedNotebook | None, UnreadableNotebookError | None]) -> tuple[object, ...]:
        path, notebook, _ = reading
        known = {cell.grade_id for cell in notebook.cells} & grade_ids if notebook else set()
        return (-len(known), notebook is None, _stem(path) != lab_id, -path.stat().st_mtime_ns, str(path))

    path, notebook, problem = min(readings, key=rank)
    notices: list[Notice] = []
    if len(paths) > 1:
        others = sorted(shown_name(other.name) for other in paths if other != path)
        notices.append(Notice("several", {"chosen": shown_name(path.name), "others": ", ".join(others)}))
    if problem is not None:
        return Submission(learner, key, problem.status, problem.values, notices=tuple(notices))
    if _stem(path) != lab_id and home is not None:
        notices.append(Notice("renamed", {"name": shown_name(path.name), "expected": f"{lab_id}.ipynb"}))
    files, left_out = _beside(path.parent) if home is not None else ([], [])
    if left_out:
        notices.append(Notice("files-left-out", {"names": ", ".join(left_out), "most": MAX_FILES // 2**20}))
    return Submission(learner, key, OK, notebook=notebook, files=tuple(files), notices=tuple(notices))


def _attempt(path: Path) -> tuple[SubmittedNotebook | None, UnreadableNotebookError | None]:
    try:
        if path.stat().st_size > MAX_FILE:
            raise UnreadableNotebookError(TOO_LARGE, most=MAX_FILE // 2**20)
        return read_notebook(path.read_bytes()), None
    except UnreadableNotebookError as error:
        return None, error
    except OSError as error:
        return None, UnreadableNotebookError(UNREADABLE, reason=os.strerror(error.errno or 0))


def _beside(folder: Path) -> tuple[list[tuple[Path, Path]], list[str]]:
    """The data files that go with a notebook, each with its place relative to it; and the names of those too many."""
    kept: list[tuple[Path, Path]] = []
    left_out: list[str] = []
    room = MAX_FILES
    for path in _files(folder):
        if _is_notebook(path):
            continue
        room -= path.stat().st_size
        if room < 0:
            left_out.append(shown_name(path.name))
        else:
            kept.append((path, path.relative_to(folder)))
    return kept, left_out
