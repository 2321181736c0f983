"""The loop around a training step: it resumes, reports, saves, and knows when to stop. The step does the training.

Asking a device for a number makes it run dry: nothing is queued while the host reads. So a step's metrics stay on the
device until it is time to look at them, and then those of all the steps since the last look come over at once.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import jax
import jax.numpy as jnp

from tpu_kernels.phrases import phrase
from tpu_kernels.training.checkpoint import CheckpointError, Checkpoints
from tpu_kernels.training.examples import rows
from tpu_kernels.training.interruption import Interruption
from tpu_kernels.training.log import Log
from tpu_kernels.training.metrics import UNKNOWN, Meter, Speed, Work
from tpu_kernels.training.pipeline import Batches
from tpu_kernels.training.progress import Show, terminal_line
from tpu_kernels.training.report import Report
from tpu_kernels.training.state import Params, TrainState
from tpu_kernels.training.step import Metrics, Step


class DivergedError(ArithmeticError):
    """The loss, or a parameter about to be saved, is no finite number; ``step`` is the first where that was seen."""

    def __init__(self, message: str, step: int) -> None:
        super().__init__(message)
        self.step = step


class Interrupted(KeyboardInterrupt):
    """The run was asked to stop, and did so between two steps. ``state`` is that after the last one."""

    def __init__(self, message: str, state: TrainState, signal: int) -> None:
        super().__init__(message)
        self.state, self.signal = state, signal


class SaveFailedWarning(UserWarning):
    """A checkpoint could not be written; the run goes on and will try again at the next."""


class Fitted(NamedTuple):
    """The state after the last step, and the reports of this call, in order."""

    state: TrainState
    reports: list[Report]


def fit(
    state: TrainState,
    step: Step,
    batches: Batches,
    *,
    steps: int,
    every: int,
    checkpoints: Checkpoints | None = None,
    validate: Callable[[Params], Mapping[str, float]] | None = None,
    validate_every: int | None = None,
    log: Log | None = None,
    progress: bool | Show = True,
    work: Work = UNKNOWN,
) -> Fitted:
    """Trains until ``state.step`` is ``steps``, from the newest checkpoint if there is one; ``state`` gives its form.

    Looks at the metrics each ``every`` steps, and before it saves (``checkpoints.every``) or validates: after the last
    step, and each ``validate_every`` steps. ``log`` gets a line each time. ``progress``: True shows a line if stderr is
    a terminal, a function gets each :class:`Report`. ``work`` is what MFU and tokens a second are worked out from. In a
    run of several processes, the first one logs.

    Raises :class:`DivergedError` at the next look after a loss that is not finite; parameters that are not are never
    saved. Raises :class:`Interrupted`, having saved, after SIGINT or SIGTERM, unless there are other processes, which
    would wait for this one. A save that fails is a
    :class:`SaveFailedWarning`, and a ``CheckpointError`` with the state if it was the last; ``MismatchError`` if what
    is in the folder is another run's. ``ValueError`` for ``every`` below 1.
    """
    for name, size in (("every", every), ("validate_every", 1 if validate_every is None else validate_every)):
        if size < 1:
            raise ValueError(phrase("training.size", name=name, got=size))
    restored = checkpoints.restore(state) if checkpoints else None
    if restored:
        state = restored.state
        if restored.batches:
            batches.restore(restored.batches)
    first = int(state.step)
    log = log if jax.process_index() == 0 else None
    if log:
        log.rewind(first)
    reports: list[Report] = []
    pending = _Pending(first, work, checkpoints)
    with _shown(progress, first, steps) as show, Interruption(jax.process_count() == 1) as interruption:
        for number in range(first + 1, steps + 1):
            batch = next(batches)
            state, metrics = step(state, batch)
            pending.add(metrics, rows(batch), state)
            last = number == steps
            save = checkpoints is not None and (number % checkpoints.every == 0 or last)
            check = validate is not None and (last or number % (validate_every or steps) == 0)
            if not (number % every == 0 or save or check or last or interruption.asked):
                continue
            loss, grad_norm, speed = pending.fetch()
            found = validate(state.params) if validate and check else {}
            reports.append(Report(number, steps, loss, grad_norm, speed, found))
            show(reports[-1])
            if log:
                log.write(reports[-1].record())
            stop = interruption.asked
            if checkpoints and (save or stop):
                _save(checkpoints, state, batches, must=last or bool(stop))
            if stop or (last and interruption.asked):
                raise Interrupted(_how_to_resume(number, checkpoints), state, interruption.asked or 0)
            if save or check:
                pending.restart(state)
    return Fitted(state, reports)


class _Pending:
    """Metrics that are still on the device, and the clock of the steps that made them."""

    def __init__(self, first: int, work: Work, checkpoints: Checkpoints | None) -> None:
        self.step, self._work, self._checkpoints = first, work, checkpoints
        self._metrics: list[tuple[jax.Array, jax.Array]] = []  # loss and gradient norm of each step
        self._examples = self._timed = 0
        self._meter: Meter | None = None

    def add(self, metrics: Metrics, examples: int, state: TrainState) -> None:
        self.step += 1
        self._metrics.append((metrics["loss"], metrics["grad_norm"]))
        if self._meter is None:  # this step compiled
            devices = {device for leaf in jax.tree.leaves(state.params) for device in leaf.devices()}
            self._meter = Meter(self._work, devices)
            self._meter.start(metrics)
        else:
            self._examples += examples
            self._timed += 1

    def fetch(self) -> tuple[float, float, Speed | None]:
        """Mean loss, last gradient norm, speed. The one place where numbers come to the host."""
        found = [(float(loss), float(norm)) for loss, norm in jax.device_get(self._metrics)]
        speed = self._meter.read(self._timed, self._examples) if self._meter else None
        for number, (loss, _) in enumerate(found, start=self.step - len(found) + 1):
            if not math.isfinite(loss):
                raise _diverged(number, f"loss = {loss}", self._checkpoints)
        self._metrics, self._examples, self._timed = [], 0, 0
        return math.fsum(loss for loss, _ in found) / len(found), found[-1][1], speed

    def restart(self, state: TrainState) -> None:
        """Leaves out of the speed what was done since :meth:`fetch`."""
        if self._meter:
            self._meter.start(state.step)


def _save(checkpoints: Checkpoints, state: TrainState, batches: Batches, *, must: bool) -> None:
    # A finite loss is that of the parameters before the step; what is saved are those after it.
    if not _all_finite(state.params):
        raise _diverged(int(state.step), "params", checkpoints)
    try:
        checkpoints.save(state, batches.state())
    except CheckpointError as error:
        if must:
            raise
        warnings.warn(phrase("fit.save_failed", error=error), SaveFailedWarning, stacklevel=3)


@jax.jit
def _all_finite(params: Params) -> jax.Array:
    return jnp.all(jnp.array([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(params)]))


def _diverged(step: int, what: str, checkpoints: Checkpoints | None) -> DivergedError:
    saved = checkpoints.steps() if checkpoints else []
    if checkpoints and saved:
        message = phrase("fit.diverged", step=step, what=what, saved=saved[-1], folder=checkpoints.folder)
    else:
        message = phrase("fit.diverged_unsaved", step=step, what=what)
    return DivergedError(message, step)


def _how_to_resume(step: int, checkpoints: Checkpoints | None) -> str:
    if checkpoints:
        return phrase("fit.interrupted", step=step, folder=checkpoints.folder)
    return phrase("fit.interrupted_unsaved", step=step)


@contextmanager
def _shown(progress: bool | Show, first: int, steps: int) -> Iterator[Show]:
    if progress is True:
        with terminal_line(first, steps) as show:
            yield show
    else:
        yield progress if callable(progress) else lambda report: None
