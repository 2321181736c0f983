"""The cheapest slice of the catalogue that holds a model and meets a deadline, interruptions included."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tpu_kernels.models import hardware
from tpu_kernels.models.catalogue import UnknownValueError
from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.cost.checkpoint import best_interval, expected_goodput, mtti_of
from tpu_kernels.models.cost.published import slice_sizes
from tpu_kernels.models.cost.rate import Rate, on_demand
from tpu_kernels.models.cost.run_cost import RunCost, training_cost
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.models.share import positive_share
from tpu_kernels.phrases import phrase


class Job(NamedTuple):
    """What must be done: ``flops`` in all, ``memory`` (bytes) on all chips together, by the ``deadline`` (hours), at
    ``mfu`` of the peak rate of ``dtype``; ``memory_share`` of a chip's HBM can be used."""

    flops: float
    memory: float
    deadline: float
    mfu: float
    dtype: str = "bf16"
    memory_share: float = 1.0


class Risk(NamedTuple):
    """What interrupts it, in hours: ``mean_time_each`` between interruptions of one chip (a slice of ``n`` has ``n``
    times as many), and what a ``checkpoint``, a ``restart`` and the ``wait`` for another slice take."""

    mean_time_each: float
    checkpoint: float
    restart: float = 0.0
    wait: float = 0.0


class Choice(NamedTuple):
    """A slice that fits: its ``cost``, and the ``interval`` between checkpoints in hours (None without risk)."""

    cost: RunCost
    interval: float | None

    def __repr__(self) -> str:
        return repr(self.cost)


def options(
    job: Job,
    *,
    rates: Iterable[Rate] | None = None,
    sizes: Callable[[str], Iterable[int]] | None = None,
    risk: Risk | None = None,
) -> Iterator[Choice]:
    """Every slice that holds the job and meets its deadline, chip by chip, small ones first.

    ``rates``: the prices to choose among (default: the first list price of every chip that has one). ``sizes``: chips
    in the slices on sale, by chip id (default: those of ``data/cost.toml``). Checkpoints are as often as is best for
    the slice. Raises ``ValueError`` for what is not positive; chips without a rate for ``dtype`` or a memory size are
    left out.
    """
    wanted, danger = _checked(job), None if risk is None else _checked_risk(risk)
    for rate in list_prices() if rates is None else rates:
        device = hardware.chip(rate.chip)
        memory = getattr(device, "hbm_capacity", None)
        if memory is None or wanted.dtype not in device.peak_flops:
            continue
        for chips in sorted((sizes or slice_sizes)(device.id)):
            if float(memory) * wanted.memory_share * whole("sizes", chips) >= wanted.memory:
                choice = _choice(wanted, rate, chips, danger)
                if choice.cost.hours <= wanted.deadline:
                    yield choice


def cheapest_slice(
    job: Job,
    *,
    rates: Iterable[Rate] | None = None,
    sizes: Callable[[str], Iterable[int]] | None = None,
    risk: Risk | None = None,
) -> Choice:
    """The cheapest of :func:`options`; of equal ones, the first.

    More chips of a kind never cost less: the work is the same, and interruptions only become more frequent. So for each
    price the smallest slice that fits is the candidate. Raises ``ValueError`` when no slice fits.
    """
    candidates = []
    for rate in list_prices() if rates is None else rates:
        first = next(options(job, rates=[rate], sizes=sizes, risk=risk), None)
        if first is not None:
            candidates.append(first)
    if not candidates:
        raise ValueError(phrase("cost.nothing_fits", memory=f"{job.memory:g}", deadline=f"{job.deadline:g}"))
    return min(candidates, key=lambda choice: choice.cost.usd)


def list_prices() -> Iterator[Rate]:
    """The first list price of every chip of the catalogue that has one."""
    for device in hardware.chips():
        try:
            yield on_demand(device.id)
        except UnknownValueError:
            continue


def _choice(job: Job, rate: Rate, chips: int, risk: Risk | None) -> Choice:
    goodput, interval = 1.0, None
    if risk is not None:
        mtti = mtti_of(chips, risk.mean_time_each)
        interval = best_interval(risk.checkpoint, mtti)
        goodput = float(
            expected_goodput(interval, checkpoint=risk.checkpoint, mtti=mtti, restart=risk.restart, wait=risk.wait)
        )
    if not goodput:
        return Choice(RunCost(rate, chips, float("inf"), float("inf"), float("inf"), job.mfu, 0.0), interval)
    return Choice(training_cost(job.flops, rate, chips, mfu=job.mfu, goodput=goodput, dtype=job.dtype), interval)


def _checked(job: Job) -> Job:
    return job._replace(
        flops=positive_number("flops", job.flops),
        memory=not_negative("memory", job.memory),
        deadline=positive_number("deadline", job.deadline),
        mfu=positive_share("mfu", job.mfu),
        memory_share=positive_share("memory_share", job.memory_share),
    )


def _checked_risk(risk: Risk) -> Risk:
    return Risk(
        positive_number("mean_time_each", risk.mean_time_each),
        positive_number("checkpoint", risk.checkpoint),
        not_negative("restart", risk.restart),
        not_negative("wait", risk.wait),
    )
