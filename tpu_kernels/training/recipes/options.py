"""What can be chosen about a run; each recipe has a set that works for it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp

from tpu_kernels.training.precision import FLOAT32, Policy
from tpu_kernels.training.progress import Show


@dataclass(frozen=True)
class Options:
    """``dataclasses.replace(TEXT, steps=100)`` is a recipe's set with another number of steps.

    ``batch_size`` is that of all ``devices`` together. ``learning_rate`` is the highest; it rises for the first steps
    and falls to a tenth by the last. The run looks at its metrics each ``every`` steps and validates each
    ``validate_every``. ``checkpoints``: the folder to save in each ``save_every`` steps, and to resume from, with the
    log, ``log.jsonl``; None saves nothing. ``progress`` as in ``fit``.
    """

    steps: int
    batch_size: int
    learning_rate: float
    seed: int = 0
    devices: int = 1
    policy: Policy = FLOAT32
    every: int = 20
    validate_every: int | None = None
    checkpoints: str | Path | None = None
    save_every: int = 100
    keep: int = 3
    progress: bool | Show = True

    def configuration(self) -> dict[str, Any]:
        """What decides the result, and so must be the same when a run is resumed.

        Not the number of devices: more or fewer give the same sums, but for rounding.
        """
        return {
            "steps": self.steps,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "seed": self.seed,
            "precision": str(jnp.dtype(self.policy.compute_dtype)),
        }
