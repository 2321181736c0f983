"""``sistolica grade``: a folder of submissions to grades, feedback and a gradebook.

Exit status: 0 every submission was graded; 1 some could not be, or a check of the lab failed (a line for each), or the
gradebook or the folder for the grades could not be used, or the self-test found that nothing may be graded here; 2 the
command itself was wrong, or asked for a sandbox or a device that is not here, and nothing was done.
"""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from graders.batch import Batch, Grade, Masters
from graders.explain import points_text
from graders.gradebook import GradebookBusyError, GradebookError
from graders.intake import Submission, left_aside, read_submissions
from graders.lab import Lab, lab_ids, read_lab
from graders.learner import ProcessDiedError
from graders.notebook_file import OK
from graders.phrases import phrase
from graders.process import RunnerLostError
from graders.sandbox.accelerators import ACCELERATORS, BACKENDS, present
from graders.sandbox.choice import NotContainedError, ground
from graders.sandbox.confinement import ConfinementError
from graders.sandbox.imports import imported
from graders.sandbox.self_test import SelfTestError, self_test
from sistolica.lesson.lab import handed_in, lab_notebook
from sistolica.project import Project
from tpu_kernels import messages

ALL_GRADED, PROBLEMS, BAD_USAGE = 0, 1, 2


def grade(
    project: Project,
    submissions: Path,
    lab_id: str,
    out: Path,
    console: Console,
    complaints: Console,
    lang: str | None = None,
    seed: int | None = None,
    workers: int = 1,
    backend: str = "auto",
    require_sandbox: bool = False,
) -> int:
    """Grade ``submissions`` of ``lab_id`` into ``out``, saying what happens in ``lang``; the exit status."""
    try:
        refused = _refusal(project, submissions, lab_id, out, lang, workers, backend)
    except (OSError, RuntimeError) as error:
        # A name too long, a folder above it that is closed; links that go round in circles.
        refused = phrase("grade.path", lang=lang, reason=error)
    if refused:
        _line(complaints, refused)
        return BAD_USAGE
    spoken = lang or messages.language()
    lab = read_lab(lab_id, project.labs)
    lab.require_sound()
    masters = Masters(
        {code: lab_notebook(project, lab_id, code, "release") for code in messages.LANGUAGES},
        lab_notebook(project, lab_id, spoken, "source"),
    )
    try:
        found = read_submissions(submissions, lab_id, masters.grade_ids)
        aside = left_aside(submissions)
    except OSError as error:
        _line(complaints, phrase("release.unreadable", lang=spoken, path=submissions, reason=error.strerror))
        return BAD_USAGE
    if not found:
        _line(complaints, phrase("grade.empty", lang=spoken, folder=submissions))
        return BAD_USAGE
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _line(complaints, phrase("grade.unwritable", lang=spoken, out=out, reason=error.strerror))
        return BAD_USAGE
    if aside:
        _line(complaints, phrase("grade.aside", lang=spoken, names=", ".join(aside)))
    try:
        with ground(
            lambda sentence: _line(complaints, sentence),
            spoken,
            imported(masters.releases.values()),
            backend,
            require_sandbox,
        ) as place:
            with console.status(phrase("sandbox.self-test", lang=spoken)):
                unpromised = self_test(place, lab, handed_in(project, lab_id, spoken), spoken)
            for sentence in unpromised:
                _line(complaints, sentence)
            if workers > 1 and place.one_at_a_time:
                _line(complaints, phrase("nursery.one-at-a-time", lang=spoken))
                workers = 1
            salt = None if seed is None else f"seed {seed}"
            batch = Batch(lab, masters, out, spoken, place.new_runner, salt, workers)
            grades = _run(batch, found, console, complaints, spoken)
    except NotContainedError as refusal:
        _line(complaints, str(refusal))
        return BAD_USAGE
    except SelfTestError as refusal:
        _line(complaints, str(refusal))
        return PROBLEMS
    except (ConfinementError, ProcessDiedError, RunnerLostError) as error:  # before anybody was graded
        _line(complaints, phrase("sandbox.no-process", lang=spoken, reason=" ".join(str(error).split())))
        return PROBLEMS
    except GradebookBusyError:
        _line(complaints, phrase("grade.busy", lang=spoken, out=out))
        return PROBLEMS
    except GradebookError as error:
        _line(complaints, phrase("grade.gradebook", lang=spoken, out=out, reason=" ".join(str(error).split())))
        return PROBLEMS
    except OSError as error:
        _line(complaints, phrase("grade.unwritable", lang=spoken, out=out, reason=error.strerror or error))
        return PROBLEMS
    return _summary(lab, grades, out, console, spoken)


def _refusal(
    project: Project, submissions: Path, lab_id: str, out: Path, lang: str | None, workers: int, backend: str
) -> str:
    """Why the command cannot be done as asked; empty if it can."""
    if lang is not None and lang not in messages.LANGUAGES:
        return phrase("grade.language", got=lang, known=", ".join(messages.LANGUAGES))
    if lab_id not in lab_ids(project.labs):
        return phrase("grade.lab", lang=lang, got=lab_id, known=", ".join(lab_ids(project.labs)))
    if not submissions.exists():
        return phrase("grade.absent", lang=lang, folder=submissions)
    if not submissions.is_dir():
        return phrase("grade.file", lang=lang, folder=submissions)
    if out.exists() and not out.is_dir():
        return phrase("grade.out", lang=lang, out=out)
    if out.resolve() == submissions.resolve() or submissions.resolve() in out.resolve().parents:
        return phrase("grade.inside", lang=lang, out=out, folder=submissions)
    if workers < 1:
        return phrase("grade.workers", lang=lang, got=workers)
    if backend not in BACKENDS:
        return phrase("nursery.backend", lang=lang, got=backend, known=", ".join(BACKENDS))
    if backend in ACCELERATORS and not present(backend):
        return phrase("nursery.device", lang=lang, got=backend)
    return ""


def _run(batch: Batch, found: Sequence[Submission], console: Console, complaints: Console, lang: str) -> list[Grade]:
    grades = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(phrase("grade.progress", lang=lang), total=len(found))
        for grade in batch.run(found):
            grades.append(grade)
            progress.advance(task)
            if grade.status == OK:
                earned = points_text(grade.score, lang)
                most = points_text(batch.lab.points, lang)
                _line(console, phrase("grade.row", lang=lang, learner=grade.learner, score=earned, most=most))
            if grade.remark:
                _line(complaints, phrase("grade.remark", lang=lang, learner=grade.learner, remark=grade.remark))
    return grades


def _summary(lab: Lab, grades: list[Grade], out: Path, console: Console, lang: str) -> int:
    graded = sum(grade.status == OK for grade in grades)
    _line(
        console,
        phrase(
            "grade.summary",
            lang=lang,
            graded=graded,
            total=len(grades),
            lab=lab.title[lang],
            table=out / "grades.csv",
            feedback=out / "feedback",
        ),
    )
    return ALL_GRADED if graded == len(grades) else PROBLEMS


def _line(console: Console, message: str) -> None:
    console.print(escape(message), soft_wrap=True, highlight=False)
