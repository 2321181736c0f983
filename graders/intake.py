"""From a folder of submissions to a list: one entry per learner, in a stable order, each read or refused with a reason.

Understood: one folder per learner (``ana/….ipynb``), flat files (``ana.ipynb``), and nbgrader's layout
(``ana/matmul/matmul.ipynb``). Links are never followed: a link could point at anybody's file.
"""

import hashlib
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
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
_LONGEST_KEY = 200  # bytes
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
    """Every submission in ``folder``, sorted by learner. ``grade_ids``: the lab's, to choose among notebooks.

    Raises ``OSError`` when ``folder`` itself cannot be read.
    """
    found: dict[str, list[Path]] = {}
    homes: dict[str, Path] = {}
    refused: dict[str, list[OSError]] = {}
    # Absolute: nbgrader changes the working folder while the notebooks, and what lies beside them, are still in use.
    for entry in _entries(folder.absolute()):
        if entry.is_dir():
            found.setdefault(entry.name, []).extend(_notebooks(entry, lab_id, refused.setdefault(entry.name, [])))
            homes[entry.name] = entry
        elif _is_notebook(entry) and entry.is_file():
            found.setdefault(_stem(entry), []).append(entry)
    learners = _told_apart(found)
    keys = _keys(learners.values())
    return [
        _no_notebook(learner, keys[learner], refused.get(raw, []))
        if not found[raw]
        else _read(learner, keys[learner], found[raw], homes.get(raw), lab_id, grade_ids)
        for raw, learner in learners.items()
    ]


def left_aside(folder: Path) -> list[str]:
    """The names of what lies in ``folder`` and is no submission: other files, links. Sorted."""
    names = [
        shown_name(entry.name)
        for entry in folder.iterdir()
        if not _RUBBISH.fullmatch(entry.name)
        and (entry.is_symlink() or not (entry.is_dir() or (entry.is_file() and _is_notebook(entry))))
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


def _told_apart(raw_names: Iterable[str]) -> dict[str, str]:
    """The name to show for each raw one, in order; of those that look the same, all but the first get a number."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for looks, raw in sorted((shown_name(raw), raw) for raw in raw_names):
        name, number = looks, 2
        while name in taken:
            name, number = f"{looks} ({number})", number + 1
        taken.add(name)
        names[raw] = name
    return names


def _keys(learners: Iterable[str]) -> dict[str, str]:
    """A name for files for each learner: safe, and no two the same even where case does not count.

    Of those that would share one, it stays with whoever is called so to the letter, and the others get a digest of
    their name: a record of the gradebook does not change hands because somebody with a similar name hands in.
    """
    safe = {learner: _safe(learner) for learner in sorted(learners)}
    groups = Counter(key.casefold() for key in safe.values())
    owners = {key.casefold(): learner for learner, key in safe.items() if learner == key}
    return {
        learner: key
        if groups[key.casefold()] == 1 or owners.get(key.casefold()) == learner
        else _with_digest(key, learner)
        for learner, key in safe.items()
    }


def _safe(learner: str) -> str:
    cleaned = re.sub(r"[^\w.@-]+", "_", learner).strip(".") or "_"
    # By bytes, which is how file systems count; the rest of the 255 is for digests and extensions.
    return cleaned.encode("utf-8")[:_LONGEST_KEY].decode("utf-8", "ignore")


def _with_digest(key: str, learner: str) -> str:
    return f"{key}-{hashlib.sha256(learner.encode('utf-8')).hexdigest()[:8]}"


def _entries(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if not entry.is_symlink() and not _RUBBISH.fullmatch(entry.name):
            yield entry


def _files(folder: Path, refused: list[OSError], depth: int = 0) -> Iterator[Path]:
    """The files in ``folder``, as deep as people nest them; a folder that cannot be read goes to ``refused``."""
    try:
        entries = list(_entries(folder))
    except OSError as error:
        refused.append(error)
        return
    for entry in entries:
        if entry.is_dir():
            if depth < _MAX_DEPTH:
                yield from _files(entry, refused, depth + 1)
        elif entry.is_file():
            yield entry


def _notebooks(home: Path, lab_id: str, refused: list[OSError]) -> list[Path]:
    """The learner's notebooks; those in a folder named as the lab, as nbgrader lays them out, before any other."""
    found = [path for path in _files(home, refused) if _is_notebook(path)]
    own = [path for path in found if path.relative_to(home).parts[0] == lab_id and path.parent != home]
    return own or found


def _no_notebook(learner: str, key: str, refused: list[OSError]) -> Submission:
    if refused:
        return Submission(learner, key, UNREADABLE, {"reason": os.strerror(refused[0].errno or 0)})
    return Submission(learner, key, NO_NOTEBOOK)


def _read(
    learner: str, key: str, paths: list[Path], home: Path | None, lab_id: str, grade_ids: frozenset[str]
) -> Submission:
    readings = [(path, *_attempt(path)) for path in paths]

    def rank(reading: tuple[Path, SubmittedNotebook | None, UnreadableNotebookError | None]) -> tuple[object, ...]:
        path, notebook, _ = reading
        known = {cell.grade_id for cell in notebook.cells} & grade_ids if notebook else set()
        age = -path.stat().st_mtime_ns if notebook else 0  # what could not be read may be gone by now
        return (-len(known), notebook is None, _stem(path) != lab_id, age, str(path))

    path, notebook, problem = min(readings, key=rank)
    notices: list[Notice] = []
    if len(paths) > 1:
        others = sorted(shown_name(other.name) for other in paths if other != path)
        notices.append(Notice("several", {"chosen": shown_name(path.name), "others": ", ".join(others)}))
    if problem is not None:
        return Submission(learner, key, problem.status, problem.values, notices=tuple(notices))
    if _stem(path) != lab_id and home is not None:
        notices.append(Notice("renamed", {"name": shown_name(path.name), "expected": f"{lab_id}.ipynb"}))
    files, too_much, unreadable = _beside(path.parent) if home is not None else ([], [], [])
    if too_much:
        notices.append(Notice("files-left-out", {"names": ", ".join(too_much), "most": MAX_FILES // 2**20}))
    if unreadable:
        notices.append(Notice("files-unreadable", {"names": ", ".join(unreadable)}))
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


def _beside(folder: Path) -> tuple[list[tuple[Path, Path]], list[str], list[str]]:
    """The data files that go with a notebook, each with its place relative to it.

    And the names of those that are too many, and of those that cannot be read.
    """
    kept: list[tuple[Path, Path]] = []
    too_much: list[str] = []
    refused: list[OSError] = []
    unreadable: list[str] = []
    room = MAX_FILES
    for path in _files(folder, refused):
        if _is_notebook(path):
            continue
        if not os.access(path, os.R_OK):
            unreadable.append(shown_name(path.name))
            continue
        room -= path.stat().st_size
        if room < 0:
            too_much.append(shown_name(path.name))
        else:
            kept.append((path, path.relative_to(folder)))
    unreadable += [shown_name(Path(os.fsdecode(error.filename)).name) for error in refused]
    return kept, too_much, unreadable
