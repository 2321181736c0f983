"""The pool of replicas, the router before it and the clients: one loop over what happens next, in the order of time.

At the same instant requests arrive before steps end; metrics are refreshed before either. Cost: a heap of one entry a
replica, and a fixed amount of work for each request, so a run takes time in proportion to its requests.
"""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Final

from tpu_kernels.models.matrix import whole
from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.models.serving.cache_view import CacheView, ExactView, RememberedView
from tpu_kernels.models.serving.endpoint import Endpoint
from tpu_kernels.models.serving.job import Job
from tpu_kernels.models.serving.ledger import Ledger
from tpu_kernels.models.serving.published import number
from tpu_kernels.models.serving.replica import NEVER, Replica
from tpu_kernels.models.serving.replica_spec import ReplicaSpec
from tpu_kernels.models.serving.report import Report
from tpu_kernels.models.serving.request import PICOSECONDS, Request, Traffic, ordered
from tpu_kernels.models.serving.routing import EXACT, Policy, Router
from tpu_kernels.models.serving.routing_index import IndexSize
from tpu_kernels.models.serving.saturation import SaturationDetector
from tpu_kernels.models.serving.scoring import ROUTER
from tpu_kernels.phrases import phrase


class Cluster:
    """``replicas`` servers like ``spec`` behind a ``router``. Runs follow one another: caches and the clock go on.

    ``refresh``: seconds between two readings of the metrics (default: the llm-d router's 0.05 s; 0: always fresh).
    ``detector``: refuses requests of negative priority while the pool is saturated; without one nothing is refused.

    Raises ``ValueError`` for less than one replica and a negative ``refresh``.
    """

    def __init__(
        self,
        spec: ReplicaSpec,
        replicas: int,
        router: Router | Policy,
        *,
        refresh: float | None = None,
        detector: SaturationDetector | None = None,
    ) -> None:
        self.spec, self.router, self.detector = spec, router, detector
        every = number("systems", ROUTER, "metrics_refresh") if refresh is None else not_negative("refresh", refresh)
        self._refresh = max(round(every * PICOSECONDS), 1)
        self._ledger = Ledger()
        endpoints = [Endpoint(index) for index in range(whole("replicas", replicas))]
        self.endpoints: Final = tuple(endpoints)
        self.replicas: Final = tuple(Replica(spec, endpoint, self._ledger) for endpoint in endpoints)
        self.now = 0
        self._next_refresh = NEVER
        self._foreseen = True  # nothing arrives but what the traffic says beforehand
        self._events: list[tuple[int, int]] = []  # (time, replica), a heap; entries that no longer hold are skipped
        self._later: list[tuple[int, int, Sequence[Request], int]] = []  # turns to come: (time, serial, turns, place)
        self._serial = 0
        self._waiting_items: Iterator[Sequence[Request]] = iter(())  # of a closed loop
        self._read_at = -self._refresh
        self._metrics_wanted = detector is not None or not isinstance(router, Router) or router.metrics
        self._view = self._caches()
        for endpoint in endpoints:
            endpoint.view = self._view
        if isinstance(router, Router):
            router.start(replicas)

    def _caches(self) -> CacheView:
        index = getattr(self.router, "index", EXACT)  # a reader's own router may look
        if isinstance(index, IndexSize):
            return RememberedView(index, len(self.replicas))
        return ExactView(self.replicas) if index == EXACT else CacheView()

    def run(self, traffic: Traffic, *, concurrency: int | None = None) -> Report:
        """Serves every request to the end. ``concurrency``: so many requests or sessions at a time, the next one
        ``arrival`` seconds after one ends, instead of ``arrival`` seconds after the beginning.

        Raises ``ValueError`` for requests out of order, requests that no replica can hold, and bad sizes.
        """
        ledger = self._ledger = Ledger()
        for replica in self.replicas:
            replica.ledger, replica.busy = ledger, 0
        begin, items = self.now, ordered(traffic, closed=concurrency is not None)
        self._waiting_items = iter(()) if concurrency is None else items
        self._foreseen = concurrency is None
        for _ in range(0 if concurrency is None else whole("concurrency", concurrency)):
            self._next_item(begin)
        self._loop(items if concurrency is None else iter(()), begin)
        return Report(ledger, begin, self.now, [replica.busy for replica in self.replicas])

    def pause(self, seconds: float) -> None:
        """Lets time pass between two runs."""
        self.now += round(not_negative("seconds", seconds) * PICOSECONDS)

    def _loop(self, arrivals: Iterator[Sequence[Request]], begin: int) -> None:
        events, later, replicas = self._events, self._later, self.replicas
        head, arriving = self._next_arrival(arrivals, begin)
        while True:
            while events and replicas[events[0][1]].next_time != events[0][0]:
                heappop(events)
            now = events[0][0] if events else NEVER
            turn = later[0][0] if later else NEVER
            if turn <= now:
                now = turn
            if arriving <= now:
                now = turn = arriving
            if now == NEVER:
                return
            if now >= self._next_refresh:
                self._read_metrics(now)
            self.now = now
            if turn != now:
                self._advance(replicas[heappop(events)[1]], now)
            elif later and later[0][0] == now:
                _, _, turns, place = heappop(later)
                self._arrive(turns, place, now)
            elif head is not None:
                if len(head) > 1:
                    self._foreseen = False  # its later turns come when answers end
                self._arrive(head, 0, now)
                head, arriving = self._next_arrival(arrivals, begin)

    def _next_arrival(self, arrivals: Iterator[Sequence[Request]], begin: int) -> tuple[Sequence[Request] | None, int]:
        """What comes next and when; and when the metrics must be read for it.

        They are read at whole multiples of the refresh. Only the last reading before an arrival matters, so where all
        arrivals are known beforehand the others are left out.
        """
        head = next(arrivals, None)
        time = NEVER if head is None else begin + round(head[0].arrival * PICOSECONDS)
        if self._metrics_wanted:
            due = time - time % self._refresh if self._foreseen else self._read_at + self._refresh
            self._next_refresh = due if due > self._read_at else NEVER
        return head, time

    def _advance(self, replica: Replica, now: int) -> None:
        replica.advance()
        heappush(self._events, (replica.next_time, replica.endpoint.index))
        for job in replica.finished:
            if job.place + 1 < len(job.turns):
                self._schedule(job.turns, job.place + 1, now)
            else:
                self._next_item(now)
        replica.finished.clear()

    def _next_item(self, now: int) -> None:
        turns = next(self._waiting_items, None)
        if turns is not None:
            self._schedule(turns, 0, now)

    def _schedule(self, turns: Sequence[Request], place: int, now: int) -> None:
        self._serial += 1
        # A picosecond at least, so that what an answer brings about never falls together with the step that gave it.
        time = now + max(round(turns[place].arrival * PICOSECONDS), 1)
        heappush(self._later, (time, self._serial, turns, place))

    def _read_metrics(self, now: int) -> None:
        time = self._read_at = now - now % self._refresh
        self._next_refresh = NEVER if self._foreseen else time + self._refresh
        room = self.spec.kv_tokens
        for replica in self.replicas:
            endpoint = replica.endpoint
            endpoint.queue_depth = len(replica.waiting)
            endpoint.running = len(replica.running)
            endpoint.kv_use = (replica.held(time) if replica.phase else replica.cache.held) / room
        if isinstance(self.router, Router):
            self.router.refreshed(self.endpoints)

    def _arrive(self, turns: Sequence[Request], place: int, now: int) -> None:
        request = turns[place]
        if request.prompt_tokens + request.output_tokens > self.spec.kv_tokens:
            needed = request.prompt_tokens + request.output_tokens
            raise ValueError(phrase("serving.does_not_fit", got=needed, room=self.spec.kv_tokens))
        row = self._ledger.open(now, request.prompt_tokens, request.output_tokens)
        if request.priority < 0 and self.detector is not None and self.detector.saturation(self.endpoints) >= 1:
            self._next_item(now)  # refused, and with it the rest of its session
            return
        view = self._view
        view.now = now
        chosen = self.router.pick(request, self.endpoints)
        if not 0 <= chosen < len(self.endpoints):
            raise ValueError(phrase("serving.no_such_replica", got=repr(chosen), last=len(self.endpoints) - 1))
        job = Job(row, turns, place, now, self.spec.prefix_caching)
        endpoint, replica = self.endpoints[chosen], self.replicas[chosen]
        endpoint.in_flight += 1
        job.estimate = request.prompt_tokens - view.tokens(request, chosen)
        endpoint.uncached += job.estimate
        view.sent(request, chosen)
        self._ledger.replica[row] = chosen
        before = replica.next_time
        replica.enqueue(job, now)
        if replica.next_time != before:
            heappush(self._events, (replica.next_time, chosen))
