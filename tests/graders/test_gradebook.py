"""nbgrader's gradebook as we write it: what nbgrader itself would have stored, whole, and only real scores."""

import contextlib
import json
import logging
import os
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import nbformat
import pytest
from nbformat import v4
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties, CheckCellMetadata, SaveAutoGrades
from traitlets.config import Config, LoggingConfigurable

import graders.gradebook as gradebook_module
from graders.gradebook import CourseGradebook, GradebookBusyError, GradebookError
from graders.notebook_file import read_notebook
from graders.rebuild import rebuild

POINTS = {"add-check": 2.0, "scale-check": 3.0}
LATE = 'c.LateSubmissionPlugin.penalty_method = "zero"\n'


def graded(tiny, scores=None, lang="es", **answers):
    """A notebook handed in, and the same as if it had run and earned ``scores``."""
    rebuilt = rebuild(tiny.masters.releases, read_notebook(json.dumps(tiny.notebook(lang, **answers)).encode()), "es")
    executed = nbformat.from_dict(rebuilt.notebook)
    for cell in executed.cells:
        if cell.id in POINTS:
            score = {**POINTS, **(scores or {})}[cell.id]
            cell.outputs = [v4.new_output("execute_result", data={"text/plain": str(score)}, execution_count=None)]
    return rebuilt.notebook, executed


def submissions(tiny):
    untouched = {cell.id: cell.source for cell in tiny.masters.releases["pt"].cells}
    return {
        "ana": graded(tiny),
        "bia": graded(tiny, {"add-check": 0.5, "scale-check": 0.0}, scale="def scale(rows, factor):\n    return rows"),
        "caio": graded(tiny, {"add-check": 0.0}, lang="pt", add=untouched["add"]),
        "davi": graded(tiny, {"scale-check": 1.0}),
    }


def through_nbgrader(folder, lab_id, source, handed_in):
    """The same, as nbgrader's own converters store it."""
    course = CourseDirectory(root=str(folder), db_url=f"sqlite:///{folder / 'gradebook.db'}", assignment_id=lab_id)
    config = Config(LateSubmissionPlugin={"penalty_method": "zero"})
    parent = LoggingConfigurable(log=logging.Logger("quiet"), config=config)
    if source is not None:
        path = folder / "source" / lab_id / f"{lab_id}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(source, path)
        GenerateAssignment(coursedir=course, parent=parent, force=True).start()
    for student, (rebuilt, executed) in handed_in.items():
        path = folder / "submitted" / student / lab_id / f"{lab_id}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(rebuilt, path)
        converter = Autograde(coursedir=course, parent=parent, force=True)
        converter.sanitize_preprocessors = [lambda notebook, resources, ran=executed: (ran, resources)]
        converter.autograde_preprocessors = [SaveAutoGrades, AssignLatePenalties, CheckCellMetadata]
        course.student_id = student
        converter.start()


def tables(folder):
    """Every row of every table, with what an id stands for in place of the id."""
    with contextlib.closing(sqlite3.connect(folder / "gradebook.db")) as database:
        database.row_factory = sqlite3.Row
        names = [row["name"] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {name: [dict(row) for row in database.execute(f"SELECT * FROM {name}")] for name in names}
        schema = {row[0] for row in database.execute("SELECT sql FROM sqlite_master")}
    stands_for = {}
    for name in ("assignment", "notebook", "base_cell", "source_cell"):
        stands_for |= {row["id"]: row["name"] for row in found[name]}
    stands_for |= {row["id"]: row["student_id"] for row in found["submitted_assignment"]}
    stands_for |= {row["id"]: stands_for[row["assignment_id"]] for row in found["submitted_notebook"]}
    stands_for |= {row["id"]: "" for name in ("grade", "comment") for row in found[name]}
    rows = {
        name: sorted(str({key: stands_for.get(value, value) for key, value in row.items()}) for row in found[name])
        for name in names
    }
    return rows, schema


@contextlib.contextmanager
def database_of(folder):
    with contextlib.closing(Gradebook(f"sqlite:///{folder / 'gradebook.db'}", "")) as gradebook:
        yield gradebook
        gradebook.db.commit()


def set_up_lateness_and_a_manual_grade(folder):
    late = folder / "submitted" / "davi" / "tiny" / "timestamp.txt"
    late.write_text("2026-03-02 09:00:00 UTC\n")
    with database_of(folder) as gradebook:
        gradebook.find_assignment("tiny").duedate = datetime(2026, 3, 1, tzinfo=UTC).replace(tzinfo=None)
        gradebook.find_grade("scale-check", "tiny", "tiny", "bia").manual_score = 2.5


@pytest.mark.filterwarnings("ignore:Object of type <Submitted")  # SQLAlchemy's, of nbgrader's own queries
def test_the_database_holds_what_nbgraders_own_converters_would_have_stored(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))  # alembic
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    theirs.mkdir()
    handed_in = submissions(tiny)
    with CourseGradebook(ours, "tiny") as gradebook:
        gradebook.assign(tiny.masters.source)
        first = {student: gradebook.record(student, *notebooks) for student, notebooks in handed_in.items()}
        through_nbgrader(theirs, "tiny", tiny.masters.source, handed_in)
        assert tables(ours) == tables(theirs)
        for folder in (ours, theirs):
            set_up_lateness_and_a_manual_grade(folder)
        (ours / "nbgrader_config.py").write_text((ours / "nbgrader_config.py").read_text() + LATE)
        again = {student: gradebook.record(student, *notebooks) for student, notebooks in handed_in.items()}
    through_nbgrader(theirs, "tiny", None, handed_in)
    assert tables(ours) == tables(theirs)
    assert first == {"ana": 5.0, "bia": 0.5, "caio": 3.0, "davi": 3.0}
    assert again == {**first, "bia": 3.0}
    rows = tables(ours)[0]
    assert sum("'late_submission_penalty': 3.0" in row for row in rows["submitted_notebook"]) == 1  # the test tests
    assert sum("'needs_manual_grade': 1" in row for row in rows["grade"]) == 1
    assert sum("No response." in row for row in rows["comment"]) == 1
    for student in handed_in:
        pair = [sorted((folder / "autograded" / student / "tiny").iterdir()) for folder in (ours, theirs)]
        assert [path.name for path in pair[0]] == [path.name for path in pair[1]]
        for own, other in zip(*pair, strict=True):
            assert own.stat().st_mode == other.stat().st_mode
            assert own.read_text().strip() == other.read_text().strip()


def test_the_cells_are_saved_once_and_again_only_when_they_changed(tiny, tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(
        GenerateAssignment, "start", lambda self, start=GenerateAssignment.start: started.append(start(self))
    )
    with CourseGradebook(tmp_path, "tiny") as gradebook:
        for _ in range(2):
            gradebook.assign(tiny.masters.source)
        assert len(started) == 1
        changed = nbformat.from_dict(tiny.masters.source)
        changed.cells[0].source += " More."
        gradebook.assign(changed)
        assert len(started) == 2
    (tmp_path / "gradebook.db").unlink()
    with CourseGradebook(tmp_path, "tiny") as gradebook:
        gradebook.assign(changed)
        assert gradebook.record("ana", *graded(tiny)) == 5.0


def outputs(*shown):
    return [v4.new_output("execute_result", data={"text/plain": text}, execution_count=None) for text in shown]


@pytest.mark.parametrize(
    "shown",
    [
        *(outputs(text) for text in ("nan", "inf", "-0.5", "-inf", "2.01", "1e9", "full marks", "", "[2.0]", "True")),
        [],
        outputs("2.0", "2.0"),
        [v4.new_output("stream", name="stderr", text="a warning"), *outputs("2.0")],
        [v4.new_output("error", ename="E", evalue="", traceback=[])],
        [v4.new_output("display_data", data={"text/plain": "2.0"})],
        [v4.new_output("execute_result", data={"text/html": "2.0"}, execution_count=None)],
    ],
    ids=lambda shown: "+".join(str(one.get("data", one.output_type)) for one in shown) or "nothing",
)
def test_what_is_no_score_cannot_be_stored(tiny, course, shown):
    rebuilt, executed = graded(tiny)
    next(cell for cell in executed.cells if cell.id == "add-check").outputs = shown
    before = tables(course.folder)
    with pytest.raises(ValueError, match="test cell 'add-check' shows"):
        course.record("eva", rebuilt, executed)
    assert tables(course.folder) == before
    assert not (course.folder / "autograded" / "eva").exists()


@pytest.mark.parametrize("score", [0.0, 0.25, 2.0])
def test_every_score_from_nothing_to_all_points_is_stored_as_it_is(tiny, course, score):
    assert course.record("fran", *graded(tiny, {"add-check": score})) == 3.0 + score


@pytest.fixture(scope="module")
def course(tiny, tmp_path_factory):
    with CourseGradebook(tmp_path_factory.mktemp("course"), "tiny") as gradebook:
        gradebook.assign(tiny.masters.source)
        yield gradebook


def test_a_submission_that_fails_halfway_leaves_nothing_and_the_next_is_stored(tiny, course, monkeypatch):
    graded_cells = []

    def failing(cell):
        graded_cells.append(cell.id)
        if len(graded_cells) == 2:
            raise OSError("disk full")
        return 2.0, 2.0

    before = tables(course.folder)
    with monkeypatch.context() as patch:
        patch.setattr(gradebook_module, "determine_grade", failing)
        with pytest.raises(OSError, match="disk full"):
            course.record("gil", *graded(tiny))
    assert tables(course.folder) == before
    assert course.record("gil", *graded(tiny)) == 5.0


DIES = """\
import json, os, sys
from pathlib import Path
import sistolica  # as the command does, before nbformat
import nbformat
import graders.gradebook as module
folder, source, rebuilt, executed = sys.argv[1:]
source, rebuilt, executed = (nbformat.reads(Path(path).read_text(), 4) for path in (source, rebuilt, executed))
gradebook = module.CourseGradebook(Path(folder), "tiny")
gradebook.assign(source)
gradebook.record("ana", rebuilt, executed)
module.determine_grade = lambda cell: os._exit(3)
gradebook.record("bia", rebuilt, executed)
"""


def test_a_grader_that_is_killed_leaves_a_sound_gradebook_made_with_any_path(tiny, tmp_path):
    given = []
    for name, notebook in zip(("source", "rebuilt", "executed"), (tiny.masters.source, *graded(tiny)), strict=True):
        given.append(str(tmp_path / f"{name}.ipynb"))
        nbformat.write(notebook, given[-1])
    folder = tmp_path / "gradebook"
    run = subprocess.run(
        [sys.executable, "-c", DIES, str(folder), *given],
        env={"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/"), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stderr) == (3, "")
    with contextlib.closing(sqlite3.connect(folder / "gradebook.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("SELECT id FROM student").fetchall() == [("ana",)]
    with CourseGradebook(folder, "tiny") as gradebook:
        assert (gradebook.enrol("ana"), gradebook.enrol("bia")) == (5.0, None)
        assert gradebook.record("bia", *graded(tiny)) == 5.0


def test_a_gradebook_that_another_program_holds_is_said(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("graders.gradebook.LOCK_WAIT_S", 1)
    with CourseGradebook(tmp_path, "tiny") as gradebook:
        gradebook.assign(tiny.masters.source)
        gradebook.enrol("ana")
        changed = nbformat.from_dict(tiny.masters.source)
        changed.cells[0].source += " More."
        with contextlib.closing(sqlite3.connect(tmp_path / "gradebook.db")) as other:
            other.execute("BEGIN EXCLUSIVE")
            for attempt in (
                lambda: gradebook.enrol("bia"),
                lambda: gradebook.assign(changed),
                lambda: gradebook.record("bia", *graded(tiny)),
            ):
                with pytest.raises(GradebookBusyError):
                    attempt()
        assert gradebook.record("bia", *graded(tiny)) == 5.0


def test_formgrader_may_write_between_two_submissions(tiny, course):
    course.record("hugo", *graded(tiny, {"add-check": 0.0}))
    with database_of(course.folder) as gradebook:
        gradebook.find_grade("add-check", "tiny", "tiny", "hugo").manual_score = 1.5
    assert course.enrol("hugo") == 4.5
    assert course.record("hugo", *graded(tiny, {"add-check": 0.0})) == 4.5


def test_a_database_is_whole_or_not_there(tmp_path, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("graders.gradebook_database.Gradebook", interrupted)
        with pytest.raises(KeyboardInterrupt):
            CourseGradebook(tmp_path, "tiny")
    assert not (tmp_path / "gradebook.db").exists()
    with CourseGradebook(tmp_path, "tiny") as gradebook:
        gradebook.enrol("ana")
    with contextlib.closing(sqlite3.connect(tmp_path / "gradebook.db")) as database:
        assert database.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
    assert not (tmp_path / "gradebook.db.part").exists()


def test_a_gradebook_that_is_none_is_not_called_busy(tmp_path):
    (tmp_path / "gradebook.db").write_text("no database " * 100)
    with CourseGradebook(tmp_path, "tiny") as gradebook, pytest.raises(GradebookError, match="not a database") as said:
        gradebook.enrol("ana")
    assert not isinstance(said.value, GradebookBusyError)
