"""The simulator against one that makes every step, keeps every block and every token, and knows no closed form.

Times are whole picoseconds in both, so equal means equal: the same first token, the same last token, the same gaps.
"""

from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.models import serving
from tpu_kernels.models.serving import Request, Session
from tpu_kernels.models.serving.ledger import GAP_BUCKET
from tpu_kernels.models.serving.reference import simulate_steps

KEYS = st.integers(0, 3)


@st.composite
def traffic(draw: Any) -> list[Request | Session]:
    """Arrivals close enough to queue; prompts that share chains; sessions whose turns build on each other."""
    items: list[Request | Session] = []
    time = 0.0
    for number in range(draw(st.integers(1, 14))):
        time += draw(st.sampled_from([0.0, 0.0, 0.001, 0.013, 0.07, 0.4]))
        group = draw(KEYS)
        chain = [(group, 20 + 7 * group)]
        if draw(st.booleans()):
            chain.append((10 + group, 11 + 5 * group))
        chain = chain[: draw(st.integers(0, 2))]
        said = sum(tokens for _, tokens in chain)
        turns = []
        for turn in range(draw(st.sampled_from([1, 1, 1, 3]))):
            asked, answered = draw(st.integers(0 if chain else 1, 40)), draw(st.integers(1, 60))
            keep = 1000 + 10 * number + turn
            arrival = time if not turn else draw(st.sampled_from([0.0, 0.02, 0.5]))
            if asked:
                turns.append(Request(arrival, said + asked, answered, tuple(chain), keep))
                chain.append((keep, asked + answered))
                said += asked + answered
            else:
                turns.append(Request(arrival, said, answered, tuple(chain)))
        items.append(turns[0] if len(turns) == 1 else Session(turns))
    return items


STEPS = st.builds(
    serving.StepTime,
    base=st.sampled_from([10**10, 7 * 10**9 + 3]),
    per_sequence=st.sampled_from([0, 10**8 + 7]),
    per_context_token=st.sampled_from([0, 39_126, 5 * 10**6]),
    prefill_base=st.sampled_from([0, 5 * 10**9]),
    prefill_least=st.sampled_from([0, 10**10]),
    per_prompt_token=st.sampled_from([5 * 10**7, 10**8 + 1]),
    per_attention=st.sampled_from([0, 1380]),
)
ROUTERS = st.sampled_from(
    [
        serving.RoundRobin,
        serving.LeastRequests,
        serving.QueueDepth,
        serving.KVUse,
        serving.PrefixAffinity,
        lambda: serving.WeightedScores(index="exact"),
        lambda: serving.StickyUntilSaturated(gap=30),
    ]
)


def same(
    items: list[Request | Session], spec: serving.ReplicaSpec, replicas: int, router: Any, seats: int | None
) -> Any:
    """Both simulators on the same run; what they say of each request, and of the whole, must be equal."""
    answers = simulate_steps(items, spec, router, replicas=replicas, refresh=0.05, concurrency=seats)
    ledger = serving.simulate(items, spec, router, replicas=replicas, concurrency=seats, refresh=0.05).ledger
    assert [answer.arrival for answer in answers] == list(ledger.arrival)
    assert [answer.replica for answer in answers] == list(ledger.replica)
    assert [answer.cached for answer in answers] == list(ledger.cached)
    assert [answer.times[0] for answer in answers] == list(ledger.first)
    assert [answer.times[-1] for answer in answers] == list(ledger.finish)
    gaps = [late - early for answer in answers for early, late in pairwise(answer.times)]
    assert Counter(gap // GAP_BUCKET for gap in gaps) == +Counter(ledger.gaps)
    assert sum(gaps) == ledger.gap_total
    assert sum(answer.recomputed for answer in answers) == ledger.recomputed
    assert sum(answer.waited for answer in answers) == ledger.waited
    return ledger


@settings(deadline=None, max_examples=300)
@given(
    items=traffic(),
    step=STEPS,
    spare=st.sampled_from([0, 3, 20, 100, 5000]),
    batch=st.sampled_from([8, 33, 512]),
    sequences=st.sampled_from([1, 3, 16]),
    block=st.sampled_from([1, 4, 16]),
    replicas=st.integers(1, 3),
    router=ROUTERS,
    seats=st.sampled_from([None, None, 1, 3]),
)
def test_every_token_comes_when_a_simulator_of_single_steps_says(
    items: Any, step: Any, spare: int, batch: int, sequences: int, block: int, replicas: int, router: Any, seats: Any
) -> None:
    turns = [turn for item in items for turn in (item.turns if isinstance(item, Session) else (item,))]
    largest = max(turn.prompt_tokens + turn.output_tokens for turn in turns)  # with little to spare, memory runs out
    spec = serving.ReplicaSpec(step, largest + spare, batch, sequences, block)
    same(items, spec, replicas, router(), seats)


def test_the_comparison_sees_memory_run_out_and_caches_lose_blocks() -> None:
    # The cases above are drawn; these are sure to be there: preemption, shared prompts that are dropped and come back.
    step = serving.published_replica("gaie_simulator").step
    spec = serving.ReplicaSpec(step, kv_tokens=420, batch_tokens=64, sequences=8, block_tokens=4)
    prompts = serving.SharedPrefixes(groups=5, system=60, question=20, output=60, questions=2, seed=4)
    items: list[Request | Session] = list(prompts.at(serving.take(serving.gamma_arrivals(8, serving.Draws(4)), 60)))
    ledger = same(items, spec, 2, serving.WeightedScores(index="exact"), None)
    assert ledger.recomputed > 5
    assert 0 < sum(cached > 0 for cached in ledger.cached) < 60


EVEN = serving.StepTime(10**10, 0, 0, 0, 0, 5 * 10**7)  # 10 ms a step, whatever decodes in it


def test_a_request_that_comes_as_a_step_ends_is_in_the_next_one() -> None:
    spec = serving.ReplicaSpec(EVEN._replace(prefill_least=10**10), 100, 64, 8, 4)
    ledger = same([Request(0.0, 1, 5), Request(0.01, 1, 5)], spec, 1, serving.RoundRobin(), None)
    assert list(ledger.first) == [10**10, 2 * 10**10]


def test_what_was_dropped_for_a_sequence_stays_dropped_when_it_is_preempted() -> None:
    # Found by the drawn cases: memory that comes back must not save a block whose room was already taken.
    items: list[Request | Session] = [
        Request(0.0, 1, 1, (), 1000),
        Request(0.0, 1, 1, (), 1010),
        Request(0.0, 34, 23, ((2, 34),)),
        Request(0.0, 1, 1, (), 1030),
        Request(0.0, 27, 25, ((1, 27),)),
        Request(0.0, 1, 1, (), 1050),
        Request(0.0, 1, 1, (), 1060),
        Request(0.013, 27, 43, ((1, 27),)),
        Request(0.413, 34, 1, ((2, 34),)),
    ]
    spec = serving.ReplicaSpec(EVEN, kv_tokens=70, batch_tokens=33, sequences=3, block_tokens=1)
    for seed in range(40):
        same(items, spec, 3, serving.PrefixAffinity(seed), None)
