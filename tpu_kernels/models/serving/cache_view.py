"""What a router knows of every replica's cache: nothing, what is there, or what it remembers of what it sent."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tpu_kernels.models.serving.request import Request
from tpu_kernels.models.serving.routing_index import IndexSize, RoutingIndex

if TYPE_CHECKING:
    from tpu_kernels.models.serving.replica import Replica


class CacheView:
    """A router that keeps no index: no part of any prompt is known to be anywhere. ``now``: when it is asked, in
    picoseconds."""

    now = 0

    def tokens(self, request: Request, replica: int) -> int:
        """Tokens of the prompt that are thought to be in a replica's cache."""
        return 0

    def shares(self, request: Request, replicas: int) -> list[float]:
        """The share of the prompt, from 0 to 1, that is thought to be in each of the replicas' caches."""
        return [0.0] * replicas

    def sent(self, request: Request, replica: int) -> None:
        """The request has been sent to a replica."""


class ExactView(CacheView):
    """The caches themselves, as routers that receive every change of them see them."""

    def __init__(self, replicas: Sequence["Replica"]) -> None:
        self._replicas = replicas

    def tokens(self, request: Request, replica: int) -> int:
        asked = self._replicas[replica]
        asked.settle(self.now)
        return asked.cache.matched(request.prefix, request.prompt_tokens)

    def shares(self, request: Request, replicas: int) -> list[float]:
        prompt = request.prompt_tokens
        if not request.prefix:
            return [0.0] * replicas
        first = request.prefix[0][0]
        return [
            self.tokens(request, index) / prompt if first in replica.cache.known else 0.0
            for index, replica in enumerate(self._replicas)
        ]


class RememberedView(CacheView):
    """A list for each replica of what was sent there; see :class:`RoutingIndex`."""

    def __init__(self, size: IndexSize, replicas: int) -> None:
        self._indexes = [RoutingIndex(size) for _ in range(replicas)]
        self._size = size

    def tokens(self, request: Request, replica: int) -> int:
        return self._indexes[replica].matched(request)

    def shares(self, request: Request, replicas: int) -> list[float]:
        total = min(request.prompt_tokens, self._size.cap) // self._size.block * self._size.block
        if not request.prefix or not total:
            return [0.0] * replicas
        first = request.prefix[0][0]
        return [i.matched(request) / total if first in i.known else 0.0 for i in self._indexes]

    def sent(self, request: Request, replica: int) -> None:
        self._indexes[replica].add(request)
