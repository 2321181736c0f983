"""nbgrader's course folder and gradebook, used through nbgrader's own converters and API, in this process.

``OUT/gradebook`` is an ordinary nbgrader course: ``nbgrader formgrader`` started there opens it. One process writes.
"""

import contextlib
import logging
import os
import re
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# nbgrader imports jupyter-events, which has jsonschema build a grammar for internationalised addresses: 1.5 s of every
# start, for a check that nothing here uses. Without the optional package jsonschema leaves that check out.
if "rfc3987_syntax" not in sys.modules:
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties, CheckCellMetadata, SaveAutoGrades
from sqlalchemy.exc import DatabaseError
from traitlets.config import LoggingConfigurable

# nbgrader logs a failed transaction here, traceback and all, and then raises it, which is where we hear of it.
logging.getLogger("tornado.application").addHandler(logging.NullHandler())

LOCK_WAIT_S = 30
_EXCEPTION_LINE = re.compile(r"^[\w.]+: .*$", re.MULTILINE)

Preprocessor = Callable[[NotebookNode, Any], tuple[NotebookNode, Any]]


class GradebookError(Exception):
    """nbgrader refused: its own words are in the text."""


class GradebookBusyError(GradebookError):
    """Another process holds the gradebook."""


class CourseGradebook:
    """The gradebook of one lab in ``folder``."""

    def __init__(self, folder: Path, lab_id: str) -> None:
        self.folder = folder.resolve()
        self.lab_id = lab_id
        self.folder.mkdir(parents=True, exist_ok=True)
        self._database = self.folder / "gradebook.db"
        self._url = f"sqlite:///{self._database}?timeout={LOCK_WAIT_S}"
        self._heard = _Heard()
        log = logging.Logger("nbgrader")  # of our own: what nbgrader logs is for us, not for the instructor's screen
        log.addHandler(self._heard)
        self._course = CourseDirectory(root=str(self.folder), db_url=self._url, assignment_id=lab_id)
        self._parent = LoggingConfigurable(log=log)
        self._course.log = log
        config = self.folder / "nbgrader_config.py"
        if not config.exists():
            config.write_text(_CONFIG, encoding="utf-8")
        self._create()

    def assign(self, source: NotebookNode) -> None:
        """Make the lab known, from its source notebook. Repeating it with the same cells changes nothing.

        Raises :class:`GradebookError` when grades exist for a lab with other cells.
        """
        path = self.folder / "source" / self.lab_id / f"{self.lab_id}.ipynb"
        _write(path, source)
        self._convert(GenerateAssignment, "*")

    def record(self, student: str, rebuilt: NotebookNode, executed: NotebookNode) -> float:
        """Store what ``student`` handed in and what came of it; the score that the gradebook now holds.

        A manual grade given in formgrader before is kept.
        """
        _write(self.folder / "submitted" / student / self.lab_id / f"{self.lab_id}.ipynb", rebuilt)
        # nbgrader's own executor stays out: the notebook has run elsewhere, and takes the place of the one handed in.
        self._convert(
            Autograde,
            student,
            sanitize_preprocessors=[_replacing(executed)],
            autograde_preprocessors=[SaveAutoGrades, AssignLatePenalties, CheckCellMetadata],
        )
        with self._open() as gradebook:
            return float(gradebook.find_submission(self.lab_id, student).score)

    def enrol(self, student: str) -> float | None:
        """Make the learner known, also one whose submission could not be graded.

        The score that the gradebook holds from an earlier submission, if there is one: it is left as it is.
        """
        with self._open() as gradebook:
            gradebook.update_or_create_student(student)
            try:
                return float(gradebook.find_submission(self.lab_id, student).score)
            except MissingEntry:
                return None

    def _create(self) -> None:
        """Make the database whole or not at all: nbgrader never finishes one that lacks its own version number."""
        if self._database.exists():
            return
        partial = self._database.with_name("gradebook.db.part")
        partial.unlink(missing_ok=True)
        with _own_programs_on_path(), _said_plainly(), Gradebook(f"sqlite:///{partial}", self._course.course_id):
            pass
        partial.replace(self._database)

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any]:
        with _own_programs_on_path(), _said_plainly(), Gradebook(self._url, self._course.course_id) as gradebook:
            yield gradebook

    def _convert(self, converter_class: Any, student: str, **settings: Any) -> None:
        log = self._parent.log
        converter = converter_class(coursedir=self._course, parent=self._parent, log=log, force=True)
        for name, value in settings.items():
            setattr(converter, name, value)
        self._course.student_id = student
        self._heard.reason = ""
        with _own_programs_on_path(), _said_plainly():
            try:
                converter.start()
            except NbGraderException as error:
                raise NbGraderException(self._heard.reason or str(error)) from error


class _Heard(logging.Handler):
    """Keeps the exception of the last traceback that nbgrader logged: its own exceptions only point to its log."""

    reason = ""

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage().strip()
        if message.startswith("Traceback"):
            self.reason = (_EXCEPTION_LINE.findall(message) or [""])[-1]


def _replacing(executed: NotebookNode) -> Preprocessor:
    def replace(notebook: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        return executed, resources

    return replace


@contextlib.contextmanager
def _said_plainly() -> Iterator[None]:
    """nbgrader's exceptions as ours; SQLAlchemy's remarks on nbgrader's own queries left unsaid."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"Object of type <Submitted\w+> not in session")
            yield
    except (NbGraderException, DatabaseError, RuntimeError) as error:  # RuntimeError: its word for a changed assignment
        reason = str(error.orig if isinstance(error, DatabaseError) else error)
        raise (GradebookBusyError if "database is locked" in reason else GradebookError)(reason) from error


@contextlib.contextmanager
def _own_programs_on_path() -> Iterator[None]:
    """nbgrader starts ``alembic`` by name; a Python called by its full path has not put its programs on the PATH."""
    before = os.environ.get("PATH", os.defpath)
    own = [str(Path(sys.executable).parent), sysconfig.get_path("scripts")]
    os.environ["PATH"] = os.pathsep.join([*dict.fromkeys(own), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before


def _write(path: Path, notebook: NotebookNode) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


_CONFIG = """\
# For `nbgrader formgrader` and the other nbgrader commands, started in this folder.
c = get_config()
c.CourseDirectory.db_url = "sqlite:///gradebook.db"
"""
