"""nbgrader's course folder and gradebook, written through nbgrader's own API, in this process.

``OUT/gradebook`` is an ordinary nbgrader course: JupyterLab started there shows it in formgrader. One process writes,
and keeps the database open for as long as it grades: nbgrader's converters open it anew for each of their steps, which
costs more than to judge a submission. What is stored of a submission is stored together or not at all.
"""

import contextlib
import logging
import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import nbformat
from nbformat import NotebookNode
from nbgrader.api import BaseCell, Comment, Grade, Gradebook, MissingEntry, SubmittedNotebook
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_task
from traitlets.config import Config, LoggingConfigurable
from traitlets.config.loader import PyFileConfigLoader

from graders.gradebook_database import (
    GradebookBusyError,
    GradebookError,
    make_database,
    opened,
    said_plainly,
    transaction,
)

__all__ = ["CourseGradebook", "GradebookBusyError", "GradebookError"]

CONFIG_FILE = "nbgrader_config.py"
TIMESTAMP = "timestamp.txt"  # beside a notebook handed in, nbgrader's record of when that was
LOCK_WAIT_S = 30
_EXCEPTION_LINE = re.compile(r"^[\w.]+: .*$", re.MULTILINE)


class CourseGradebook:
    """The gradebook of one lab in ``folder``. Close it, or use it in a ``with``.

    Every method raises :class:`GradebookError` when nbgrader refuses, and its :class:`GradebookBusyError` when another
    program holds the database.
    """

    def __init__(self, folder: Path, lab_id: str) -> None:
        self.folder = folder.resolve()
        self.lab_id = lab_id
        self.folder.mkdir(parents=True, exist_ok=True)
        database = self.folder / "gradebook.db"
        self._url = f"sqlite:///{database}?timeout={LOCK_WAIT_S}"
        self._heard = _Heard()
        log = logging.Logger("nbgrader")  # of our own: what nbgrader logs is for us, not for the instructor's screen
        log.addHandler(self._heard)
        self._parent = LoggingConfigurable(log=log)
        settings = self.folder / CONFIG_FILE
        if not settings.exists():
            settings.write_text(_CONFIG, encoding="utf-8")
        if not database.exists():
            make_database(database)
        self._opened: Gradebook | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database; the next use opens it again."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def assign(self, source: NotebookNode) -> None:
        """Make the lab known, from its source notebook. Repeating it with the same cells changes nothing.

        Raises :class:`GradebookError` when grades exist for a lab with other cells.
        """
        kept, text = self._notebook("source"), _written(source)
        release = self._notebook("release")
        known = kept.is_file() and kept.read_text(encoding="utf-8") == text and release.is_file()
        if known and self._knows_lab():
            return
        shutil.rmtree(release.parent, ignore_errors=True)  # made last: where it is, the database holds its cells
        _write(kept, text)
        course = CourseDirectory(root=str(self.folder), db_url=self._url, assignment_id=self.lab_id)
        course.log = log = self._parent.log
        converter = GenerateAssignment(coursedir=course, parent=self._parent, log=log, force=True)
        self._heard.reason = ""
        with said_plainly():
            try:
                converter.start()
            except NbGraderException as error:
                raise NbGraderException(self._heard.reason or str(error)) from error

    def record(self, student: str, rebuilt: NotebookNode, executed: NotebookNode) -> float:
        """Store what ``student`` handed in and what came of it; the score that the gradebook now holds.

        A manual grade given in formgrader before is kept. Raises ``ValueError`` for a score that is none.
        """
        _require_scores(executed)
        place = self._notebook("submitted", student)
        _write(place, _written(rebuilt))
        received = place.with_name(TIMESTAMP)
        timestamp = received.read_text(encoding="utf-8") if received.is_file() else ""
        when = {"timestamp": timestamp.strip()} if timestamp else {}
        with self._transaction() as gradebook:
            gradebook.update_or_create_student(student)
            submission = gradebook.update_or_create_submission(self.lab_id, student, **when)
            notebook = gradebook.find_submission_notebook(self.lab_id, self.lab_id, student)
            notebook.late_submission_penalty = None
            _save_scores(gradebook, notebook, executed)
            gradebook.db.flush()
            score, late = float(submission.score), submission.total_seconds_late > 0
        if late:
            self._penalise(student, executed)
        graded = self._notebook("autograded", student)
        _write(graded, _written(executed), read_only=True)
        if timestamp:
            _write(graded.with_name(TIMESTAMP), timestamp, read_only=True)
        return score

    def enrol(self, student: str) -> float | None:
        """Make the learner known, also one whose submission could not be graded.

        The score that the gradebook holds from an earlier submission, if there is one: it is left as it is.
        """
        with self._transaction() as gradebook:
            gradebook.update_or_create_student(student)
            try:
                return float(gradebook.find_submission(self.lab_id, student).score)
            except MissingEntry:
                return None

    def _penalise(self, student: str, executed: NotebookNode) -> None:
        """What being late costs, by the course's own settings; nbgrader's step opens the gradebook by itself."""
        loader = PyFileConfigLoader(CONFIG_FILE, path=str(self.folder))
        with said_plainly():
            penalties = AssignLatePenalties(parent=self._parent, config=Config(loader.load_config()))
            about = {"notebook": self.lab_id, "assignment": self.lab_id, "student": student, "db_url": self._url}
            penalties.preprocess(executed, {"nbgrader": about})

    def _knows_lab(self) -> bool:
        with self._transaction() as gradebook:
            try:
                gradebook.find_notebook(self.lab_id, self.lab_id)
            except MissingEntry:
                return False
        return True

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Any]:
        with said_plainly():
            if self._opened is None:
                self._opened = opened(self._url)
            with transaction(self._opened):
                yield self._opened

    def _notebook(self, step: str, student: str = ".") -> Path:
        return self.folder / step / student / self.lab_id / f"{self.lab_id}.ipynb"


class _Heard(logging.Handler):
    """Keeps the exception of the last traceback that nbgrader logged: its own exceptions only point to its log."""

    reason = ""

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage().strip()
        if message.startswith("Traceback"):
            self.reason = (_EXCEPTION_LINE.findall(message) or [""])[-1]


def _save_scores(gradebook: Any, notebook: SubmittedNotebook, executed: NotebookNode) -> None:
    """What nbgrader's ``SaveAutoGrades`` stores, by two queries instead of one for each cell."""
    cells = {cell.metadata.nbgrader["grade_id"]: cell for cell in executed.cells if "nbgrader" in cell.metadata}

    def stored(kind: type[Grade] | type[Comment]) -> Iterator[tuple[Any, NotebookNode]]:
        named = gradebook.db.query(kind, BaseCell.name).join(BaseCell, BaseCell.id == kind.cell_id)
        for entry, name in named.filter(kind.notebook_id == notebook.id):
            yield entry, cells[name]

    for grade, cell in stored(Grade):
        if is_grade(cell):
            grade.auto_score, _ = determine_grade(cell)
            grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
    for comment, cell in stored(Comment):
        untouched = cell.metadata.nbgrader.get("checksum") == compute_checksum(cell) and not is_task(cell)
        comment.auto_comment = "No response." if untouched else None


def _require_scores(executed: NotebookNode) -> None:
    """Each test cell shows one number from 0 to its points and nothing else.

    nbgrader would take less for an answer: text, a negative number and NaN are full marks to it, and a line on stderr
    is none at all.
    """
    for cell in executed.cells:
        about = cell.metadata.get("nbgrader", {})
        if not about.get("grade") or about.get("solution") or cell.cell_type != "code":
            continue
        shown = [output.get("data", {}).get("text/plain") for output in cell.outputs]
        try:
            (score,) = map(float, shown)
        except (TypeError, ValueError):
            score = math.nan
        if not 0 <= score <= about["points"] or cell.outputs[0].output_type != "execute_result":
            raise ValueError(
                f"test cell {about['grade_id']!r} shows {shown}: expected one score, 0 to {about['points']}"
            )


def _written(notebook: NotebookNode) -> str:
    return f"{nbformat.v4.writes(notebook)}\n"


def _write(path: Path, text: str, read_only: bool = False) -> None:
    """Write the file whole or not at all; ``read_only`` as nbgrader leaves what it has graded."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    partial.unlink(missing_ok=True)
    partial.write_text(text, encoding="utf-8")
    if read_only:
        partial.chmod(0o444)
    partial.replace(path)


_CONFIG = """\
# For formgrader, in a JupyterLab started in this folder, and for the nbgrader commands.
c = get_config()
c.CourseDirectory.db_url = "sqlite:///gradebook.db"
"""
