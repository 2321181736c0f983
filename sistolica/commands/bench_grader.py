"""``sistolica bench grader``: what a submission costs here, beside stock nbgrader, in one run.

Exit status: 0; 1 when a score differs from nbgrader's or a grading failed; 2 when the options make no sense.
"""

import json

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from graders.lab import lab_ids
from graders.phrases import phrase
from sistolica.bench.grader import BenchError, Measured, Plan, bench_grader
from sistolica.bench.stock import StockError
from sistolica.project import Project
from tpu_kernels.messages import decimal, language

ALIKE, DIFFERENT, BAD_USAGE = 0, 1, 2


def measure_grader(project: Project, console: Console, complaints: Console, plan: Plan, json_only: bool = False) -> int:
    """Measure, print the table and, last, one line of JSON; the exit status."""
    refused = _refusal(project, plan)
    if refused:
        complaints.print(escape(refused), soft_wrap=True, highlight=False)
        return BAD_USAGE
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=complaints, transient=True, disable=not complaints.is_terminal) as progress:
        task = progress.add_task("", total=plan.steps)

        def step(key: str) -> None:
            progress.update(task, description=phrase(key))
            progress.advance(task)

        try:
            measured = bench_grader(project, plan, step)
        except (BenchError, StockError, ChildProcessError) as error:
            complaints.print(escape(phrase("bench.failed", reason=error)), soft_wrap=True, highlight=False)
            return DIFFERENT
    if not json_only:
        console.print(_table(measured))
        for line in _remarks(measured):
            console.print(escape(line), soft_wrap=True, highlight=False)
    console.print(json.dumps(measured.to_dict()), soft_wrap=True, highlight=False, markup=False)
    return DIFFERENT if measured.differing else ALIKE


def _refusal(project: Project, plan: Plan) -> str:
    """Why ``plan`` cannot be done; empty if it can."""
    if plan.lab_id not in lab_ids(project.labs):
        return phrase("grade.lab", got=plan.lab_id, known=", ".join(lab_ids(project.labs)))
    if not plan.workers or min(plan.workers) < 1:
        return phrase("grade.workers", got=",".join(map(str, plan.workers)))
    return ""


def _table(measured: Measured) -> Table:
    plan, own = measured.plan, measured.cpu_s_per_submission
    table = Table()
    table.add_column(phrase("bench.way"))
    for key in ("bench.count", "bench.cpu", "bench.wall", "bench.ratio"):
        table.add_column(phrase(key), justify="right")

    def row(way: str, count: int, cpu_s: float, wall_s: float) -> None:
        table.add_row(escape(way), str(count), _figure(cpu_s), _figure(wall_s), _figure(cpu_s / own))

    for count, costs in ((plan.submissions, measured.ours), (plan.larger, measured.larger)):
        for workers, cost in costs.items():
            row(phrase("bench.ours", workers=workers), count, cost.cpu_s / count, cost.wall_s / count)
    together, calls = measured.batch, measured.calls
    row(phrase("bench.nbgrader-batch"), plan.submissions, measured.batch_cpu_s, together.wall_s / plan.submissions)
    if measured.call_cpu_s is not None:
        wall_s = sum(cost.wall_s for cost in calls) / len(calls)
        row(phrase("bench.nbgrader-calls"), len(calls), measured.call_cpu_s, wall_s)
    return table


def _remarks(measured: Measured) -> list[str]:
    said = [
        phrase("bench.throughput", workers=workers, rate=_figure(measured.throughput(workers)))
        for workers in measured.larger
    ]
    said.append(phrase("bench.first", cpu=_figure(measured.first.cpu_s)))
    if measured.ungraded:
        said.append(phrase("bench.ungraded", names=", ".join(measured.ungraded)))
    if measured.differing:
        said.append(phrase("bench.differ", names=", ".join(measured.differing)))
    else:
        said.append(phrase("bench.alike"))
    before, after = map(_figure, measured.load)
    said.append(phrase("bench.load", before=before, after=after))
    return said


def _figure(value: float) -> str:
    return decimal(f"{value:.2f}", language())
