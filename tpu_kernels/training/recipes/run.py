"""What all recipes do: optimiser, step, data, checkpoints and log put together, and :func:`fit` around them."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import jax
import numpy.typing as npt
import optax

from tpu_kernels.training.checkpoint import Checkpoints
from tpu_kernels.training.data_parallel import make_step
from tpu_kernels.training.fit import Fitted, fit
from tpu_kernels.training.log import Log
from tpu_kernels.training.loss import Losses
from tpu_kernels.training.mesh import data_mesh, replicated, split_rows
from tpu_kernels.training.metrics import Work
from tpu_kernels.training.pipeline import Batches
from tpu_kernels.training.recipes.options import Options
from tpu_kernels.training.state import Params, TrainState

WARM_UP = 0.1  # the share of the steps in which the learning rate rises
LAST = 0.1  # the share of it that is left at the end
LARGEST_NORM = 1.0  # of a gradient; a longer one is shortened to it


def optimiser(options: Options) -> optax.GradientTransformation:
    """AdamW under a warm-up and a cosine, on gradients clipped by their norm."""
    rate = optax.warmup_cosine_decay_schedule(
        0.0,
        options.learning_rate,
        warmup_steps=round(WARM_UP * options.steps),
        decay_steps=max(options.steps, 1),
        end_value=LAST * options.learning_rate,
    )
    return optax.chain(optax.clip_by_global_norm(LARGEST_NORM), optax.adamw(rate))


def placed(options: Options) -> dict[str, Any]:
    """How to evaluate as it is trained: the ``batch_size`` and ``sharding`` that ``mean_over`` takes."""
    return {"batch_size": options.batch_size, "sharding": split_rows(data_mesh(options.devices))}


def train(
    losses: Losses,
    params: Params,
    examples: Mapping[str, npt.NDArray[Any]],
    validate: Callable[[Params], Mapping[str, float]],
    options: Options,
    configuration: Mapping[str, Any],
    work: Work,
) -> Fitted:
    """Trains ``params``, or goes on with what is in ``options.checkpoints``; ``configuration`` is the recipe's own.

    Raises what :func:`fit` and the parts that it is given raise.
    """
    mesh = data_mesh(options.devices)
    rule = optimiser(options)
    step = make_step(losses, rule, mesh=mesh, policy=options.policy, donate=True)
    # Made where it will lie: with several hosts, no array of one device could be moved there.
    create = jax.jit(lambda params: TrainState.create(params, rule, options.seed), out_shardings=replicated(mesh))
    with ExitStack() as opened:
        rows = split_rows(mesh)
        batches = opened.enter_context(Batches(examples, options.batch_size, seed=options.seed, sharding=rows))
        checkpoints = log = None
        if options.checkpoints is not None:
            whole = {**configuration, **options.configuration()}
            checkpoints = opened.enter_context(
                Checkpoints(options.checkpoints, every=options.save_every, keep=options.keep, configuration=whole)
            )
            log = Log(Path(options.checkpoints) / "log.jsonl")
        return fit(
            create(params),
            step,
            batches,
            steps=options.steps,
            every=options.every,
            checkpoints=checkpoints,
            validate=validate,
            validate_every=options.validate_every,
            log=log,
            progress=options.progress,
            work=work,
        )
