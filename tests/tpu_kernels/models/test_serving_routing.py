"""Routers and scores: against the formulas of the llm-d router, and for what each is there for."""

from collections import Counter, OrderedDict
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import serving
from tpu_kernels.models.serving import Endpoint, Request
from tpu_kernels.models.serving.cache_view import CacheView
from tpu_kernels.models.serving.routing_index import RoutingIndex

ANY = Request(0.0, 100, 10)


class Told(CacheView):
    """Says what it was told."""

    def __init__(self, shares: Sequence[float]) -> None:
        self.told = shares

    def tokens(self, request: Request, replica: int) -> int:
        return round(self.told[replica] * request.prompt_tokens)

    def shares(self, request: Request, replicas: int) -> list[float]:
        return list(self.told[:replicas])


def endpoints(
    queues: Sequence[int] = (), kv: Sequence[float] = (), flight: Sequence[int] = (), matched: Sequence[float] = ()
) -> list[Endpoint]:
    count = max(len(queues), len(kv), len(flight), len(matched))
    made = [Endpoint(index, Told(matched or [0.0] * count)) for index in range(count)]
    for index, endpoint in enumerate(made):
        endpoint.queue_depth = queues[index] if queues else 0
        endpoint.kv_use = kv[index] if kv else 0.0
        endpoint.in_flight = flight[index] if flight else 0
    return made


def test_scores_are_those_of_the_router() -> None:
    pool = endpoints(queues=[3, 7, 5], kv=[0.2, 0.9, 0.0])
    assert serving.queue_scores(pool) == [1.0, 0.0, 0.5]  # (most - q) / (most - least)
    assert serving.queue_scores(endpoints(queues=[4, 4])) == [1.0, 1.0]
    assert serving.kv_scores(pool) == pytest.approx([0.8, 0.1, 1.0])
    assert serving.token_load_score(1_048_576) == 0.75
    assert serving.token_load_score(5_000_000) == 0.0
    assert serving.prefix_scores(ANY, endpoints(matched=[0.5, 0.0])) == [0.5, 0.0]


@pytest.mark.parametrize(
    ("version", "weights"),
    [
        ("llm_d_router_2026_08_22", {"queue": 2, "kv": 2, "prefix": 3}),
        ("gaie_v1_5", {"queue": 2, "kv": 2, "prefix": 3}),
        ("gaie_v1_0", {"queue": 1, "kv": 1, "prefix": 1}),
    ],
)
def test_the_default_weights_are_those_of_the_version(version: str, weights: dict[str, float]) -> None:
    assert serving.WeightedScores(version).weights == weights


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6),
    st.tuples(*[st.floats(0, 5)] * 3).filter(lambda weights: any(weight > 0 for weight in weights)),
)
def test_the_weighted_sum_picks_a_highest_one(
    pods: list[tuple[int, float, float]], weights: tuple[float, float, float]
) -> None:
    queues, kv, matched = (list(values) for values in zip(*pods, strict=True))
    pool = endpoints(queues, kv, matched=matched)
    router = serving.WeightedScores(queue=weights[0], kv=weights[1], prefix=weights[2])
    router.start(len(pool))
    router.refreshed(pool)
    least, most = min(queues), max(queues)
    sums = [
        weights[0] * ((most - q) / (most - least) if most > least else 1) + weights[1] * (1 - u) + weights[2] * m
        for q, u, m in pods
    ]
    assert sums[router.pick(ANY, pool)] == pytest.approx(max(sums))


@pytest.mark.parametrize(
    ("router", "best"),
    [
        (serving.LeastRequests(), 2),
        (serving.QueueDepth(), 1),
        (serving.KVUse(), 0),
        (serving.PrefixAffinity(), 3),
    ],
)
def test_each_router_follows_its_own_signal(router: serving.Router, best: int) -> None:
    pool = endpoints([5, 0, 3, 9], [0.1, 0.5, 0.6, 0.9], [7, 8, 1, 9], [0.0, 0.2, 0.1, 0.9])
    assert router.pick(ANY, pool) == best


def test_round_robin_takes_turns_and_random_is_even() -> None:
    pool = endpoints([0, 0, 0])
    turns, chance = serving.RoundRobin(), serving.RandomChoice(5)
    assert [turns.pick(ANY, pool) for _ in range(5)] == [0, 1, 2, 0, 1]
    counts = Counter(chance.pick(ANY, pool) for _ in range(3000))
    assert all(900 < counts[index] < 1100 for index in range(3))


def test_equals_are_told_apart_at_random_and_not_by_their_place() -> None:
    router, pool = serving.LeastRequests(1), endpoints(flight=[2, 1, 1, 1])
    counts = Counter(router.pick(ANY, pool) for _ in range(3000))
    assert counts[0] == 0
    assert all(900 < counts[index] < 1100 for index in (1, 2, 3))


def test_warm_replicas_keep_a_prompt_until_they_lag_by_the_gap() -> None:
    router = serving.StickyUntilSaturated(gap=1000)
    pool = endpoints(matched=[0.9, 0.85, 0.1])
    pool[0].uncached, pool[1].uncached = 1500, 900
    assert router.pick(ANY, pool) == 1  # the less loaded of the warm ones
    pool[1].uncached = 1001
    assert router.pick(ANY, pool) == 2
    pool[2].uncached = 1
    assert router.pick(ANY, pool) == 1


def test_the_token_load_counts_the_request_itself() -> None:
    router = serving.StickyUntilSaturated(affinity=1.0)  # nobody is warm enough
    pool = endpoints(matched=[0.7, 0.0])
    pool[0].uncached = 60
    assert router.pick(ANY, pool) == 0  # 60 + 30 against 0 + 100
    assert serving.StickyUntilSaturated("requests").pick(ANY, endpoints(flight=[3, 1])) == 1


def test_a_connection_stays_where_it_was_put() -> None:
    router, pool = serving.ByConnection(serving.RoundRobin()), endpoints([0, 0, 0])
    router.start(3)
    sent = [router.pick(ANY._replace(connection=client), pool) for client in (7, 8, 7, 9, 8, 7)]
    assert sent == [0, 1, 0, 2, 1, 0]
    assert router.pick(ANY, pool) == 0  # no connection: the turn goes on


class GoIndex:
    """The list of the router's source, block by block: the last block added is the most recent."""

    def __init__(self, size: serving.IndexSize) -> None:
        self.size = size
        self.blocks: OrderedDict[tuple[int, int], None] = OrderedDict()

    def chain(self, request: Request, asked: bool) -> list[tuple[int, int]]:
        pairs = list(request.prefix)
        own = request.prompt_tokens - sum(tokens for _, tokens in pairs)
        if request.keep is not None and own and not asked:
            pairs.append((request.keep, own))
        found = [(key, block) for key, tokens in pairs for block in range(tokens // self.size.block)]
        return found[: self.size.cap // self.size.block]

    def matched(self, request: Request) -> int:
        count = 0
        for block in self.chain(request, True):
            if block not in self.blocks:
                break
            count += 1
        return count * self.size.block

    def add(self, request: Request) -> None:
        for block in self.chain(request, False):
            self.blocks[block] = None
            self.blocks.move_to_end(block)
        while len(self.blocks) > self.size.blocks:
            self.blocks.popitem(last=False)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 4)), max_size=40), st.integers(1, 40))
def test_the_approximate_index_remembers_what_the_routers_list_would(
    sent: list[tuple[int, int, int]], blocks: int
) -> None:
    size = serving.index_size(block=4, blocks=blocks, cap=40)
    ours, go = RoutingIndex(size), GoIndex(size)
    for number, (group, question, own) in enumerate(sent):
        prefix = ((group, 8 + 4 * group),) + (((10 + 4 * group + question, 12),) if question else ())
        prompt = sum(tokens for _, tokens in prefix) + 4 * own
        request = Request(0.0, prompt, 1, prefix, 1000 + number)
        assert ours.matched(request) == go.matched(request)
        ours.add(request)
        go.add(request)


def test_the_index_of_a_version_has_its_size() -> None:
    assert serving.published_index("llm_d_router_2026_08_22") == (64, 31250, 131072)
    assert serving.published_index("gaie_v1_0") == (16, 31250, 4096)


def test_routers_have_names_in_both_languages() -> None:
    routers = [
        serving.RoundRobin(),
        serving.RandomChoice(),
        serving.LeastRequests(),
        serving.QueueDepth(),
        serving.KVUse(),
        serving.PrefixAffinity(),
        serving.WeightedScores(),
        serving.StickyUntilSaturated(),
        serving.ByConnection(serving.RoundRobin()),
    ]
    spanish = [router.title() for router in routers]
    messages.use("pt")
    assert all(a != b for a, b in zip(spanish, (router.title() for router in routers), strict=True))
    assert spanish[6] == "Suma ponderada 2/2/3 (llm-d router 2026-08-22)"
