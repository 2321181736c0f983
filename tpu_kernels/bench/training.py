"""Steps of training in every form, on one device and on several, in one run, each gradient checked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import jax
import numpy as np
import optax

from tpu_kernels.backend import here, require_devices
from tpu_kernels.bench.matmul import MEASURED
from tpu_kernels.bench.reference_loss import loss as reference_loss
from tpu_kernels.bench.reference_loss import slope, squared_norm
from tpu_kernels.bench.roof import PUBLISHED, Roof, checked_rate, roof
from tpu_kernels.bench.timing import Call, Timing, time_in_turns
from tpu_kernels.training import data_parallel, fsdp
from tpu_kernels.training.batch import shard_batch
from tpu_kernels.training.mesh import data_mesh
from tpu_kernels.training.precision import Policy
from tpu_kernels.training.state import TrainState
from tpu_kernels.training.transformer import losses
from tpu_kernels.training.transformer_config import Config, init, training_flops_per_token

PARALLELISM: dict[str, ModuleType] = {"data": data_parallel, "fsdp": fsdp}
# Relative errors: of the loss, of the gradient's slope along itself, and of its distance from a single device's. A
# rounding in float32 is 6e-8 and sums of hundreds of terms keep most of them; bfloat16 rounds every activation by up to
# 4e-3. A gradient that leaves out or repeats a device's part is off by far more than either.
TOLERANCES = {"float32": 2e-5, "bfloat16": 5e-2}


@dataclass(frozen=True)
class Contestant:
    """``parallelism``: a key of :data:`PARALLELISM`; ``form``: "shard_map" or "jit"; ``dtype``: of the computation."""

    parallelism: str
    form: str
    devices: int
    dtype: str

    @property
    def name(self) -> str:
        return f"{self.parallelism} {self.form} x{self.devices} {self.dtype}"


@dataclass(frozen=True)
class Row:
    """One contestant on a batch of ``tokens`` tokens.

    ``loss_error``: relative, against NumPy's float64; ``slope_error``: relative, of the squared norm of the gradient
    against the float64 slope of the loss along it; ``gradient_error``: relative distance from the gradient of the first
    contestant. ``ratio``: time over the first contestant's, from the same rounds.
    """

    contestant: Contestant
    tokens: int
    flops: int
    loss_error: float
    slope_error: float
    gradient_error: float
    timing: Timing
    ratio: float
    roof: Roof

    @property
    def right(self) -> bool:
        return max(self.loss_error, self.slope_error, self.gradient_error) <= TOLERANCES[self.contestant.dtype]

    @property
    def mfu(self) -> float | None:
        """Model FLOP utilisation: the FLOP/s of the model over the peak of all its devices.

        On a CPU the simulated devices share one processor, whose peak is counted once.
        """
        if self.roof.peak is None:
            return None
        devices = self.contestant.devices if self.roof.label == PUBLISHED else 1
        return self.flops / self.timing.median / (self.roof.peak * devices)

    def to_dict(self) -> dict[str, Any]:
        return {
            "operation": "training",
            "parallelism": self.contestant.parallelism,
            "form": self.contestant.form,
            "devices": self.contestant.devices,
            "dtype": self.contestant.dtype,
            "label": MEASURED,
            "right": self.right,
            "loss_error": self.loss_error,
            "slope_error": self.slope_error,
            "gradient_error": self.gradient_error,
            "host_seconds": self.timing.to_dict(),
            "tokens": self.tokens,
            "tokens_per_s": self.tokens / self.timing.median,
            "flops": self.flops,
            "flops_per_s": self.flops / self.timing.median,
            "mfu": self.mfu,
            "roofline": self.roof.label,
            "ratio_to_first": self.ratio,
        }


def contestants(devices: Sequence[int], dtypes: Sequence[str]) -> tuple[Contestant, ...]:
    """Every parallelism and form on each number of devices; on one device, where they are the same, the first alone."""
    found = []
    for dtype in dtypes:
        for count in devices:
            pairs = [(kind, form) for kind in PARALLELISM for form in ("shard_map", "jit")]
            found += [Contestant(kind, form, count, dtype) for kind, form in (pairs if count > 1 else pairs[:1])]
    return tuple(found)


def bench_training(
    chosen: Sequence[Contestant],
    config: Config,
    *,
    batch: int = 8,
    warmup: int = 1,
    repeats: int = 5,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> Iterator[Row]:
    """Yields a :class:`Row` for each contestant: one step of a transformer on ``batch`` random sequences.

    Raises ``ValueError`` for more devices than there are, or none of them.
    """
    found = here()
    require_devices(max(contestant.devices for contestant in chosen))
    rng = np.random.default_rng(seed)
    tokens = rng.integers(0, config.vocabulary, (batch, config.context + 1)).astype(np.int32)
    params = init(config, seed)
    truth = reference_loss(params, tokens, config)
    gradients, lost, calls = {}, {}, {}
    for contestant in chosen:
        lost[contestant], gradients[contestant] = _gradient(contestant, config, params, tokens, seed)
        calls[contestant.name] = _call(contestant, config, params, tokens, seed)
    timings = time_in_turns(calls, warmup=warmup, repeats=repeats, progress=progress)
    counted = batch * config.context
    flops = counted * training_flops_per_token(config)
    first = chosen[0]
    for contestant in chosen:
        mine = gradients[contestant]
        timing = timings[contestant.name]
        alone = contestant.devices if found.platform != "cpu" else 1  # simulated devices are one processor
        checked_rate(flops / timing.median / alone, found, contestant.dtype)
        yield Row(
            contestant=contestant,
            tokens=counted,
            flops=flops,
            loss_error=abs(lost[contestant] - truth) / truth,
            slope_error=abs(squared_norm(mine) / slope(params, mine, tokens, config) - 1),
            gradient_error=_distance(mine, gradients[first]),
            timing=timing,
            ratio=timing.ratio(timings[first.name]),
            roof=roof(found, contestant.dtype),
        )


def _step(contestant: Contestant, config: Config, optimizer: optax.GradientTransformation) -> Any:
    return PARALLELISM[contestant.parallelism].make_step(
        partial(losses, config=config),
        optimizer,
        mesh=data_mesh(contestant.devices),
        form=contestant.form,
        policy=Policy(contestant.dtype),
    )


def _gradient(
    contestant: Contestant, config: Config, params: dict[str, Any], tokens: np.ndarray, seed: int
) -> tuple[float, dict[str, np.ndarray]]:
    """The loss, and the gradient that the step applied, kept by an optimiser that does nothing else."""
    keep = optax.GradientTransformation(
        init=lambda params: jax.tree.map(np.zeros_like, params),
        update=lambda gradient, state, params=None: (jax.tree.map(lambda g: 0 * g, gradient), gradient),
    )
    state = TrainState.create(params, keep, seed)
    batch = shard_batch({"tokens": tokens}, data_mesh(contestant.devices))
    after, metrics = _step(contestant, config, keep)(state, batch)
    return float(metrics["loss"]), {name: np.asarray(part) for name, part in after.opt_state.items()}


def _call(contestant: Contestant, config: Config, params: dict[str, Any], tokens: np.ndarray, seed: int) -> Call:
    optimizer = optax.adamw(1e-3)
    step, mesh = _step(contestant, config, optimizer), data_mesh(contestant.devices)
    batch = shard_batch({"tokens": tokens}, mesh)
    create = partial(fsdp.create_state, mesh=mesh) if contestant.parallelism == "fsdp" else TrainState.create
    state = create(params, optimizer, seed)
    return lambda: step(state, batch)


def _distance(mine: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> float:
    """Norm of the difference over the norm."""
    apart = {name: mine[name] - theirs[name] for name in theirs}
    return float(np.sqrt(squared_norm(apart) / squared_norm(theirs)))
