"""The KV cache: stretches of a prompt against single blocks, and against the order of vLLM's queue of free blocks."""

from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.models import serving
from tpu_kernels.models.serving import Request
from tpu_kernels.models.serving.prefix_cache import PrefixCache

BLOCK = 4


class BlockPool:
    """vLLM's way: every block has the hash of its content and of all before it, and a place in the queue when free."""

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks
        self.users: dict[Any, int] = {}
        self.queue: OrderedDict[Any, None] = OrderedDict()  # free blocks with content, the next to be reused first

    def matched(self, chain: list[Any]) -> int:
        count = 0
        while count < len(chain) and chain[count] in self.users:
            count += 1
        return count

    def needed(self, chain: list[Any]) -> int:
        return sum(1 for block in chain if not self.users.get(block))

    def free(self) -> int:
        return self.blocks - sum(1 for users in self.users.values() if users)

    def take(self, chain: list[Any]) -> None:
        for block in chain:
            self.queue.pop(block, None)
        fresh = [block for block in chain if block not in self.users]
        while len(self.users) + len(fresh) > self.blocks:
            del self.users[self.queue.popitem(last=False)[0]]
        for block in chain:
            self.users[block] = self.users.get(block, 0) + 1

    def give_back(self, chain: list[Any]) -> None:
        for block in reversed(chain):
            self.users[block] -= 1
            if not self.users[block]:
                self.queue[block] = None


LENGTHS = {key: (key % 3 + 1) * BLOCK for key in range(40)}


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_it_keeps_and_drops_what_vllm_would(data: st.DataObject) -> None:
    capacity = 24
    pool, cache = BlockPool(capacity), PrefixCache(capacity * BLOCK, BLOCK)
    held: list[tuple[list[int], int, list[Any], list[Any]]] = []
    for number in range(data.draw(st.integers(1, 40))):
        if held and data.draw(st.booleans()):
            _, own, chain, taken = held.pop(data.draw(st.integers(0, len(held) - 1)))
            pool.give_back(chain)
            cache.leave(own, None)
            cache.release(taken)
            continue
        # A path in a tree of prompts: key k may follow (k - 1) // 3.
        path = [data.draw(st.integers(0, 39))]
        while path[0]:
            path.insert(0, (path[0] - 1) // 3)
        prefix = tuple((key, LENGTHS[key]) for key in path)
        own = BLOCK * data.draw(st.integers(1, 5))
        chain = [(key, block) for key, length in prefix for block in range(length // BLOCK)]
        cache.trim()
        total = sum(LENGTHS[key] for key in path) + own
        assert cache.matched(prefix, total) == pool.matched(chain) * BLOCK
        chain += [("own", number, block) for block in range(own // BLOCK)]
        if pool.needed(chain) > pool.free():
            continue
        pool.take(chain)
        taken, _ = cache.hold(prefix)
        cache.held += own
        cache.trim()
        held.append((path, own, chain, taken))
        assert cache.held == BLOCK * (pool.blocks - pool.free())
        assert cache.held + cache.left <= cache.capacity


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6))
def test_a_prompt_cut_into_blocks_fares_as_one_cut_into_stretches(seed: int) -> None:
    draws = serving.Draws(seed)
    made = serving.SharedPrefixes(
        groups=4, system=96, question=64, output=48, questions=3, order="random", seed=seed
    ).at(serving.take(serving.gamma_arrivals(60, draws, burstiness=2), 60))
    stretches = list(made)

    def blocks(request: Request) -> Request:
        chain = tuple((key * 100 + block, 16) for key, length in request.prefix for block in range(length // 16))
        return request._replace(prefix=chain)

    spec = serving.published_replica("gaie_simulator", kv_tokens=1100)
    ours, theirs = (
        serving.simulate(requests, spec, serving.PrefixAffinity(), replicas=3).ledger
        for requests in (stretches, [blocks(request) for request in stretches])
    )
    assert list(ours.cached) == list(theirs.cached)
    assert list(ours.finish) == list(theirs.finish)
    assert sum(ours.cached) > 0


def test_block_keys_stand_for_everything_before_them() -> None:
    first = serving.block_chain([1, 2, 3, 4, 5, 6, 7, 8, 9], block=4)
    same = serving.block_chain([1, 2, 3, 4, 5, 6, 7, 8, 1, 1], block=4)
    other = serving.block_chain([0, 2, 3, 4, 5, 6, 7, 8], block=4)
    assert [tokens for _, tokens in first] == [4, 4]
    assert first == same
    assert {key for key, _ in first}.isdisjoint({key for key, _ in other})
    # FNV-1a of one zero of eight bytes, from its definition: offset * prime**8 modulo 2**64.
    assert serving.block_chain([0], block=1)[0][0] == 0xCBF29CE484222325 * 0x100000001B3**16 % 2**64


def test_the_last_token_of_a_prompt_is_always_computed() -> None:
    spec = serving.published_replica("gaie_simulator")
    request = Request(0.0, 160, 4, ((1, 160),))
    ledger = serving.simulate([request, request._replace(arrival=10.0)], spec, serving.RoundRobin(), replicas=1).ledger
    assert list(ledger.cached) == [0, 144]  # all but its block


def test_without_prefix_caching_nothing_is_found() -> None:
    spec = serving.published_replica("gaie_simulator", prefix_caching=False)
    request = Request(0.0, 160, 4, ((1, 128),))
    report = serving.simulate([request, request._replace(arrival=10.0)], spec, serving.RoundRobin(), replicas=1)
    assert float(report.hit_rate) == 0


def test_one_key_for_two_contents_is_refused() -> None:
    spec = serving.published_replica("gaie_simulator")
    requests = [Request(0.0, 160, 4, ((1, 128),)), Request(9.0, 160, 4, ((1, 112),))]
    with pytest.raises(ValueError, match="clave 1 nombra 112 tokens y antes nombró 128"):
        serving.simulate(requests, spec, serving.RoundRobin(), replicas=1)
