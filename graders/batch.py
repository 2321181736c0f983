"""A whole folder of submissions to grades, feedback and gradebook; no submission ever stops the others.

Learners' code runs in ``workers`` processes at a time; the gradebook, the pages and the table are written from one
thread, in the order of the learners' names. Running it again over the same folder with the same salt writes the same.
"""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from filelock import FileLock, Timeout
from nbformat import NotebookNode

from graders.execute import Executed, execute
from graders.explain import points_text
from graders.feedback import Feedback, incidents
from graders.gradebook import CourseGradebook, GradebookBusyError
from graders.intake import Submission
from graders.lab import Lab
from graders.notebook_file import CHECK_FAULT, GRADER_FAULT, OK, UnreadableNotebookError
from graders.phrases import phrase
from graders.process import Runner
from graders.rebuild import Rebuilt, rebuild
from graders.report import ExerciseResult
from graders.table import Row, write_table

MAX_SENTENCE = 300  # characters of one thing said about a submission
MAX_SAID = 20  # such things


@dataclass(frozen=True)
class Grade:
    """One learner's outcome. ``status`` is a key of [status]; ``remark`` all there is to say, to the instructor."""

    learner: str
    key: str
    lang: str
    status: str
    remark: str
    score: float
    results: tuple[ExerciseResult, ...]


@dataclass(frozen=True)
class Masters:
    """What the lab was before anybody answered: the release in each language, and nbgrader's source."""

    releases: Mapping[str, NotebookNode]
    source: NotebookNode

    @property
    def grade_ids(self) -> frozenset[str]:
        """Of the answer cells: what a submission is recognised by."""
        cells = next(iter(self.releases.values())).cells
        marks = [cell.metadata.get("nbgrader", {}) for cell in cells]
        return frozenset(mark["grade_id"] for mark in marks if mark.get("solution"))


@dataclass(frozen=True)
class _Attempt:
    """A submission as far as it came without touching the gradebook."""

    submission: Submission
    rebuilt: Rebuilt | None = None
    executed: Executed | None = None
    status: str = OK
    values: Mapping[str, object] | None = None


class Batch:
    """Grades the submissions of one lab into the folder ``out``.

    ``lang`` is the instructor's language, and a learner's whose own is unknown. ``new_runner`` makes, for each worker,
    a way of starting learners' processes. ``salt`` seeds the hidden inputs: ``None`` takes the one that ``out`` was
    graded with before, or a fresh one.
    """

    def __init__(
        self,
        lab: Lab,
        masters: Masters,
        out: Path,
        lang: str,
        new_runner: Callable[[], Runner],
        salt: str | None = None,
        workers: int = 1,
    ) -> None:
        self.lab = lab
        self._masters = masters
        self._out = out.absolute()  # nbgrader changes the working folder
        self._lang = lang
        self._salt = salt
        self._workers = workers
        self._new_runner = new_runner

    def run(self, submissions: Sequence[Submission]) -> Iterator[Grade]:
        """Grade all, giving each grade as it is final; the table is written after the last.

        Raises :class:`~graders.gradebook.GradebookError` when the gradebook cannot be used at all, its
        :class:`GradebookBusyError` when another grading is using ``out``, and ``OSError`` when ``out`` cannot be
        written to.
        """
        (self._out / "feedback").mkdir(parents=True, exist_ok=True)
        with _alone_in(self._out), CourseGradebook(self._out / "gradebook", self.lab.id) as gradebook:
            gradebook.assign(self._masters.source)
            salt = _settled_salt(gradebook.folder / "salt.txt", self._salt)
            rows: list[Row] = []
            for attempt in self._attempts(submissions, salt):
                grade = self._settle(attempt, gradebook)
                rows.append(self._row(grade))
                yield grade
            write_table(self._out / "grades.csv", self.lab, rows)

    def _attempts(self, submissions: Sequence[Submission], salt: str) -> Iterator[_Attempt]:
        runners: SimpleQueue[Runner] = SimpleQueue()
        workers = min(self._workers, len(submissions))
        made = [self._new_runner() for _ in range(workers)]
        for runner in made:
            runners.put(runner)

        def attempt(submission: Submission) -> _Attempt:
            runner = runners.get()
            try:
                return self._attempt(submission, salt, runner)
            finally:
                runners.put(runner)

        pool = ThreadPoolExecutor(workers)
        try:
            yield from pool.map(attempt, submissions)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for runner in made:
                runner.stop()  # left early, say by Ctrl-C: who is being graded would else be waited for
            pool.shutdown(wait=True)
            for runner in made:
                runner.close()

    def _attempt(self, submission: Submission, salt: str, runner: Runner) -> _Attempt:
        if submission.notebook is None:
            return _Attempt(submission, status=submission.status, values=submission.values)
        try:
            rebuilt = rebuild(self._masters.releases, submission.notebook, self._lang)
            executed = execute(rebuilt.notebook, self.lab, submission.key, salt, runner, rebuilt.lang, submission.files)
        except UnreadableNotebookError as refusal:
            return _Attempt(submission, status=refusal.status, values=refusal.values)
        except Exception as error:  # noqa: BLE001 - whatever one submission does to us, the others are graded
            return _Attempt(submission, status=GRADER_FAULT, values={"reason": f"{type(error).__name__}: {error}"})
        broken = [result.exercise for result in executed.results if result.fault]
        if broken:
            return _Attempt(submission, rebuilt, executed, CHECK_FAULT, {"exercises": ", ".join(broken)})
        return _Attempt(submission, rebuilt, executed)

    def _settle(self, attempt: _Attempt, gradebook: CourseGradebook) -> Grade:
        """Everything that is written about one submission, and its grade."""
        submission = attempt.submission
        lang = attempt.rebuilt.lang if attempt.rebuilt else ""
        results = attempt.executed.results if attempt.executed else ()
        score = sum(result.score for result in results)
        status, values = attempt.status, attempt.values or {}
        earlier: float | None = None
        try:
            if attempt.executed is not None and attempt.rebuilt is not None:
                score = gradebook.record(submission.key, attempt.rebuilt.notebook, attempt.executed.notebook)
            else:
                earlier = gradebook.enrol(submission.key)
            self._write_feedback(attempt, score)
        except GradebookBusyError:
            raise
        except Exception as error:  # noqa: BLE001 - as in _attempt; a busy gradebook is everybody's, and was let through
            status, values = GRADER_FAULT, {"reason": f"{type(error).__name__}: {error}"}
        problem = [phrase(f"status.{status}", lang=self._lang, **values)] if status != OK else []
        problem += [f"[{result.exercise}: {result.fault}]" for result in results if result.fault]
        if earlier is not None:
            kept = phrase("notice.earlier", lang=self._lang, score=points_text(earlier, self._lang))
            problem.append(f"({kept})")
        remark = " ".join([*map(_brief, problem), *self._said(attempt, self._lang)])
        return Grade(submission.learner, submission.key, lang, status, remark, score, results)

    def _said(self, attempt: _Attempt, lang: str) -> list[str]:
        notices = [*attempt.submission.notices, *(attempt.rebuilt.notices if attempt.rebuilt else ())]
        said = [phrase(f"notice.{notice.key}", lang=lang, **notice.values) for notice in notices]
        if attempt.executed is not None:
            said += incidents(attempt.executed.notebook, attempt.executed.results, lang)
        if len(said) > MAX_SAID:
            said[MAX_SAID:] = [phrase("notice.more", lang=lang, count=len(said) - MAX_SAID)]
        return list(map(_brief, said))

    def _write_feedback(self, attempt: _Attempt, score: float) -> None:
        lang = attempt.rebuilt.lang if attempt.rebuilt else self._lang
        refusal = ""
        if attempt.executed is None and attempt.status != GRADER_FAULT:  # a fault of ours is no news for the learner
            reason = phrase(f"status.{attempt.status}", lang=lang, **(attempt.values or {}))
            refusal = f"{reason[0].upper()}{reason[1:]}."
        page = Feedback(
            attempt.submission.learner,
            lang,
            score,
            results=attempt.executed.results if attempt.executed else (),
            notices=self._said(attempt, lang),
            refusal=refusal,
            notebook=attempt.executed.notebook if attempt.executed else None,
        ).page(self.lab)
        (self._out / "feedback" / f"{attempt.submission.key}.html").write_text(page, encoding="utf-8")

    def _row(self, grade: Grade) -> Row:
        by_exercise = {result.exercise: result.score for result in grade.results}
        points = [by_exercise.get(key, 0.0) for key in self.lab.exercises]
        return Row(grade.learner, grade.lang, grade.score, grade.status, grade.remark, points)


def _brief(sentence: str) -> str:
    """On one line, and not endless: names, numbers of cells and messages of exceptions are the learner's."""
    line = " ".join(sentence.split())
    return line if len(line) <= MAX_SENTENCE else f"{line[:MAX_SENTENCE]}…"


@contextlib.contextmanager
def _alone_in(out: Path) -> Iterator[None]:
    """Two gradings into one folder would mix their grades."""
    lock = FileLock(out / ".grading.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise GradebookBusyError(str(out)) from None
    try:
        yield
    finally:
        lock.release()


def _settled_salt(path: Path, salt: str | None) -> str:
    """The salt to use, kept in ``path``: who reads it can work out the hidden inputs."""
    kept = path.read_text(encoding="utf-8").strip() if path.exists() else ""
    salt = salt or kept or secrets.token_hex(16)  # an empty one would be anybody's guess
    if salt != kept:
        partial = path.with_name(path.name + ".part")
        partial.unlink(missing_ok=True)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{salt}\n")
        partial.replace(path)
    return salt
