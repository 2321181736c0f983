"""The loop around a training step: it looks at the loss now and then, saves, and stops between two steps when asked.

Asking a device for a number makes it run dry: nothing is queued while the host reads. So what a step measures stays on
the device until it is time to look.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tpu_kernels.phrases import phrase
from tpu_kernels.training.interruption import Interruption
from tpu_kernels.training.pytorch.checkpoint import save
from tpu_kernels.training.pytorch.run import Run
from tpu_kernels.training.pytorch.step import Metrics, Step


class DivergedError(ArithmeticError):
    """The loss is no finite number; ``step`` is the first where that was seen."""

    def __init__(self, message: str, step: int) -> None:
        super().__init__(message)
        self.step = step


class Report(NamedTuple):
    """After ``step``: the mean ``loss`` of the steps since the report before, and the last ``grad_norm``."""

    step: int
    loss: float
    grad_norm: float


def fit(
    run: Run,
    step: Step,
    *,
    steps: int,
    every: int = 20,
    path: str | Path | None = None,
    save_every: int = 100,
    show: Callable[[Report], None] | None = None,
) -> list[Report]:
    """Trains until ``run.step`` is ``steps``; ``step`` is one of ``run.model`` and ``run.optimizer``.

    Looks at the loss each ``every`` steps, before it saves, and at the end; ``show`` gets each :class:`Report`. Saves
    to ``path`` each ``save_every`` steps and at the end; :func:`.checkpoint.restore` goes on from there.

    Raises :class:`DivergedError` at the next look after a loss that is not finite, ``KeyboardInterrupt`` after SIGINT
    or SIGTERM, having saved, ``CheckpointError`` when it cannot save, ``ValueError`` for intervals below 1.
    """
    for name, size in (("every", every), ("save_every", save_every)):
        if size < 1:
            raise ValueError(phrase("training.size", name=name, got=size))
    reports: list[Report] = []
    pending: list[Metrics] = []
    saved: int | None = None
    with Interruption() as interruption:
        while run.step < steps:
            pending.append(step(next(run.batches)))
            run.step += 1
            stop, last = interruption.asked, run.step == steps
            due = path is not None and (run.step % save_every == 0 or last or bool(stop))
            if not (due or last or stop or run.step % every == 0):
                continue
            reports.append(_look(run.step, pending, saved, path))
            pending = []
            if show:
                show(reports[-1])
            if path is not None and due and run.writes:
                save(path, run)
                saved = run.step
            if stop:
                raise KeyboardInterrupt(_how_to_resume(run.step, path))
    return reports


def _look(step: int, pending: list[Metrics], saved: int | None, path: str | Path | None) -> Report:
    """The one place where numbers come to the host."""
    losses = [float(metrics["loss"]) for metrics in pending]
    for number, loss in enumerate(losses, start=step - len(losses) + 1):
        if not math.isfinite(loss):
            raise DivergedError(_diverged(number, loss, saved, path), number)
    return Report(step, math.fsum(losses) / len(losses), float(pending[-1]["grad_norm"]))


def _diverged(step: int, loss: float, saved: int | None, path: str | Path | None) -> str:
    if saved is None:
        return phrase("fit.diverged_unsaved", step=step, what=f"loss = {loss}")
    return phrase("fit.diverged", step=step, what=f"loss = {loss}", saved=saved, folder=path)


def _how_to_resume(step: int, path: str | Path | None) -> str:
    if path is None:
        return phrase("pytorch.interrupted", step=step)
    return phrase("fit.interrupted", step=step, folder=path)
