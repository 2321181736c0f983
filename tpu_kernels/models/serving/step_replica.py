"""A model server that makes every step: what :mod:`tpu_kernels.models.serving.replica` must do, one token at a time."""

from collections.abc import Sequence

from tpu_kernels.models.serving.block_cache import BlockCache
from tpu_kernels.models.serving.endpoint import Endpoint
from tpu_kernels.models.serving.replica_spec import ReplicaSpec
from tpu_kernels.models.serving.request import Request


class Answer:
    """One request, ``replica`` where it went, ``cached`` tokens of its prompt, and the ``times`` of its tokens (ps)."""

    def __init__(self, row: int, turns: Sequence[Request], place: int, now: int) -> None:
        self.row, self.turns, self.place, self.request = row, turns, place, turns[place]
        self.arrival = self.queued = now
        self.private = self.request.prompt_tokens - sum(tokens for _, tokens in self.request.prefix)
        self.times: list[int] = []
        self.replica = self.cached = self.estimate = self.waited = self.recomputed = 0
        self.complete = self.left = self.seen = 0


class StepReplica:
    """One server; ``end`` is when the step in progress ends."""

    def __init__(self, spec: ReplicaSpec, index: int) -> None:
        self.spec, self.endpoint = spec, Endpoint(index)
        self.cache = BlockCache(spec.kv_tokens, spec.block_tokens)
        self.waiting: list[Answer] = []
        self.running: list[Answer] = []
        self.computing: Answer | None = None
        self.decoding: list[Answer] = []
        self.completing: list[Answer] = []
        self.end: int | None = None

    def begin(self, now: int) -> None:
        """Begins a step, if there is anything to do."""
        self.preempt(now)
        self.decoding, self.completing = list(self.running), []
        sequences = len(self.decoding)
        context = sum(answer.request.prompt_tokens + len(answer.times) for answer in self.decoding)
        self.cache.private += sequences
        self.cache.drop()
        prompt, attention = self.take_prompts(self.spec.batch_tokens - sequences, self.spec.sequences - sequences, now)
        step = self.spec.step
        if prompt:
            time = max(
                step.prefill_base + step.per_prompt_token * prompt + step.per_attention * attention, step.prefill_least
            )
        elif sequences:
            time = step.base
        else:
            self.end = None
            return
        self.end = now + time + step.per_sequence * sequences + step.per_context_token * context

    def take_prompts(self, budget: int, seats: int, now: int) -> tuple[int, int]:
        """Computes prompts token by token while there is a budget: tokens, and tokens that they look back at."""
        prompt = attention = 0
        while budget > 0 and seats > 0:
            if self.computing is None:
                if not self.waiting or not self.admit(self.waiting[0], now):
                    break
                self.computing = self.waiting.pop(0)
            answer = self.computing
            seats -= 1
            while answer.left and budget:
                answer.left, answer.seen = answer.left - 1, answer.seen + 1
                budget, prompt, attention = budget - 1, prompt + 1, attention + answer.seen
            if answer.left:
                break
            self.completing.append(answer)
            self.computing = None
        return prompt, attention

    def admit(self, answer: Answer, now: int) -> bool:
        """Gives memory for a whole prompt and the token after it, if there is as much."""
        own, prefix = answer.private + len(answer.times) + 1, answer.request.prefix
        if self.cache.held() + self.cache.needed(prefix) + own > self.spec.kv_tokens:
            return False
        total = answer.request.prompt_tokens + len(answer.times)
        answer.seen = self.cache.matched(prefix, total)
        answer.left = total - answer.seen
        if not answer.times:
            answer.cached = answer.seen
        answer.complete = self.cache.hold(prefix)
        self.cache.private += own
        self.cache.drop()
        answer.waited += now - answer.queued
        return True

    def preempt(self, now: int) -> None:
        """Sends the latest back to the queue until every running sequence has room for a token."""
        while self.cache.held() + len(self.running) > self.spec.kv_tokens:
            answer = self.computing or self.running[-1]
            prefix = answer.request.prefix
            if self.computing is not None:
                self.computing = None
                self.cache.forget(prefix[answer.complete :])
                self.cache.private -= answer.private + len(answer.times) + 1
                prefix = prefix[: answer.complete]
            else:
                self.running.pop()
                self.cache.private -= answer.private + len(answer.times)
            self.cache.let_go(prefix)
            answer.queued = now
            answer.recomputed += 1
            self.waiting.insert(0, answer)

    def finish(self, now: int) -> list[Answer]:
        """Ends the step: a token for everyone in it; those whose answers are complete leave."""
        for answer in self.completing:
            if not answer.times:
                self.endpoint.uncached -= answer.estimate
        self.running += self.completing
        ended = []
        for answer in [*sorted(self.decoding, key=lambda answer: answer.row), *self.completing]:
            answer.times.append(now)
            request = answer.request
            if len(answer.times) == request.output_tokens:
                self.running.remove(answer)
                self.cache.leave(answer.private + request.output_tokens, request.keep)
                self.cache.let_go(request.prefix)
                self.endpoint.in_flight -= 1
                ended.append(answer)
        return ended
