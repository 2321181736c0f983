"""The grader beside nbgrader on the same submissions: CPU time, scores, and what a second worker adds.

Ours is ``sistolica grade`` as an instructor types it, start, gradebook and feedback included, in new folders; what it
keeps between gradings in the user's cache is warm, by a grading of one submission that is reported apart.
"""

import csv
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nbformat

from graders.lab import read_lab
from sistolica.bench.cost import Cost, cost_of
from sistolica.bench.sample import SEED, Sample, sample
from sistolica.bench.stock import StockCourse
from sistolica.lesson.lab import lab_notebook
from sistolica.project import Project

PACKAGES = ("sistolica", "nbgrader", "jax", "numpy", "ipykernel", "jupyter-client", "nbclient")
_COMMAND = (sys.executable, "-P", "-c", "from sistolica.cli import main; main()", "grade")


class BenchError(Exception):
    """A grading that failed where it had to succeed: what was run, and what it said."""


@dataclass(frozen=True)
class Plan:
    """What to measure: ``calls`` of nbgrader for one learner each, ``larger`` submissions for the throughput."""

    lab_id: str = "matmul"
    submissions: int = 20
    calls: int = 20
    workers: tuple[int, ...] = (1, 2)
    larger: int = 100

    @property
    def steps(self) -> int:
        return 3 + self.calls + len(self.workers) * (1 + (self.larger > self.submissions))


@dataclass
class Measured:
    """Costs by way: ``first`` is our grading that warmed the cache, ``ours`` and ``larger`` are by workers."""

    plan: Plan
    first: Cost
    batch: Cost
    calls: list[Cost]
    ours: dict[int, Cost]
    larger: dict[int, Cost]
    differing: list[str]
    ungraded: list[str]
    load: tuple[float, float]
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def cpu_s_per_submission(self) -> float:
        return self.ours[self.plan.workers[0]].cpu_s / self.plan.submissions

    @property
    def batch_cpu_s(self) -> float:
        return self.batch.cpu_s / self.plan.submissions

    @property
    def call_cpu_s(self) -> float | None:
        return sum(cost.cpu_s for cost in self.calls) / len(self.calls) if self.calls else None

    def throughput(self, workers: int) -> float:
        """Submissions a second once it runs: those by which the larger grading is larger, in the time that they add."""
        more = self.plan.larger - self.plan.submissions
        return more / (self.larger[workers].wall_s - self.ours[workers].wall_s)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data, names as the command prints them."""
        call, workers = self.call_cpu_s, self.plan.workers
        throughput = {count: self.throughput(count) for count in self.larger}
        return {
            "lab": self.plan.lab_id,
            "submissions": self.plan.submissions,
            "seed": SEED,
            "cpu_s_per_submission": self.cpu_s_per_submission,
            "ratio_cpu_batch": self.batch_cpu_s / self.cpu_s_per_submission,
            "ratio_cpu_cli": call / self.cpu_s_per_submission if call is not None else None,
            "nbgrader_batch_cpu_s": self.batch_cpu_s,
            "nbgrader_cli_cpu_s": call,
            "nbgrader_cli_calls": len(self.calls),
            "first_grading_cpu_s": self.first.cpu_s,
            "wall_s": {str(count): self.ours[count].wall_s for count in workers},
            "nbgrader_batch_wall_s": self.batch.wall_s,
            "larger": self.plan.larger,
            "larger_wall_s": {str(count): cost.wall_s for count, cost in self.larger.items()},
            "throughput": {str(count): rate for count, rate in throughput.items()},
            "throughput_ratio": throughput[workers[-1]] / throughput[workers[0]] if throughput else None,
            "scores_differ": self.differing,
            "nbgrader_left_ungraded": self.ungraded,
            "load": self.load,
            "cpus": os.cpu_count(),
            "versions": self.versions,
        }


def bench_grader(project: Project, plan: Plan, step: Callable[[str], None]) -> Measured:
    """Measure what ``plan`` says; ``step`` hears the message's key of what begins now.

    Raises :class:`BenchError`, and :class:`~sistolica.bench.stock.StockError` when nbgrader's course cannot be made.
    """
    lab = read_lab(plan.lab_id, project.labs)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="bench-grader-") as scratch:
        root = Path(scratch)
        samples = sample(project, lab.id, plan.submissions)
        ours = _Ours(project, lab.id, root)
        step("bench.warming")
        first = ours.grade(samples[:1], plan.workers[0])
        costs = {}
        for count in plan.workers:
            step("bench.grading")
            costs[count] = ours.grade(samples, count)
        scores = ours.scores()
        step("bench.assigning")
        course = StockCourse(root / "batch", lab, lab_notebook(project, lab.id, "es", "source"), samples)
        single = course.copy(root / "single")
        step("bench.batch")
        batch = course.autograde()
        calls = []
        for one in samples[: plan.calls]:
            step("bench.call")
            calls.append(single.autograde(["--student", one.learner]))
        larger = {}
        for count in plan.workers if plan.larger > plan.submissions else ():
            step("bench.larger")
            larger[count] = ours.grade(sample(project, lab.id, plan.larger), count)
        theirs = course.scores()
        return Measured(
            plan,
            first,
            batch,
            calls,
            costs,
            larger,
            differing=sorted(learner for learner, score in theirs.items() if score != scores[learner]),
            ungraded=sorted(set(scores) - set(theirs)),
            load=(load, os.getloadavg()[0]),
            versions={"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        )


class _Ours:
    """``sistolica grade``, each time from nothing."""

    def __init__(self, project: Project, lab_id: str, root: Path) -> None:
        self._project = project
        self._lab_id = lab_id
        self._root = root
        self._gradings = 0

    def grade(self, samples: Sequence[Sample], workers: int) -> Cost:
        self._gradings += 1
        home = self._root / f"ours-{self._gradings}"
        for one in samples:
            path = home / "in" / one.learner / f"{self._lab_id}.ipynb"
            path.parent.mkdir(parents=True)
            nbformat.write(one.notebook, path)
        options = ["--lab", self._lab_id, "--out", str(home / "out"), "--seed", str(SEED), "--workers", str(workers)]
        cost, said = cost_of([*_COMMAND, str(home / "in"), *options], self._project.root, {})
        if cost.status != 0:
            raise BenchError(f"sistolica grade ended with {cost.status}: {said[-500:]}")
        return cost

    def scores(self) -> dict[str, float]:
        """Of the last grading."""
        table = self._root / f"ours-{self._gradings}" / "out" / "grades.csv"
        with table.open(encoding="utf-8-sig", newline="") as file:
            return {row["learner"]: float(row["score"]) for row in csv.DictReader(file)}
