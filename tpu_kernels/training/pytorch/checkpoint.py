"""One file with all that a run needs to go on: there whole, or not at all.

It is written beside the old one under another name and takes its place when it is on disk, so that a kill at any moment
leaves the one or the other. It holds tensors of the CPU, so it goes from one kind of device to another.
"""

import os
from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from tpu_kernels.phrases import phrase
from tpu_kernels.training.pytorch.randomness import random_state, set_random_state
from tpu_kernels.training.pytorch.run import Run


class CheckpointError(RuntimeError):
    """A checkpoint that could not be written, read or used; the message says why and what to do."""


def save(path: str | Path, run: Run) -> None:
    """Saves model, optimiser, step, place in the data and random state; returns when they are on disk.

    Raises :class:`CheckpointError` when they cannot be written; what was in the file before stays.
    """
    path = Path(path)
    content = {
        "step": run.step,
        "model": run.model.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "rule": type(run.optimizer).__name__,
        "batches": dict(run.batches.state()),
        "random": random_state(run.device),
    }
    unfinished = path.with_name(f"{path.name}.unfinished-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("wb") as file:
            torch.save(_on_cpu(content), file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        _sync_folder(path.parent)
    except (OSError, RuntimeError) as error:  # torch writes archives itself, and has RuntimeError for a full disk
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise CheckpointError(phrase("pytorch.not_saved", step=run.step, path=path, reason=_reason(error))) from error


def restore(path: str | Path, run: Run) -> bool:
    """Brings ``run`` to where it was saved; False, with nothing changed, when there is no such file.

    Before ``make_step``, so that what it brings is there when the first step is recorded. Runs no code from the file.
    Raises :class:`CheckpointError` for a file that cannot be read, and for that of another model or optimiser;
    ``ValueError`` for other data.
    """
    path = Path(path)
    if not path.exists():
        return False
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        step, batches, random = content["step"], content["batches"], content["random"]
    except (OSError, RuntimeError, EOFError, KeyError, UnpicklingError) as error:
        raise CheckpointError(phrase("pytorch.unreadable", path=path, reason=_reason(error))) from error
    _refuse_another(path, content, run)
    run.batches.restore(batches)
    run.model.load_state_dict(content["model"])
    run.optimizer.load_state_dict(content["optimizer"])
    set_random_state(run.device, random)
    run.step = step
    return True


def _refuse_another(path: Path, content: dict[str, Any], run: Run) -> None:
    saved = _described(content["model"]) | {"optimizer": content["rule"]}
    here = _described(run.model.state_dict()) | {"optimizer": type(run.optimizer).__name__}
    for name in {**here, **saved}:
        if saved.get(name) != here.get(name):
            then, now = saved.get(name, "—"), here.get(name, "—")
            where = {"folder": path, "step": content["step"]}
            raise CheckpointError(phrase("checkpoint.other_model", name=name, saved=then, here=now, **where))


def _described(tensors: dict[str, torch.Tensor]) -> dict[str, str]:
    return {name: f"{str(tensor.dtype).rpartition('.')[2]}{list(tensor.shape)}" for name, tensor in tensors.items()}


def _on_cpu(tree: Any) -> Any:
    if isinstance(tree, torch.Tensor):
        return tree.detach().cpu()
    if isinstance(tree, dict):
        return {key: _on_cpu(value) for key, value in tree.items()}
    return [_on_cpu(value) for value in tree] if isinstance(tree, list) else tree


def _sync_folder(folder: Path) -> None:
    """The new name, too, is on disk: without this a power cut may bring back the old file."""
    if hasattr(os, "O_DIRECTORY"):  # Windows has no such thing, and renames durably
        descriptor = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _reason(error: Exception) -> str:
    """One line: the operating system's words where there are any, else the first line of the error's."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
