"""What a router knows of a replica: metrics of the last refresh, and its own count of what it sent there."""

from typing import Final

from tpu_kernels.models.serving.cache_view import CacheView
from tpu_kernels.models.serving.request import Request


class Endpoint:
    """Replica ``index`` as a router sees it.

    ``queue_depth`` (requests waiting), ``running`` (sequences that decode) and ``kv_use`` (share of the KV cache in
    use, 0 to 1) are those of the last refresh, and lag behind. ``in_flight`` (requests sent and not answered) and
    ``uncached`` (prompt tokens sent, thought not to be in its cache, and not yet computed) are the router's own, and do
    not.
    """

    __slots__ = ("in_flight", "index", "kv_use", "queue_depth", "running", "uncached", "view")

    def __init__(self, index: int, view: CacheView | None = None) -> None:
        self.index: Final = index
        self.view = view or CacheView()
        self.queue_depth = 0
        self.running = 0
        self.kv_use = 0.0
        self.in_flight = 0
        self.uncached = 0

    def __repr__(self) -> str:
        load = f"queue_depth={self.queue_depth}, kv_use={self.kv_use:.3f}, in_flight={self.in_flight}"
        return f"Endpoint({self.index}: {load})"

    def prefix_tokens(self, request: Request) -> int:
        """Tokens of the prompt that the router thinks are in this replica's cache."""
        return self.view.tokens(request, self.index)

    def prefix_match(self, request: Request) -> float:
        """The share of the prompt that the router thinks is in this replica's cache, from 0 to 1."""
        return self.view.shares(request, self.index + 1)[self.index]
