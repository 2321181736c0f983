"""nbgrader's database: made whole or not at all, opened once, changed in one transaction per submission."""

import contextlib
import logging
import sqlite3
import warnings
from collections.abc import Iterator
from pathlib import Path

from nbgrader import dbutil
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session, scoped_session, sessionmaker

# nbgrader logs a failed transaction here, traceback and all, and then raises it, which is where we hear of it.
logging.getLogger("tornado.application").addHandler(logging.NullHandler())


class GradebookError(Exception):
    """nbgrader refused: its own words are in the text."""


class GradebookBusyError(GradebookError):
    """Another process holds the gradebook."""


def make_database(path: Path) -> None:
    """A new database without a lab. Raises :class:`GradebookError`.

    nbgrader never finishes one that lacks its own version number, so it gets its name when all is in it. And nbgrader
    learns that number from a program that it starts, which costs as much as grading ten submissions; we look it up in
    the same place.
    """
    from alembic.script import ScriptDirectory  # only here: most gradings find the database made

    version = ScriptDirectory(dbutil.ALEMBIC_DIR).get_current_head()
    partial = path.with_name(path.name + ".part")
    partial.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(partial)) as database:
        database.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        database.execute("INSERT INTO alembic_version (version_num) VALUES (?)", (version,))
        database.commit()
    with said_plainly(), Gradebook(f"sqlite:///{partial}", ""):
        pass
    partial.replace(path)


def opened(url: str) -> Gradebook:
    """nbgrader's gradebook at ``url``, to be changed in a :func:`transaction`."""
    gradebook = Gradebook(url, "")
    gradebook.db.remove()
    gradebook.db = scoped_session(sessionmaker(class_=_WholeSession, autoflush=True, bind=gradebook.engine))
    return gradebook


@contextlib.contextmanager
def transaction(gradebook: Gradebook) -> Iterator[None]:
    """What is changed inside is stored at the end, all of it; after an exception, none of it."""
    try:
        yield
        gradebook.db().commit_all()
    finally:
        gradebook.db.remove()


class _WholeSession(Session):
    """nbgrader commits after every cell; here that only sends the change to the database."""

    def commit(self) -> None:
        self.flush()

    def commit_all(self) -> None:
        super().commit()


@contextlib.contextmanager
def said_plainly() -> Iterator[None]:
    """nbgrader's exceptions as ours; SQLAlchemy's remarks on nbgrader's own queries left unsaid."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"Object of type <Submitted\w+> not in session")
            yield
    except (NbGraderException, DatabaseError, RuntimeError) as error:  # RuntimeError: its word for a changed assignment
        reason = str(error.orig if isinstance(error, DatabaseError) else error)
        raise (GradebookBusyError if "database is locked" in reason else GradebookError)(reason) from error
