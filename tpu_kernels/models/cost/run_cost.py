"""What a training run and a million tokens cost."""

from typing import NamedTuple

from tpu_kernels.models import hardware
from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.cost.rate import Rate
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.numerals import number, positional
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.share import positive_share
from tpu_kernels.phrases import phrase

SECONDS_PER_HOUR = 3600
TOKENS_IN_A_MILLION = 1_000_000


class RunCost(NamedTuple):
    """``hours`` of ``chips``, ``chip_hours`` in all, ``usd``; and the ``mfu`` and ``goodput`` that they come from."""

    rate: Rate
    chips: int
    hours: float
    chip_hours: float
    usd: float
    mfu: float
    goodput: float

    def __repr__(self) -> str:
        return phrase(
            "cost.run",
            chips=number(self.chips),
            chip=self.rate.chip,
            hours=number(self.hours, digits=3),
            usd=dollars(self.usd),
            goodput=Quantity(self.goodput, "share").format(),
        )


def dollars(amount: float) -> str:
    """An amount of USD as the language writes it, in cents."""
    return positional(round(amount * 100), -2, places=2)


def training_flops(parameters: float, tokens: float) -> float:
    """``6 * parameters * tokens``: forward 2, backward 4 FLOP a parameter and token, attention left out.

    Source: How to Scale Your Model, "Transformers" (2025-02-18). Raises ``ValueError`` unless both are positive.
    """
    return 6 * positive_number("parameters", parameters) * positive_number("tokens", tokens)


def training_hours(
    flops: float, chip: str, chips: int, *, mfu: float, goodput: float = 1.0, dtype: str = "bf16"
) -> float:
    """Hours for ``flops`` on ``chips`` at ``mfu`` of the peak rate of ``dtype``, of which a ``goodput`` is kept.

    ``flops / (chips * peak * mfu * goodput)``. Raises ``ValueError`` for shares outside (0, 1] and numbers that are not
    positive, ``LookupError`` for a chip or a rate that the catalogue does not know.
    """
    peak = float(hardware.chip(chip).peak_flops[dtype])
    rate = whole("chips", chips) * peak * positive_share("mfu", mfu) * positive_share("goodput", goodput)
    return positive_number("flops", flops) / rate / SECONDS_PER_HOUR


def training_cost(
    flops: float, rate: Rate, chips: int, *, mfu: float, goodput: float = 1.0, dtype: str = "bf16"
) -> RunCost:
    """What a training run costs at ``rate``; see :func:`training_hours` for the rest."""
    hours = training_hours(flops, rate.chip, chips, mfu=mfu, goodput=goodput, dtype=dtype)
    return RunCost(rate, chips, hours, hours * chips, hours * float(rate.hourly(chips)), mfu, goodput)


def usd_per_million_tokens(rate: Rate, chips: int, tokens_per_second: float) -> float:
    """``USD per second / tokens per second * 1e6`` for ``chips`` at ``rate`` that make so many tokens together.

    Whose tokens: output ones or input ones, as the throughput given; where both share the machine the whole cost is
    counted on those. Source: inference-perf, docs/metrics.md (2026-08-19). Raises ``ValueError`` unless positive.
    """
    per_second = float(rate.hourly(chips)) / SECONDS_PER_HOUR
    return per_second / positive_number("tokens_per_second", tokens_per_second) * TOKENS_IN_A_MILLION
