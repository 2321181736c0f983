"""Prices, runs, tokens and slices: by hand, by brute force, and by what more money or more speed must do."""

import math
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import cost, hardware
from tpu_kernels.models.cost.published import document
from tpu_kernels.models.quantity import UNITS

SHARES = st.floats(0.05, 1.0)


def test_list_prices_are_those_of_the_hardware_catalogue() -> None:
    rate = cost.on_demand("v5e", "us-west4")
    assert (float(rate.amount), rate.terms, rate.region) == (1.2, "on-demand", "us-west4")
    assert rate.amount.unit == "USD/chip/hour"
    assert rate.source is not None
    assert rate.source.key == "sky"
    assert rate.hourly(256) == pytest.approx(307.2)
    assert rate.hourly(256).unit == "USD/hour"


def test_every_spot_price_is_a_fraction_of_the_list_price_of_its_region() -> None:
    for chip, prices in cost.spot_prices().items():
        for price in prices:
            assert price.amount is not None
            assert price.slice_price is not None
            assert price.slice_chips is not None
            assert float(price.amount) == pytest.approx(price.slice_price / price.slice_chips, abs=1e-5)
            assert price.source in cost.sources()
            listed = [p.amount for p in hardware.chip(chip).prices if p.region == price.region]
            assert all(0.1 < price.amount / amount < 0.6 for amount in listed if amount is not None)
    assert cost.spot("v6e", "us-central1").amount == 0.54421
    assert cost.spot("v5p").region == "us-central1"


def test_the_data_have_units_and_sources() -> None:
    for value in cost.run_record().values():
        assert value.unit in UNITS
        assert set(value.sources) <= set(cost.sources())
    used = {entry["source"] for entry in document()["spot"]} | {
        entry["source"] for entry in document()["slices"].values()
    }
    used |= {source for value in cost.run_record().values() for source in value.sources} | {cost.causes().source}
    assert used == set(cost.sources())


@settings(deadline=None)
@given(st.floats(0, 0.9), st.floats(0, 0.9))
def test_discounts_multiply(first: float, second: float) -> None:
    rate = cost.on_demand("v5p")
    cut = rate.discounted(first, "committed").discounted(second, "resale")
    assert float(cut.amount) == pytest.approx(4.2 * (1 - first) * (1 - second))
    assert cut.discount == pytest.approx(1 - float(cut.amount) / 4.2, abs=1e-9)
    assert cut.terms == "resale"


def test_a_price_that_nobody_published_stays_unknown() -> None:
    for unknown in (lambda: cost.on_demand("Ironwood"), lambda: cost.spot("H100"), lambda: cost.spot("v5e", "mars")):
        with pytest.raises(LookupError, match="No hay precio público"):
            unknown()
    assert float(cost.own_rate("H100", 2.5).hourly(8)) == 20.0


def test_a_run_by_hand() -> None:
    # 8e9 parameters, 160e9 tokens; 64 v5e of 197e12 FLOP/s at 40 %, 95 % of the time kept.
    flops = cost.training_flops(8e9, 160e9)
    assert flops == 6 * 8e9 * 160e9
    run = cost.training_cost(flops, cost.on_demand("v5e"), 64, mfu=0.4, goodput=0.95)
    hours = flops / (64 * 197e12 * 0.4 * 0.95) / 3600
    assert run.hours == pytest.approx(hours)
    assert run.chip_hours == pytest.approx(64 * hours)
    assert run.usd == pytest.approx(64 * hours * 1.2)
    assert "64 × Cloud TPU v5e" in repr(run)
    messages.use("pt")
    assert "goodput de 95%" in repr(run)


def test_a_run_as_large_as_llama_3_405b_takes_longer_than_its_snapshot() -> None:
    # 405e9 parameters and 15.6e12 tokens on 16,384 H100 that do 400 TFLOP/s each, as summaries of its report restate.
    flops = cost.training_flops(405e9, 15.6e12)
    mfu = 400e12 / float(hardware.chip("H100").peak_flops["bf16"])
    days = cost.training_hours(flops, "H100", 16384, mfu=mfu, goodput=0.9) / 24
    assert days == pytest.approx(flops / (16384 * 400e12 * 0.9) / 86400)
    assert days > float(cost.run_number("days"))


def test_a_million_tokens_by_hand() -> None:
    # 8 chips at 2.7 USD an hour that make 5,000 tokens/s: 21.6 / 3600 / 5000 * 1e6.
    assert cost.usd_per_million_tokens(cost.on_demand("v6e", "us-east5"), 8, 5000) == pytest.approx(1.2)


@settings(deadline=None)
@given(st.floats(1e18, 1e26), SHARES, SHARES, st.integers(1, 9000), st.floats(1.01, 3))
def test_cost_grows_with_price_and_work_and_falls_with_efficiency(
    flops: float, mfu: float, goodput: float, chips: int, factor: float
) -> None:
    rate = cost.on_demand("v5p")
    dear = cost.own_rate("v5p", 4.2 * factor)
    base = cost.training_cost(flops, rate, chips, mfu=mfu, goodput=goodput)
    assert cost.training_cost(flops, dear, chips, mfu=mfu, goodput=goodput).usd > base.usd
    assert cost.training_cost(flops * factor, rate, chips, mfu=mfu, goodput=goodput).usd > base.usd
    assert cost.training_cost(flops, rate, chips, mfu=mfu / factor, goodput=goodput).usd > base.usd
    assert cost.training_cost(flops, rate, chips, mfu=mfu, goodput=goodput / factor).usd > base.usd
    more = cost.training_cost(flops, rate, 2 * chips, mfu=mfu, goodput=goodput)
    assert (more.usd, more.hours) == pytest.approx((base.usd, base.hours / 2))


def brute_force(job: cost.Job, rates: list[cost.Rate], risk: cost.Risk | None) -> tuple[float, str, int] | None:
    """Every size of every chip, by the formulas written out once more."""
    best = None
    for rate in rates:
        device = hardware.chip(rate.chip)
        for chips in cost.slice_sizes(device.id):
            if chips * float(device.hbm_capacity) * job.memory_share < job.memory:
                continue
            hours = job.flops / (chips * float(device.peak_flops["bf16"]) * job.mfu) / 3600
            if risk is not None:
                mean = risk.mean_time_each / chips
                tau = cost.best_interval(risk.checkpoint, mean)
                stretch = (mean + risk.wait) * math.exp(min(risk.restart / mean, 600))
                hours *= stretch * math.expm1(min((tau + risk.checkpoint) / mean, 600)) / tau
            if hours <= job.deadline:
                usd = hours * chips * float(rate.amount)
                if best is None or usd < best[0] * (1 - 1e-12):
                    best = (usd, device.id, chips)
    return best


RATES = [*cost.list_prices(), *(cost.spot(chip) for chip in cost.spot_prices())]
RISKS = st.none() | st.builds(
    cost.Risk,
    mean_time_each=st.floats(50, 50_000),
    checkpoint=st.floats(0.01, 0.5),
    restart=st.floats(0, 1),
    wait=st.floats(0, 2),
)


@settings(deadline=None, max_examples=60)
@given(
    st.floats(1e19, 1e25),
    st.floats(1e9, 3e14),
    st.floats(1, 5000),
    st.floats(0.2, 0.7),
    st.lists(st.sampled_from(RATES), min_size=1, max_size=5, unique_by=lambda rate: (rate.chip, rate.terms)),
    RISKS,
)
def test_the_cheapest_slice_is_the_one_of_brute_force(
    flops: float, memory: float, deadline: float, mfu: float, rates: list[cost.Rate], risk: cost.Risk | None
) -> None:
    job = cost.Job(flops, memory, deadline, mfu, memory_share=0.9)
    expected = brute_force(job, rates, risk)
    if expected is None:
        with pytest.raises(ValueError, match="Ningún slice"):
            cost.cheapest_slice(job, rates=rates, risk=risk)
        return
    found = cost.cheapest_slice(job, rates=rates, risk=risk)
    assert found.cost.usd == pytest.approx(expected[0], rel=1e-9)
    assert found.cost.hours <= deadline
    cheapest = min(cost.options(job, rates=rates, risk=risk), key=lambda choice: choice.cost.usd)
    assert found.cost.usd == pytest.approx(cheapest.cost.usd, rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.floats(1e20, 1e23), st.floats(1e9, 1e13), st.floats(5, 500), RISKS, st.floats(1.1, 4))
def test_a_harder_job_is_never_cheaper(
    flops: float, memory: float, deadline: float, risk: cost.Risk | None, factor: float
) -> None:
    def usd(job: cost.Job, danger: cost.Risk | None) -> float:
        try:
            return cost.cheapest_slice(job, risk=danger).cost.usd
        except ValueError:
            return math.inf

    base = usd(cost.Job(flops, memory, deadline, 0.5), risk)
    assume(base < math.inf)
    least = base * (1 - 1e-9)
    assert usd(cost.Job(flops * factor, memory, deadline, 0.5), risk) >= least
    assert usd(cost.Job(flops, memory * factor, deadline, 0.5), risk) >= least
    assert usd(cost.Job(flops, memory, deadline / factor, 0.5), risk) >= least
    if risk is not None:
        assert (
            usd(cost.Job(flops, memory, deadline, 0.5), risk._replace(mean_time_each=risk.mean_time_each / factor))
            >= least
        )
        assert usd(cost.Job(flops, memory, deadline, 0.5), None) <= base * (1 + 1e-9)


def test_spot_pays_until_interruptions_eat_the_difference() -> None:
    job = cost.Job(flops=cost.training_flops(8e9, 160e9), memory=8e9 * 16, deadline=24 * 365, mfu=0.5)
    listed = cost.cheapest_slice(job, rates=[cost.on_demand("v6e", "us-east5")]).cost.usd

    def spot(mean_time_each: float) -> float:
        risk = cost.Risk(mean_time_each, checkpoint=0.1, restart=0.25, wait=0.5)
        return cost.cheapest_slice(job, rates=[cost.spot("v6e", "us-east5")], risk=risk).cost.usd

    assert spot(2000) < 0.55 * listed
    assert spot(5) > listed


def test_own_sizes_and_chips_without_numbers() -> None:
    job = cost.Job(flops=1e20, memory=1e10, deadline=1000, mfu=0.5)
    only = cost.cheapest_slice(job, rates=[cost.own_rate("H100", 2.0)], sizes=lambda chip: [8, 16])
    assert (only.cost.chips, only.interval) == (8, None)
    with pytest.raises(ValueError, match="Ningún slice"):
        cost.cheapest_slice(job._replace(dtype="fp8"), rates=[cost.on_demand("v5e")])  # it has no such rate
    assert list(cost.options(job, rates=[cost.own_rate("H100", 2.0)])) == []  # no list of sizes was read


def test_slices_are_those_on_sale() -> None:
    assert cost.slice_sizes("tpu_v5e") == (1, 4, 8, 16, 32, 64, 128, 256)
    assert cost.slice_sizes("tpu_v5p")[:6] == (4, 8, 16, 32, 64, 128)
    assert cost.slice_sizes("tpu_v5p")[-1] == float(hardware.chip("v5p").max_slice_chips)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: cost.own_rate("v5e", 0), "usd_per_chip_hour.*0"),
        (lambda: cost.on_demand("v5e").hourly(0), "chips.*0"),
        (lambda: cost.on_demand("v5e").discounted(1, "gift"), "discount.*1"),
        (lambda: cost.on_demand("v5e").discounted(40, "cut"), "discount.*40"),
        (lambda: cost.training_flops(0, 1), "parameters.*0"),
        (lambda: cost.training_hours(1e20, "v5e", 8, mfu=45), "mfu.*45"),
        (lambda: cost.training_hours(1e20, "v5e", 8, mfu=0), "mfu.*0"),
        (lambda: cost.training_hours(1e20, "v5e", 8, mfu=0.4, goodput=float("nan")), "goodput.*nan"),
        (lambda: cost.training_hours(float("inf"), "v5e", 8, mfu=0.4), "flops.*inf"),
        (lambda: cost.usd_per_million_tokens(cost.on_demand("v5e"), 1, 0), "tokens_per_second.*0"),
        (lambda: cost.cheapest_slice(cost.Job(0, 1, 1, 0.5)), "flops.*0"),
        (lambda: cost.cheapest_slice(cost.Job(1, -1, 1, 0.5)), "memory.*-1"),
        (lambda: cost.cheapest_slice(cost.Job(1, 1, 0, 0.5)), "deadline.*0"),
        (lambda: cost.cheapest_slice(cost.Job(1, 1, 1, 0.5), risk=cost.Risk(0, 1)), "mean_time_each.*0"),
        (lambda: cost.run_record("gpt"), "'gpt'.*llama_3_405b"),
    ],
)
def test_what_cannot_be_is_refused(wrong: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        wrong()
