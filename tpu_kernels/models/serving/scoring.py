"""The scores of llm-d's endpoint picker, their weighted sum, and its filter that sticks to warm caches until these
saturate.

Formulas as in the source of the llm-d router of 2026-08-22 (sources and values: ``data/serving.toml``).
"""

from collections.abc import Sequence
from typing import Final

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.roofline.amounts import not_negative, one_of
from tpu_kernels.models.serving.endpoint import Endpoint
from tpu_kernels.models.serving.published import document, names, number
from tpu_kernels.models.serving.request import Request
from tpu_kernels.models.serving.routing import EXACT, Router
from tpu_kernels.models.serving.routing_index import published_index
from tpu_kernels.models.share import positive_share
from tpu_kernels.phrases import phrase

ROUTER: Final = "llm_d_router_2026_08_22"


def queue_scores(endpoints: Sequence[Endpoint]) -> list[float]:
    """``(most - q) / (most - least)`` for a queue of ``q`` requests; 1 for all when all queues are equal."""
    depths = [endpoint.queue_depth for endpoint in endpoints]
    least, most = min(depths), max(depths)
    if least == most:
        return [1.0] * len(depths)
    return [(most - depth) / (most - least) for depth in depths]


def kv_scores(endpoints: Sequence[Endpoint]) -> list[float]:
    """``1 - u`` for a share ``u`` of the KV cache in use."""
    return [1.0 - endpoint.kv_use for endpoint in endpoints]


def prefix_scores(request: Request, endpoints: Sequence[Endpoint]) -> list[float]:
    """The share of the prompt that is in each cache."""
    return endpoints[0].view.shares(request, len(endpoints))


def token_load_score(tokens: float, threshold: float | None = None) -> float:
    """``1 - min(1, tokens / threshold)`` for prompt tokens in flight; the threshold is the router's unless given."""
    limit = (
        number("systems", ROUTER, "token_load_threshold")
        if threshold is None
        else positive_number("threshold", threshold)
    )
    return 1.0 - min(1.0, not_negative("tokens", tokens) / limit)


class WeightedScores(Router):
    """The highest of ``queue * queue_score + kv * kv_score + prefix * prefix_score``.

    ``version`` names whose default weights: ``llm_d_router_2026_08_22`` and ``gaie_v1_5`` (queue 2, KV 2, prefix 3) or
    ``gaie_v1_0`` (all 1); weights given by hand replace them. ``index``: see :class:`Router`; unless given, the index
    that the version keeps, which remembers where requests were sent.

    Raises ``ValueError`` for an unknown version, a negative weight, and weights that are all zero.
    """

    name = "weighted_scores"
    metrics = True

    def title(self) -> str:
        version = document()["systems"][self.version]["name"]
        weights = "/".join(f"{weight:g}" for weight in self.weights.values())
        return phrase("router.weighted_scores", version=version, weights=weights)

    def __init__(
        self,
        version: str = ROUTER,
        *,
        queue: float | None = None,
        kv: float | None = None,
        prefix: float | None = None,
        index: object = None,
        seed: int = 0,
    ) -> None:
        self.version = one_of("version", version, names("systems"))
        given = {"queue": queue, "kv": kv, "prefix": prefix}
        self.weights = {
            name: number("systems", version, f"{name}_weight") if weight is None else not_negative(name, weight)
            for name, weight in given.items()
        }
        if not any(self.weights.values()):
            raise ValueError(phrase("serving.no_weight", got=self.weights))
        if self.weights["prefix"]:
            self.index = published_index(version) if index is None else index
        super().__init__(seed)

    def __repr__(self) -> str:
        weights = ", ".join(f"{name}={weight:g}" for name, weight in self.weights.items())
        return f"WeightedScores({self.version!r}, {weights})"

    def start(self, replicas: int) -> None:
        super().start(replicas)
        self._load = [self.weights["queue"] + self.weights["kv"]] * replicas

    def refreshed(self, endpoints: Sequence[Endpoint]) -> None:
        queue, kv = self.weights["queue"], self.weights["kv"]
        scores = zip(queue_scores(endpoints), kv_scores(endpoints), strict=True)
        self._load = [queue * queue_score + kv * kv_score for queue_score, kv_score in scores]

    def pick(self, request: Request, endpoints: Sequence[Endpoint]) -> int:
        weight = self.weights["prefix"]
        if not weight:
            return self.best(self._load)
        shares = prefix_scores(request, endpoints)
        return self.best([load + weight * share for load, share in zip(self._load, shares, strict=True)])


class StickyUntilSaturated(Router):
    """Warm caches first, until these are too far behind; then the least load, whatever is cached where.

    Replicas with ``affinity`` of the prompt in their cache are the candidates, unless the least loaded of them has
    ``gap`` more uncached tokens in flight than the least loaded of the others. Among the candidates the least load
    wins: ``load`` is ``"tokens"`` (uncached tokens in flight, this request's own included) for work bound by prompts,
    or ``"requests"`` for work bound by decoding. Defaults: those of the router of 2026-08-22, whose gap is its peak
    prefill rate times its greatest delay, 15,928 tokens/s * 18 s.

    Raises ``ValueError`` for an affinity that is no share, a negative gap, and another ``load``.
    """

    name = "sticky_until_saturated"

    def title(self) -> str:
        return phrase("router.sticky_until_saturated")

    def __init__(
        self,
        load: str = "tokens",
        *,
        affinity: float | None = None,
        gap: float | None = None,
        index: object = EXACT,
        seed: int = 0,
    ) -> None:
        self.load = one_of("load", load, ("tokens", "requests"))
        known = number("systems", ROUTER, "affinity_threshold")
        self.affinity = known if affinity is None else positive_share("affinity", affinity)
        rate, delay = (number("systems", ROUTER, field) for field in ("peak_prefill_rate", "ttft_penalty"))
        self.gap = saturation_gap(rate, delay) if gap is None else not_negative("gap", gap)
        self.index = index
        super().__init__(seed)

    def __repr__(self) -> str:
        return f"StickyUntilSaturated({self.load!r}, affinity={self.affinity:g}, gap={self.gap:g})"

    def pick(self, request: Request, endpoints: Sequence[Endpoint]) -> int:
        matched = prefix_scores(request, endpoints)
        warm = [endpoint for endpoint in endpoints if matched[endpoint.index] >= self.affinity]
        if warm and len(warm) < len(endpoints):
            cold = [endpoint for endpoint in endpoints if matched[endpoint.index] < self.affinity]
            if min(e.uncached for e in warm) - min(e.uncached for e in cold) > self.gap:
                warm = []
        candidates: Sequence[Endpoint] = warm or endpoints
        if self.load == "requests":
            return candidates[self.best([-endpoint.in_flight for endpoint in candidates])].index
        prompt = request.prompt_tokens
        loads = [-(endpoint.uncached + prompt * (1 - matched[endpoint.index])) for endpoint in candidates]
        return candidates[self.best(loads)].index


def saturation_gap(peak_prefill_rate: float, greatest_delay: float) -> float:
    """Uncached tokens in flight by which a warm replica may lead: ``tau = peak_prefill_rate * greatest_delay``.

    ``peak_prefill_rate`` in tokens/s: the tokens of a full step over the time it takes; ``greatest_delay`` in seconds
    of TTFT that staying warm may cost. Source: llm-d blog, 2026-08-17.
    """
    return positive_number("peak_prefill_rate", peak_prefill_rate) * positive_number("greatest_delay", greatest_delay)
