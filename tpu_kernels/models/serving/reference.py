"""The simulator once more, the slow way: every step made, every block and every token kept, no closed form.

It says what :mod:`tpu_kernels.models.serving.cluster` must say, to the last picosecond; the tests compare the two. Use
it to look into a run of a few requests: each answer has the times of all its tokens.
"""

from collections.abc import Iterator, Sequence

from tpu_kernels.models.serving.cache_view import CacheView
from tpu_kernels.models.serving.replica_spec import ReplicaSpec
from tpu_kernels.models.serving.request import PICOSECONDS, Request, Traffic, ordered
from tpu_kernels.models.serving.routing import EXACT, Policy, Router
from tpu_kernels.models.serving.step_replica import Answer, StepReplica


class BlockView(CacheView):
    """What a router that sees every cache sees."""

    def __init__(self, pool: Sequence[StepReplica]) -> None:
        self.pool = pool

    def tokens(self, request: Request, replica: int) -> int:
        return self.pool[replica].cache.matched(request.prefix, request.prompt_tokens)

    def shares(self, request: Request, replicas: int) -> list[float]:
        return [self.tokens(request, replica) / request.prompt_tokens for replica in range(replicas)]


def simulate_steps(
    traffic: Traffic,
    spec: ReplicaSpec,
    router: Router | Policy,
    *,
    replicas: int,
    refresh: float,
    concurrency: int | None = None,
) -> list[Answer]:
    """What :func:`tpu_kernels.models.serving.simulate` does, step by step; for routers that keep no index."""
    return _Steps(spec, replicas, router, refresh).run(traffic, concurrency)


class _Steps:
    """The loop over arrivals and steps, in the order of time."""

    def __init__(self, spec: ReplicaSpec, replicas: int, router: Router | Policy, refresh: float) -> None:
        self.spec, self.router, self.refresh = spec, router, round(refresh * PICOSECONDS)
        self.pool = [StepReplica(spec, index) for index in range(replicas)]
        self.endpoints = [replica.endpoint for replica in self.pool]
        if getattr(router, "index", EXACT) == EXACT:
            for endpoint in self.endpoints:
                endpoint.view = BlockView(self.pool)
        if isinstance(router, Router):
            router.start(replicas)
        self.unsent: Iterator[Sequence[Request]] = iter(())
        self.coming: list[tuple[int, int, int, Sequence[Request], int]] = []  # time, 0 for turns, serial, turns, place
        self.answers: list[Answer] = []
        self.sent = 0
        self.read = -1

    def run(self, traffic: Traffic, concurrency: int | None) -> list[Answer]:
        """Serves everything; the answers in the order of arrival."""
        items = list(ordered(traffic, closed=concurrency is not None))
        if concurrency is None:
            self.coming = [(round(turns[0].arrival * PICOSECONDS), 1, row, turns, 0) for row, turns in enumerate(items)]
        else:
            self.unsent = iter(items)
            for _ in range(concurrency):
                self.send(next(self.unsent, None), 0, 0)
        while True:
            ends = [(replica.end, index) for index, replica in enumerate(self.pool) if replica.end is not None]
            times = [*(entry[0] for entry in self.coming), *(end for end, _ in ends)]
            if not times:
                return self.answers
            now = min(times)
            self.read_metrics(now)
            if self.coming and min(entry[0] for entry in self.coming) == now:
                self.arrive(now)
            else:
                self.end_step(self.pool[min(ends)[1]], now)

    def send(self, turns: Sequence[Request] | None, place: int, now: int) -> None:
        """A client will send a turn."""
        if turns is not None:
            self.sent += 1
            time = now + max(round(turns[place].arrival * PICOSECONDS), 1)
            self.coming.append((time, 0, self.sent, turns, place))

    def read_metrics(self, now: int) -> None:
        """Reads the metrics, if a whole refresh has passed."""
        if now // self.refresh > self.read:
            self.read = now // self.refresh
            for replica in self.pool:
                replica.endpoint.queue_depth, replica.endpoint.running = len(replica.waiting), len(replica.running)
                replica.endpoint.kv_use = replica.cache.held() / self.spec.kv_tokens
            if isinstance(self.router, Router):
                self.router.refreshed(self.endpoints)

    def arrive(self, now: int) -> None:
        """The next request goes to a replica."""
        first = min(self.coming, key=lambda entry: entry[:3])
        self.coming.remove(first)
        answer = Answer(len(self.answers), first[3], first[4], now)
        self.answers.append(answer)
        answer.replica = self.router.pick(answer.request, self.endpoints)
        endpoint, replica = self.endpoints[answer.replica], self.pool[answer.replica]
        endpoint.in_flight += 1
        answer.estimate = answer.request.prompt_tokens - endpoint.prefix_tokens(answer.request)
        endpoint.uncached += answer.estimate
        replica.waiting.append(answer)
        if replica.end is None:
            replica.begin(now)

    def end_step(self, replica: StepReplica, now: int) -> None:
        """A step ends, the next begins, and clients go on."""
        ended = replica.finish(now)
        replica.begin(now)
        for answer in ended:
            if answer.place + 1 < len(answer.turns):
                self.send(answer.turns, answer.place + 1, now)
            else:
                self.send(next(self.unsent, None), 0, now)
