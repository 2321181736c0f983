"""Run one rebuilt notebook and judge it: cells in the learner's process, checks in this one.

All cells run before any check asks anything, so nothing that a cell prints can quote a check's input; each check then
sees the names as they were at its own place in the notebook. What the learner's code prints while it is being asked is
dropped, and a test cell gets exactly one output, the score, written here. When a call ends the process, the cells run
again in another one for the exercises still to come, and what they print then is dropped too.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode, v4

from graders.inspector import Inspector
from graders.judge import disclosed, judge
from graders.lab import Lab
from graders.learner import KernelLearner, ProcessDiedError
from graders.outputs import MAX_NOTEBOOK, fitting
from graders.process import CellRun, Process, Runner, RunnerLostError
from graders.report import ExerciseResult
from graders.seed import generator

NOTEBOOK_S = 300.0  # for all the cells of a notebook together, checks apart
REPLAYS_S = 300.0  # for all that runs again
MAX_REPLAYS = 2  # after a cell that ends the process
TRIES = 3  # of a notebook whose runner is lost

_ENDS = ("died", "memory")  # how a cell that ends the process is marked


@dataclass(frozen=True)
class Executed:
    """The notebook with outputs and scores, and the result of each exercise of the lab, in its order."""

    notebook: NotebookNode
    results: tuple[ExerciseResult, ...]


def execute(
    notebook: NotebookNode,
    lab: Lab,
    learner: str,
    salt: str,
    runner: Runner,
    lang: str,
    files: Sequence[tuple[Path, Path]] = (),
    published: bool = False,
) -> Executed:
    """Run and judge ``notebook`` for ``learner`` (the key that seeds the inputs), with ``files`` in its folder.

    ``published``: the inputs are no secret, so the results keep the learner's own error messages. A cell that fails or
    runs out of time costs itself, one that ends the kernel what comes after it, a call that ends it its own exercise.
    Raises :class:`~graders.process.RunnerLostError` when the runner is lost ``TRIES`` times.
    """
    done: NotebookNode = nbformat.from_dict(notebook)
    steps = [cell for cell in done.cells if cell.cell_type == "code"]
    for left in reversed(range(TRIES)):
        cells = _Cells(steps, lab, runner, lang, files)
        try:
            runs = cells.run()
            results = _judge_all(lab, learner, salt, cells)
            break
        except RunnerLostError:
            if not left:
                raise
        finally:
            cells.close()
    for cell in steps:
        cell.outputs, cell.execution_count = [], None
    room = MAX_NOTEBOOK
    for cell, run in zip(steps, runs, strict=False):
        cell.metadata.setdefault("sistolica", {})["status"] = run.status
        cell.outputs, room = fitting(run.outputs, room, lang)
    sources = [cell.source for cell in steps]
    shown = tuple(results if published else [disclosed(result, sources) for result in results])
    by_exercise = {result.exercise: result for result in shown}
    for cell in steps:
        key = lab.exercise_of(_grade_id(cell))
        if key is not None:
            cell.outputs = [score_output(by_exercise[key])]
    done.metadata.setdefault("sistolica", {})["results"] = [result.to_dict() for result in shown]
    return Executed(done, shown)


def score_output(result: ExerciseResult) -> NotebookNode:
    """The one output of a test cell: the score, as nbgrader reads it. Raises ``ValueError`` outside [0, max]."""
    score = float(result.score)
    if not (math.isfinite(score) and 0 <= score <= result.max_score):
        raise ValueError(f"score {score} of exercise {result.exercise!r} is outside 0 to {result.max_score}")
    output: NotebookNode = v4.new_output("execute_result", data={"text/plain": repr(score)}, execution_count=None)
    return output


class _Cells:
    """The code cells of one notebook in the learner's process; after a death, in another that got as far."""

    def __init__(
        self,
        steps: Sequence[NotebookNode],
        lab: Lab,
        runner: Runner,
        lang: str,
        files: Sequence[tuple[Path, Path]],
    ) -> None:
        self._steps = steps
        self._lab = lab
        self._runner = runner
        self._lang = lang
        self._files = files
        self._process: Process | None = None
        self._inspector = Inspector(lambda: runner.start(lang))
        self._count = len(steps)
        self._reached: set[str] = set()
        self._fell = False  # in a call
        self._lost: RunnerLostError | None = None  # in a call
        self._replays_s = REPLAYS_S

    def run(self) -> list[CellRun]:
        """Run the cells until the end or until one ends the kernel; what each gave, as far as they were reached."""
        runs = self._attempt(NOTEBOOK_S)
        again = runs
        for _ in range(MAX_REPLAYS):
            if not again or again[-1].status not in _ENDS:
                break
            # The checks before the fatal cell can still be made: run what came before it once more.
            self._count = len(again) - 1
            again = self._replay()
        return runs

    def learner(self, exercise: str) -> KernelLearner:
        """The learner as the check of ``exercise`` sees them: gone, where the cells never got to its place."""
        place = f"{exercise}-check"
        if self._fell and place in self._reached and self._replays_s > 0:
            self._replay()
        assert self._process is not None
        ask = self._ask if place in self._reached else _gone
        seconds = self._lab.exercises[exercise].time_limit_s
        return KernelLearner(ask, place, seconds, self._process.backend, self._inspector)

    def judged(self, result: ExerciseResult) -> ExerciseResult:
        """``result``, if it was found with the runner there. Raises :class:`RunnerLostError`."""
        for lost in (self._lost, self._inspector.lost):
            if lost is not None:
                raise lost
        return result

    def close(self) -> None:
        self._inspector.close()
        if self._process is not None:
            self._process.close()

    def _ask(self, request: str, timeout_s: float) -> str:
        assert self._process is not None
        try:
            return self._process.ask(request, timeout_s)
        except ProcessDiedError:
            self._fell = True
            raise
        except RunnerLostError as lost:  # the check must not see it: a check's exception is a fault of the check
            self._lost = lost
            raise ProcessDiedError from lost

    def _replay(self) -> list[CellRun]:
        began = time.monotonic()
        runs = self._attempt(self._replays_s)
        self._replays_s -= time.monotonic() - began
        return runs

    def _attempt(self, seconds: float) -> list[CellRun]:
        self.close()
        self._process = self._runner.start(self._lang, self._files)
        self._reached, self._fell = set(), False
        runs: list[CellRun] = []
        deadline = time.monotonic() + seconds
        for cell in self._steps[: self._count]:
            runs.append(self._step(cell, self._process, deadline))
            if runs[-1].status in _ENDS:
                break
        return runs

    def _step(self, cell: NotebookNode, process: Process, deadline: float) -> CellRun:
        place = _grade_id(cell)
        if self._lab.exercise_of(place) is not None:
            try:
                process.checkpoint(place)
            except ProcessDiedError:
                return CellRun("died")
            self._reached.add(place)
            return CellRun("check")
        if not cell.source.strip():
            return CellRun("ok")
        return process.run_cell(cell.source) if time.monotonic() < deadline else CellRun("not-run")


def _gone(request: str, timeout_s: float) -> str:
    raise ProcessDiedError


def _judge_all(lab: Lab, learner: str, salt: str, cells: _Cells) -> list[ExerciseResult]:
    return [
        cells.judged(judge(lab, key, cells.learner(key), generator(lab.id, learner, key, salt)))
        for key in lab.exercises
    ]


def _grade_id(cell: NotebookNode) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
