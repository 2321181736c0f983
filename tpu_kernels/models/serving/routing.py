"""Routers: which replica a request goes to.

A router is any object with ``pick(request, endpoints)`` that returns the index of one of the endpoints. The base class
:class:`Router` adds what the built-in ones need; ``start`` prepares a run, so the same router gives the same run twice.
"""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from tpu_kernels.models.draws import Draws
from tpu_kernels.models.serving.endpoint import Endpoint
from tpu_kernels.models.serving.request import Request
from tpu_kernels.phrases import phrase

EXACT = "exact"


class Policy(Protocol):
    """What a reader's own router must have."""

    def pick(self, request: Request, endpoints: Sequence[Endpoint]) -> int:
        """The index of the endpoint that the request goes to."""
        ...


class Router:
    """A router with a name, a seed for its ties, and what it wants to know of the replicas.

    ``index`` says how it knows what is cached where: ``None`` (it does not), :data:`EXACT` (it reads the caches), or a
    :class:`tpu_kernels.models.serving.routing_index.IndexSize` (it remembers where it sent what).
    """

    name: ClassVar[str] = "router"  # for code; what a reader sees is title()
    metrics: ClassVar[bool] = False  # it reads queue_depth, running or kv_use
    index: object = None

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.start(0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.seed})"

    def title(self) -> str:
        """The name in the language in force."""
        return self.name

    def start(self, replicas: int) -> None:
        """Forgets the last run."""
        self.draws = Draws(self.seed)

    def refreshed(self, endpoints: Sequence[Endpoint]) -> None:
        """Called when the metrics of the endpoints have just been read."""

    def pick(self, request: Request, endpoints: Sequence[Endpoint]) -> int:
        """The index of the endpoint that the request goes to."""
        raise NotImplementedError

    def best(self, scores: Sequence[float]) -> int:
        """The index of the highest score; among equals, one at random."""
        highest = max(scores)
        if scores.count(highest) == 1:
            return scores.index(highest)
        tied = [index for index, score in enumerate(scores) if score == highest]
        return tied[self.draws.below(len(tied))]


class RoundRobin(Router):
    """Each replica in turn: what a Kubernetes Service and most load balancers do."""

    name = "round_robin"

    def title(self) -> str:
        return phrase("router.round_robin")

    def start(self, replicas: int) -> None:
        super().start(replicas)
        self._next = -1

    def pick(self, request: Request, endpoints: Sequence[Endpoint]) -> int:
        self._next = (self._next + 1) % len(endpoints)
        return self._next


class RandomChoice(Router):
    """Any replica, each as likely."""

    name = "random"

    def title(self) -> str:
        return phrase("router.random")

    def pick(self, request: Request, endpoints: Sequence[Endpoint]) -> int:
        return self.draws.below(len(endpoints))


class LeastRequests(Router):
    """The replica with the fewest requests not yet answered, by the router's own count (never stale)."""

    name = "least_requests"

    def title(self) -> str:
        return phrase("router.least_requests")

    def pick(self, request: Request, endpoints: Sequence[Endpoint]) -> int:
        return self.best([-endpoint.in_flight for endpoint in endpoints])


class QueueDepth(Router):
    """The replica with the fewest requests waiting, as of the last refresh of the metrics."""

    name = "queue_depth"
    metrics = True

    def title(self) -> str:
        return phrase("router.queue_depth")

    def pick(self, request: Request, endpoints: Sequence[Endpoint]) -> int:
        return self.best([-endpoint.queue_depth for endpoint in endpoints])


class KVUse(Router):
    """The replica with the least of its KV cache in use, as of the last refresh of the metrics."""

    name = "kv_use"
    metrics = True

    def title(self) -> str:
        return phrase("router.kv_use")

    def pick(self, request: Request, endpoints: Sequence[Endpoint]) -> int:
        return self.best([-endpoint.kv_use for endpoint in endpoints])


class PrefixAffinity(Router):
    """The replica with the longest part of the prompt in its cache, however busy it is; where none has any, any."""

    name = "prefix_affinity"

    def title(self) -> str:
        return phrase("router.prefix_affinity")

    def __init__(self, seed: int = 0, *, index: object = EXACT) -> None:
        self.index = index
        super().__init__(seed)

    def pick(self, request: Request, endpoints: Sequence[Endpoint]) -> int:
        return self.best(endpoints[0].view.shares(request, len(endpoints)))


class ByConnection(Router):
    """The choice of ``inner`` when a connection opens, and the same replica for whatever comes over it later.

    A load balancer that works on connections does this: long-lived ones stay where they were put, however uneven the
    load becomes. Requests without a ``connection`` are chosen one by one.
    """

    name = "by_connection"

    def title(self) -> str:
        return phrase("router.by_connection", inner=self.inner.title())

    def __init__(self, inner: Router) -> None:
        self.inner = inner
        self.index = inner.index
        self.metrics = inner.metrics  # type: ignore[misc]  # a fact of the class, but here of what it wraps
        super().__init__(inner.seed)

    def start(self, replicas: int) -> None:
        super().start(replicas)
        self.inner.start(replicas)
        self._chosen: dict[int, int] = {}

    def refreshed(self, endpoints: Sequence[Endpoint]) -> None:
        self.inner.refreshed(endpoints)

    def pick(self, request: Request, endpoints: Sequence[Endpoint]) -> int:
        if request.connection is None:
            return self.inner.pick(request, endpoints)
        chosen = self._chosen.get(request.connection)
        if chosen is None:
            chosen = self._chosen[request.connection] = self.inner.pick(request, endpoints)
        return chosen
