"""Arrivals and prompts: their laws, what they share, and that a seed fixes them."""

from collections import Counter
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.models import serving
from tpu_kernels.models.serving import Draws, Length, Request


def gaps(times: list[float]) -> np.ndarray:
    return np.diff([0.0, *times])


@pytest.mark.parametrize("burstiness", [0.5, 1.0, 2.0, 4.0])
def test_gamma_arrivals_have_the_rate_and_the_burstiness(burstiness: float) -> None:
    sample = gaps(list(serving.take(serving.gamma_arrivals(20, Draws(2), burstiness=burstiness), 40_000)))
    assert sample.mean() == pytest.approx(1 / 20, rel=0.05)
    assert sample.std() / sample.mean() == pytest.approx(burstiness, rel=0.05)


def test_even_arrivals_are_even() -> None:
    assert list(serving.take(serving.even_arrivals(4), 3)) == [0.25, 0.5, 0.75]


def test_switching_arrivals_come_at_the_rate_of_their_state() -> None:
    # Calm for 30 s at 2/s and bursts of 10 s at 26/s: 8/s on average, and counts far more spread than Poisson's.
    times = list(serving.within(serving.switching_arrivals((2, 26), (30, 10), Draws(4)), 40_000))
    assert len(times) / 40_000 == pytest.approx(8, rel=0.05)
    counts = np.bincount(np.floor(times).astype(int), minlength=40_000)
    mean, variance = 8, 8 + 0.75 * 0.25 * 24**2  # a mixture of two Poisson laws, a little blurred at the switches
    assert counts.mean() == pytest.approx(mean, rel=0.05)
    assert counts.var() == pytest.approx(variance, rel=0.15)


@settings(deadline=None)
@given(st.integers(0, 2**40), st.sampled_from([0.7, 1.0, 3.0]))
def test_arrivals_go_forward_and_repeat(seed: int, burstiness: float) -> None:
    first = list(serving.take(serving.gamma_arrivals(9, Draws(seed), burstiness=burstiness), 50))
    assert all(later >= earlier >= 0 for earlier, later in pairwise(first))
    assert first == list(serving.take(serving.gamma_arrivals(9, Draws(seed), burstiness=burstiness), 50))


def test_within_stops_at_its_limit() -> None:
    assert list(serving.within(serving.even_arrivals(1), 3.5)) == [1.0, 2.0, 3.0]


def test_a_cycle_asks_every_prompt_once_before_any_twice() -> None:
    prompts = serving.SharedPrefixes(groups=6, system=100, question=20, output=5, questions=3, order="cycle", seed=1)
    asked = [request.prefix for request in islice(prompts.at(serving.even_arrivals(1)), 36)]
    assert len(set(asked[:18])) == 18
    assert asked[:18] == asked[18:]
    assert {tokens for prefix in asked for _, tokens in prefix} == {100, 20}


def test_groups_share_their_system_prompt_and_nothing_else() -> None:
    prompts = serving.SharedPrefixes(groups=3, system=100, question=Length(50, 20), output=5, questions=4, seed=2)
    requests = list(prompts.at(serving.take(serving.even_arrivals(1), 200)))
    lengths: dict[int, int] = {}
    for request in requests:
        (system, tokens), (question, length) = request.prefix
        assert tokens == 100
        assert request.prompt_tokens == 100 + length
        assert lengths.setdefault(question, length) == length  # the same question is the same text
        assert question % (1 << 40) // 4 == system % (1 << 40)
    assert len({request.prefix[0] for request in requests}) == 3
    assert len(lengths) == 12


def test_skew_makes_some_groups_popular() -> None:
    prompts = serving.SharedPrefixes(groups=10, system=100, question=10, output=5, skew=1.5, seed=2)
    counts = Counter(request.prefix[0][0] for request in prompts.at(serving.take(serving.even_arrivals(1), 2000)))
    assert counts.most_common(1)[0][1] > 2000 / 3


def test_a_conversation_sends_all_that_was_said_and_a_new_question() -> None:
    (session,) = serving.conversations([2.0], turns=3, question=10, output=7, system=40, common=100, seed=3)
    first, second, third = session.turns
    assert first.arrival == 2.0
    assert second.arrival == third.arrival == 0.0
    assert [turn.prompt_tokens for turn in session.turns] == [150, 167, 184]
    assert second.prefix == (*first.prefix, (first.keep, 17))
    assert third.prefix == (*second.prefix, (second.keep, 17))
    assert {turn.connection for turn in session.turns} == {0}


def test_a_later_turn_finds_the_earlier_ones_in_the_cache() -> None:
    talk = serving.conversations([0.0], turns=3, question=32, output=32, system=64, seed=3)
    ledger = serving.simulate(
        talk, serving.published_replica("gaie_simulator"), serving.RoundRobin(), replicas=1
    ).ledger
    assert list(ledger.cached) == [0, 128, 192]


def test_some_requests_may_be_shed() -> None:
    requests = list(serving.plain(serving.take(serving.even_arrivals(1), 2000), prompt=9, output=9, shed_share=0.25))
    assert Counter(request.priority for request in requests)[-1] == pytest.approx(500, abs=60)


def test_connections_are_numbered() -> None:
    prompts = serving.SharedPrefixes(groups=2, system=9, question=9, output=5, connections=4)
    seen = Counter(request.connection for request in prompts.at(serving.take(serving.even_arrivals(1), 400)))
    assert set(seen) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: next(serving.gamma_arrivals(0, Draws(0))), "rate.*0"),
        (lambda: next(serving.gamma_arrivals(1, Draws(0), burstiness=-2)), "burstiness.*-2"),
        (lambda: next(serving.even_arrivals(float("nan"))), "rate.*nan"),
        (lambda: next(serving.switching_arrivals((1, 0), (1, 1), Draws(0))), r"rates\[1\]"),
        (lambda: next(serving.switching_arrivals((1, 1), (-1, 1), Draws(0))), r"stays\[0\]"),
        (lambda: serving.take(serving.even_arrivals(1), 0), "count.*0"),
        (lambda: next(serving.within(serving.even_arrivals(1), -1)), "seconds"),
        (lambda: serving.SharedPrefixes(groups=0, system=1, question=1, output=1), "groups"),
        (lambda: serving.SharedPrefixes(groups=1, system=1, question=1, output=1, order="sorted"), "order.*sorted"),
        (lambda: serving.SharedPrefixes(groups=1, system=1, question=1, output=1, order="cycle"), "cycle"),
        (lambda: serving.SharedPrefixes(groups=1, system=1, question=1, output=1, skew=-1), "exponent"),
        (lambda: next(serving.plain([0.0], prompt=1, output=1, shed_share=25)), "shed_share.*25"),
        (lambda: next(serving.conversations([0.0], turns=70_000, question=1, output=1)), "70000 turnos"),
        (lambda: next(serving.conversations([0.0], turns=1, question=1, output=1, think=-1)), "think"),
    ],
)
def test_traffic_that_cannot_be_is_refused(wrong: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        wrong()  # type: ignore[operator]


def test_a_million_requests_are_made_one_by_one() -> None:
    prompts = serving.SharedPrefixes(groups=2, system=9, question=9, output=5)
    endless = prompts.at(serving.gamma_arrivals(5, Draws(1)))
    assert isinstance(next(iter(endless)), Request)
