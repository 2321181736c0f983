"""Checkpoints of a run: its state, its place in the data and its configuration, on disk together or not at all.

A checkpoint is written under another name and gets its own when it is complete (orbax), so a kill at any moment leaves
the one before. Sums of its files tell one that was damaged later. Saving is synchronous: when :meth:`Checkpoints.save`
returns, the files are there, and "the last good checkpoint" of a message exists. For models whose saving takes longer
than a few steps, orbax can also save behind the back of the training; the price is a second copy of the state in
memory, and errors that come late.
"""

import json
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import jax

from tpu_kernels.phrases import phrase
from tpu_kernels.training.extra import extra
from tpu_kernels.training.leaves import first_difference, forms
from tpu_kernels.training.orbax_errors import OrbaxError, quietly, reason
from tpu_kernels.training.pipeline import Position
from tpu_kernels.training.state import TrainState
from tpu_kernels.training.sums import damaged, write_sums

UNREADABLE = "unreadable"  # the folder for checkpoints that cannot be read; its name is no step, so orbax ignores it


class CheckpointError(RuntimeError):
    """A checkpoint that could not be written, read or used. ``state`` is the state that was to be saved, if any."""

    def __init__(self, message: str, state: TrainState | None = None) -> None:
        super().__init__(message)
        self.state = state


class MismatchError(CheckpointError):
    """A checkpoint of another model or of a run that was configured otherwise."""


class UnreadableCheckpointWarning(UserWarning):
    """A checkpoint was damaged and an older one is used."""


class Restored(NamedTuple):
    """What a checkpoint holds; ``batches`` is None where the run had no state of its data."""

    step: int
    state: TrainState
    batches: Position | None


class Checkpoints:
    """The checkpoints in ``folder``, of which the last ``keep`` stay.

    ``every``: the steps from one to the next, for the loop that saves. ``configuration``: what must be the same when a
    run is resumed, as far as the shapes do not show it: numbers, strings, and lists and dictionaries of them.

    Raises :class:`CheckpointError` for a folder that cannot be written, ``ValueError`` for ``every`` or ``keep`` below
    1, ``MissingExtraError`` without orbax-checkpoint.
    """

    def __init__(
        self, folder: str | Path, *, every: int, keep: int = 3, configuration: Mapping[str, Any] | None = None
    ) -> None:
        for name, size in (("every", every), ("keep", keep)):
            if size < 1:
                raise ValueError(phrase("training.size", name=name, got=size))
        self.folder, self.every = Path(folder).absolute(), every
        self._configuration: dict[str, Any] = json.loads(json.dumps(configuration or {}))  # as it will be read back
        _require_writable(self.folder)
        with extra():
            import orbax.checkpoint as ocp  # takes a third of a second, and only runs that save need it
        self._ocp = ocp
        options = ocp.CheckpointManagerOptions(
            max_to_keep=keep, enable_async_checkpointing=False, save_root_metadata=False
        )
        self._remove_unfinished()  # orbax would do it in a thread, while we go on
        self._manager = quietly(lambda: ocp.CheckpointManager(self.folder, options=options))

    def steps(self) -> list[int]:
        """The steps of the complete checkpoints, in order."""
        return sorted(self._manager.all_steps())

    def save(self, state: TrainState, batches: Position | None = None) -> None:
        """Saves; returns when it is on disk. A step that is there already is not written again.

        Raises :class:`CheckpointError` with ``state`` when it cannot be written: the checkpoints from before stay.
        """
        step = int(state.step)
        if step in self.steps():
            return
        run = {"configuration": self._configuration, "batches": batches, "leaves": forms(state)}
        args = self._ocp.args
        items = args.Composite(state=args.StandardSave(state), run=args.JsonSave(run))
        try:
            quietly(lambda: self._save(step, items))
        except OrbaxError as error:
            self._remove_unfinished()
            self._manager.reload()
            message = phrase("checkpoint.not_saved", step=step, folder=self.folder, reason=error)
            raise CheckpointError(message, state) from error

    def restore(self, like: TrainState) -> Restored | None:
        """The newest checkpoint that is whole, in the shapes and on the devices of ``like``; None when there is none.

        One that is damaged is moved aside, with an :class:`UnreadableCheckpointWarning`, and the one before is read.
        Raises :class:`MismatchError` for a checkpoint of another model, with the first leaf that differs, or of another
        configuration, with the first value; :class:`CheckpointError` when there are some and all are damaged.
        """
        unreadable: dict[int, str] = {}
        for step in reversed(self.steps()):
            try:
                restored = self._read(step, like)
            except OrbaxError as error:
                unreadable[step] = str(error)
            else:
                self._set_aside(unreadable, step)
                return restored
        if unreadable:
            steps = ", ".join(map(str, unreadable))
            why = next(iter(unreadable.values()))
            raise CheckpointError(phrase("checkpoint.all_unreadable", folder=self.folder, steps=steps, reason=why))
        return None

    def close(self) -> None:
        """Releases what orbax holds."""
        self._manager.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _save(self, step: int, items: Any) -> None:
        self._manager.save(step, args=items, force=True)
        if jax.process_index() == 0:
            write_sums(self.folder / str(step))

    def _read(self, step: int, like: TrainState) -> Restored:
        # Not left to orbax, which gives wrong numbers for a bit that changed, and a key without its type for a file
        # that is gone.
        if (name := quietly(lambda: damaged(self.folder / str(step)))) is not None:
            raise OrbaxError(phrase("checkpoint.damaged", name=name))
        args = self._ocp.args
        run = quietly(lambda: self._manager.restore(step, args=args.Composite(run=args.JsonRestore())).run)
        self._refuse_another(step, run, like)
        form = args.StandardRestore(jax.tree.map(self._ocp.utils.to_shape_dtype_struct, like))
        state = quietly(lambda: self._manager.restore(step, args=args.Composite(state=form)).state)
        return Restored(step, state, run["batches"])

    def _refuse_another(self, step: int, run: dict[str, Any], like: TrainState) -> None:
        where: dict[str, Any] = {"folder": self.folder, "step": step}
        saved, here = run["leaves"], forms(like)
        if (name := first_difference(saved, here)) is not None:
            forms_of = {"saved": saved.get(name, "—"), "here": here.get(name, "—")}
            raise MismatchError(phrase("checkpoint.other_model", name=name, **forms_of, **where))
        saved = run["configuration"]
        for key in [*self._configuration, *saved]:
            then, now = (json.dumps(run.get(key), ensure_ascii=False) for run in (saved, self._configuration))
            if then != now:
                raise MismatchError(phrase("checkpoint.other_run", name=key, saved=then, here=now, **where))

    def _set_aside(self, unreadable: dict[int, str], used: int) -> None:
        """Out of the way: a run that goes on from before will come to the same step, and must be able to save it."""
        if not unreadable:
            return
        aside = self.folder / UNREADABLE
        if jax.process_index() == 0:
            aside.mkdir(exist_ok=True)
            for step in unreadable:
                shutil.rmtree(aside / str(step), ignore_errors=True)
                (self.folder / str(step)).rename(aside / str(step))
        self._manager.reload()
        for step, why in unreadable.items():
            message = phrase("checkpoint.unreadable", step=step, reason=why, used=used, aside=aside)
            warnings.warn(message, UnreadableCheckpointWarning, stacklevel=4)

    def _remove_unfinished(self) -> None:
        """What a kill or a failed save leaves behind is no checkpoint, and would keep a full disk full."""
        if jax.process_index() == 0:
            for path in self.folder.glob("*.orbax-checkpoint-tmp*"):
                shutil.rmtree(path, ignore_errors=True)


def _require_writable(folder: Path) -> None:
    probe = folder / ".writable"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CheckpointError(phrase("checkpoint.no_folder", folder=folder, reason=reason(error))) from error
