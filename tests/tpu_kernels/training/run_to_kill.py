"""A short training run, as a program: ``run_to_kill.py MODEL FOLDER RESULT``. It resumes, and can kill itself.

With ``KILL_AT=k`` in the environment it ends by SIGKILL at its k-th event, just before that is done: a step, or
anything that it does to a file in FOLDER. What a kill by hand would hit one time in a thousand, in the midst of a save
or of the removal of an old checkpoint, is hit at will, and the same way each time. At the end it prints the number of
its events.
"""

import itertools
import os
import signal
import sys
from functools import partial
from pathlib import Path

import jax
import numpy as np
import optax

from tpu_kernels.training import classifier, transformer
from tpu_kernels.training.checkpoint import Checkpoints
from tpu_kernels.training.data_parallel import make_step
from tpu_kernels.training.fit import fit
from tpu_kernels.training.log import Log
from tpu_kernels.training.mesh import data_mesh, split_rows
from tpu_kernels.training.pipeline import Batches
from tpu_kernels.training.state import TrainState

STEPS, EVERY, KEEP = 10, 3, 2
CONFIG = transformer.Config(context=8, width=16, layers=1, heads=2, dropout=0.2)
CHANGES = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "shutil.rmtree"}

events = itertools.count(1)


def event() -> None:
    if next(events) == int(os.environ.get("KILL_AT", 0)):
        os.kill(os.getpid(), signal.SIGKILL)


def watch(folder: str) -> None:
    def hook(name: str, arguments: tuple) -> None:
        if name in CHANGES and str(arguments[0]).startswith(folder):
            event()

    sys.addaudithook(hook)


def main(model: str, folder: str, result: str) -> None:
    rng = np.random.default_rng(0)
    if model == "digits":
        devices, losses, params = 1, classifier.losses, classifier.init(0)
        examples = {
            "pixels": rng.random((70, 64), dtype=np.float32),
            "label": rng.integers(0, 10, 70).astype(np.int32),
        }
    else:
        devices, losses, params = 4, partial(transformer.losses, config=CONFIG), transformer.init(CONFIG, 0)
        examples = {"tokens": rng.integers(0, 256, (70, CONFIG.context + 1)).astype(np.uint8)}
    jax.config.update("jax_num_cpu_devices", devices)
    mesh, rule = data_mesh(devices), optax.adamw(1e-2)
    step = make_step(losses, rule, mesh=mesh, donate=True)

    def counted(state: TrainState, batch: dict) -> tuple:
        event()
        return step(state, batch)

    watch(folder)
    with (
        Batches(examples, 16, seed=1, sharding=split_rows(mesh)) as batches,
        Checkpoints(folder, every=EVERY, keep=KEEP, configuration={"model": model}) as checkpoints,
    ):
        state = TrainState.create(params, rule, seed=2)
        log = Log(Path(folder) / "log.jsonl")
        run = fit(state, counted, batches, steps=STEPS, every=1, checkpoints=checkpoints, log=log, progress=False)
    leaves = jax.tree.leaves((run.state.params, run.state.opt_state))
    np.savez(result, *map(np.asarray, leaves))
    sys.stdout.write(str(next(events) - 1))


if __name__ == "__main__":
    main(*sys.argv[1:])
