"""How a router knows what is cached where without asking: it remembers what it sent, in one LRU list a replica.

The list counts blocks of a prompt, holds so many, and looks at no more than the first tokens of a prompt. It sees
neither what the replica has dropped nor what it has generated, so it is wrong in both directions: llm-d calls it
approximate.
"""

from collections import OrderedDict
from typing import NamedTuple

from tpu_kernels.models.matrix import whole
from tpu_kernels.models.serving.published import number
from tpu_kernels.models.serving.request import Request


class IndexSize(NamedTuple):
    """Tokens in a ``block``, ``blocks`` remembered of each replica, ``cap``: the tokens of a prompt looked at."""

    block: int
    blocks: int
    cap: int


def index_size(*, block: int, blocks: int, cap: int) -> IndexSize:
    """A checked :class:`IndexSize`; ``ValueError`` for a size under one."""
    return IndexSize(whole("block", block), whole("blocks", blocks), whole("cap", cap))


def published_index(version: str) -> IndexSize:
    """The index of a router version of ``data/serving.toml``; ``ValueError`` when it records none."""
    fields = ("prefix_block", "index_blocks", "prefix_cap")
    return IndexSize(*(int(number("systems", version, field)) for field in fields))


class RoutingIndex:
    """What was sent to one replica. Entries are stretches of a prompt by key; a stretch that lost its first blocks
    matches nothing, as matching starts at the beginning of the prompt."""

    __slots__ = ("_size", "_tokens", "known")

    def __init__(self, size: IndexSize) -> None:
        self._size = size
        # Key -> tokens remembered, and whether they go from its first one on.
        self.known: OrderedDict[int, tuple[int, bool]] = OrderedDict()
        self._tokens = 0

    def matched(self, request: Request) -> int:
        """Tokens of the prompt remembered, in whole blocks from its start."""
        block, _, cap = self._size
        tokens = 0
        known = self.known
        for key, length in request.prefix:
            found = known.get(key)
            if found is None or not found[1]:
                break
            if found[0] < length:
                tokens += found[0]
                break
            tokens += length
        return min(tokens, request.prompt_tokens, cap) // block * block

    def add(self, request: Request) -> None:
        """The request has been sent here: its blocks become the most recent, the last of its prompt most of all."""
        left = min(request.prompt_tokens, self._size.cap)
        known = self.known
        for key, length in request.prefix:
            if not left:
                break
            self._remember(key, min(length, left))
            left -= min(length, left)
        own = request.prompt_tokens - sum(tokens for _, tokens in request.prefix)
        if request.keep is not None and left and own:
            self._remember(request.keep, min(own, left))
        limit = self._size.blocks * self._size.block
        while self._tokens > limit:
            key, (tokens, _) = known.popitem(last=False)
            gone = min(tokens, self._tokens - limit)
            self._tokens -= gone
            if gone < tokens:
                known[key] = (tokens - gone, False)
                known.move_to_end(key, last=False)

    def _remember(self, key: int, tokens: int) -> None:
        before, whole_start = self.known.pop(key, (0, True))
        tokens = max(tokens, before) if whole_start else tokens
        self._tokens += tokens - before
        self.known[key] = (tokens, True)
