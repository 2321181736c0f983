"""The line that a terminal shows while a run goes on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tpu_kernels.training.report import Report

Show: TypeAlias = Callable[[Report], None]


@contextmanager
def terminal_line(first: int, steps: int, console: Console | None = None) -> Iterator[Show]:
    """Shows each report that it is given, in one line with a bar, if ``console`` (default: stderr) is a terminal.

    ``first`` and ``steps``: the step that the run starts from and its last.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield lambda report: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(compact=True))
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(f"{first}/{steps}", total=steps, completed=first)
        yield lambda report: bar.update(task, completed=report.step, description=str(report))
