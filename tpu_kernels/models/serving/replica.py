"""One model server with continuous batching: a queue, sequences that decode, and prompts computed in chunks beside
them.

In every step each running sequence gets one token, and what is left of the token budget goes to prompts, in the order
of arrival: first the one begun, then new ones while seats and memory last. When memory runs out, the sequence that came
last gives its memory back and waits at the head of the queue, to be computed again (recompute, as in vLLM).

Between two changes of the batch nothing happens but steps, each a little longer than the one before because the context
grows. Their sum has a closed form, so a run of a thousand steps costs as much as one. Time is counted in whole
picoseconds: the sum is the same, to the last digit, as if every step had been made (the tests make every one).
"""

import math
from collections import deque
from heapq import heappop, heappush
from typing import Final

from tpu_kernels.models.serving.endpoint import Endpoint
from tpu_kernels.models.serving.job import Job
from tpu_kernels.models.serving.ledger import Ledger
from tpu_kernels.models.serving.prefix_cache import PrefixCache
from tpu_kernels.models.serving.replica_spec import ReplicaSpec

NEVER: Final = 1 << 100  # picoseconds; later than any event
IDLE, DECODING, MIXED = range(3)


class Replica:
    """The server ``spec`` as it stands. ``next_time`` (picoseconds) is when :meth:`advance` must be called."""

    __slots__ = (
        "_base",
        "_batch",
        "_chunk",
        "_completing",
        "_context",
        "_ends",
        "_first",
        "_growth",
        "_length",
        "_partial",
        "_per_context_token",
        "_per_sequence",
        "_seats",
        "_settled",
        "_start",
        "_steps",
        "busy",
        "cache",
        "endpoint",
        "finished",
        "ledger",
        "next_time",
        "phase",
        "running",
        "spec",
        "waiting",
    )

    def __init__(self, spec: ReplicaSpec, endpoint: Endpoint, ledger: Ledger) -> None:
        self.spec, self.endpoint, self.ledger = spec, endpoint, ledger
        self._batch, self._seats = spec.batch_tokens, spec.sequences
        self._base, self._per_sequence, self._per_context_token = spec.step[:3]
        self.cache = PrefixCache(spec.kv_tokens, spec.block_tokens)
        self.waiting: deque[Job] = deque()
        self.running: dict[int, Job] = {}  # by row, in the order of admission
        self.finished: list[Job] = []  # since the caller last looked
        self.next_time = NEVER
        self.phase = IDLE
        self.busy = 0  # picoseconds
        self._context = 0  # tokens that the running sequences hold, all together
        self._steps = 0  # made so far: jobs know by it when they end
        self._ends: list[tuple[int, int]] = []  # (step, row) of running jobs, a heap; stale entries are skipped
        self._partial: Job | None = None  # its prompt has begun and not ended
        self._chunk = 0  # tokens of it in the step in progress
        self._completing: list[Job] = []  # their prompts end with the step in progress
        self._start = 0  # of the run or step in progress
        # The run in progress: duration of its first step, growth from step to step, how many, how many with memory.
        self._first, self._growth, self._length, self._settled = 0, 0, 0, 0

    def enqueue(self, job: Job, now: int) -> None:
        """A request arrives. The step in progress does not see it; the next one does."""
        self.waiting.append(job)
        if self.phase == IDLE:
            self._plan(now)
        elif self.phase == DECODING and len(self.waiting) == 1 and len(self.running) < self._seats:
            steps = self._steps_begun(now)
            if steps < self._length:
                self._length = steps
                self.next_time = self._start + self._run_time(steps)

    def held(self, now: int) -> int:
        """Tokens of KV cache in use at ``now``."""
        if self.phase != DECODING:
            return self.cache.held
        return self.cache.held + len(self.running) * (self._steps_begun(now) - self._settled)

    def settle(self, now: int) -> None:
        """Makes the cache what it is at ``now``, for somebody who looks."""
        cache = self.cache
        if self.phase == DECODING:
            sequences = len(self.running)
            if cache.held + cache.left + sequences * (self._length - self._settled) > cache.capacity:
                steps = self._steps_begun(now)
                cache.held += sequences * (steps - self._settled)
                self._settled = steps
        if cache.held + cache.left > cache.capacity:
            cache.trim()

    def advance(self) -> None:
        """What happens at ``next_time``: a run or a step ends, tokens come out, the next one is planned."""
        now = self.next_time
        self.busy += now - self._start
        sequences = len(self.running)
        if self.phase == DECODING:
            length = self._length
            self.cache.held += sequences * (length - self._settled)
            self.ledger.gaps_of_run(self._first, self._growth, length, sequences)
            self._steps += length
            self._context += sequences * length
        else:
            if sequences:
                self.ledger.gap(now - self._start, sequences)
                self._context += sequences
            self._steps += 1
            if self._partial is not None:
                self._partial.computed += self._chunk
        ends, steps = self._ends, self._steps
        while ends and ends[0][0] <= steps:
            step, row = heappop(ends)
            job = self.running.get(row)
            if job is not None and job.finish_step == step:
                self._finish(job, now)
        for job in self._completing:
            self._emit(job, now)
        self._completing.clear()
        self._plan(now)

    def _emit(self, job: Job, now: int) -> None:
        """The prompt of a job has been computed, and with it comes a token."""
        if job.produced:  # it was preempted
            self.ledger.gap(now - job.last_token, 1)
        else:
            self.ledger.first[job.row] = now
            self.endpoint.uncached -= job.estimate
        job.produced += 1
        request = job.request
        self._context += request.prompt_tokens + job.produced
        self.running[job.row] = job
        job.finish_step = self._steps + request.output_tokens - job.produced
        if job.produced == request.output_tokens:
            self._finish(job, now)
        else:
            heappush(self._ends, (job.finish_step, job.row))

    def _finish(self, job: Job, now: int) -> None:
        del self.running[job.row]
        request = job.request
        self._context -= request.prompt_tokens + request.output_tokens
        own = job.private + request.output_tokens
        if self.spec.prefix_caching:
            self.cache.leave(own, request.keep)
            self.cache.release(job.taken)
        else:
            self.cache.held -= own
        self.ledger.finish[job.row] = now
        self.endpoint.in_flight -= 1
        self.finished.append(job)

    def _plan(self, now: int) -> None:
        """Decides what is in the step that begins now; when nothing but tokens will come, how many steps like it."""
        cache, running = self.cache, self.running
        room = cache.capacity - cache.held
        if len(running) > room:
            self._make_room(now)
            room = cache.capacity - cache.held
        self._start = now
        sequences = len(running)
        grown = 0
        if self.waiting or self._partial is not None:
            budget = self._batch - sequences
            if budget > 0 and (self._partial is not None or sequences < self._seats):
                cache.held += sequences
                grown = 1
                prompt, attention = self._take_prompts(budget, now)
                if prompt:
                    self.phase = MIXED
                    self.next_time = now + self.spec.step.mixed(prompt, attention, sequences, self._context)
                    return
        if not sequences:
            self.phase, self.next_time = IDLE, NEVER
            return
        self.phase, self._settled = DECODING, grown
        first = self._first = self._base + self._per_sequence * sequences + self._per_context_token * self._context
        growth = self._growth = self._per_context_token * sequences
        steps = self._next_end() - self._steps
        fits = room // sequences  # steps before memory runs out
        length = self._length = steps if steps < fits else fits
        self.next_time = now + first * length + growth * (length * (length - 1) // 2)

    def _take_prompts(self, budget: int, now: int) -> tuple[int, int]:
        """Fills the step with prompts; how many of their tokens, and how many tokens these look back at."""
        prompt = attention = 0
        job = self._partial
        seats = self._seats - len(self.running)
        while budget > 0 and seats > 0:
            if job is None:
                if not self.waiting or not self._admit(self.waiting[0], now):
                    break
                job = self.waiting.popleft()
            chunk = min(job.to_compute - job.computed, budget)
            seen = job.cached + job.computed
            prompt += chunk
            attention += chunk * seen + chunk * (chunk + 1) // 2
            budget -= chunk
            seats -= 1
            if job.computed + chunk < job.to_compute:
                self._partial, self._chunk = job, chunk
                return prompt, attention
            self._completing.append(job)
            self._partial = job = None
        return prompt, attention

    def _admit(self, job: Job, now: int) -> bool:
        """Gives a job the memory for its whole prompt and its next token, if there is as much."""
        cache, request = self.cache, job.request
        prefix = request.prefix if self.spec.prefix_caching else ()
        own = job.private + job.produced + 1
        if cache.held + cache.left > cache.capacity:
            cache.trim()
        absent, idle = cache.missing(prefix)
        if cache.held + absent + idle + own > cache.capacity:
            return False
        total = request.prompt_tokens + job.produced
        job.cached = cache.matched(prefix, total)
        job.to_compute, job.computed = total - job.cached, 0
        job.taken, job.complete = cache.hold(prefix)
        cache.held += own
        self.ledger.waited += now - job.queued
        if not job.produced:
            self.ledger.cached[job.row] = job.cached
        return True

    def _make_room(self, now: int) -> None:
        """Preempts the latest until every running sequence has room for one more token."""
        cache = self.cache
        cache.trim()  # of what the steps so far took, before memory comes back
        while len(self.running) > cache.capacity - cache.held:
            job = self._partial
            if job is not None:
                self._partial = None
                cache.forget(job.taken, job.complete, job.private + job.produced + 1)
            else:
                _, job = self.running.popitem()
                job.produced = job.request.output_tokens - (job.finish_step - self._steps)
                job.last_token = now
                job.finish_step = -1
                held = job.request.prompt_tokens + job.produced
                self._context -= held
                cache.held -= job.private + job.produced
                cache.release(job.taken)
            job.queued = now
            self.waiting.appendleft(job)
            self.ledger.recomputed += 1

    def _next_end(self) -> int:
        """The step with which the next running job ends."""
        ends = self._ends
        while True:
            step, row = ends[0]
            job = self.running.get(row)
            if job is not None and job.finish_step == step:
                return step
            heappop(ends)

    def _run_time(self, steps: int) -> int:
        return self._first * steps + self._growth * (steps * (steps - 1) // 2)

    def _steps_begun(self, now: int) -> int:
        """How many steps of the run in progress have begun before ``now``; the one that began at ``now`` if it is the
        first."""
        elapsed, growth = now - self._start, self._growth
        middle = self._first - growth / 2
        exact = 2 * elapsed / (middle + math.sqrt(middle * middle + 2.0 * growth * elapsed))
        steps = int(exact)
        if 1e-6 < exact - steps < 1 - 1e-6:
            return steps + 1
        # So near to the end of a step, the float does not say on which side: the sums do.
        steps = max(steps, 1)
        while self._run_time(steps) < elapsed:
            steps += 1
        return steps
