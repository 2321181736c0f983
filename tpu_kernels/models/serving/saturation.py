"""When a pool is too busy for requests that may be dropped: the utilisation detector of the llm-d router."""

import math
from collections.abc import Sequence

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.serving.endpoint import Endpoint
from tpu_kernels.models.serving.published import number
from tpu_kernels.models.serving.scoring import ROUTER


class SaturationDetector:
    """A pool is saturated when the mean of ``max(queue / queue_threshold, kv_use / kv_threshold)`` over its replicas is
    one or more. Requests with a priority below zero are then refused (HTTP 429).

    Thresholds: those of the router of 2026-08-22 (5 requests, 0.8 of the KV cache) unless given; ``ValueError`` unless
    positive. Metrics are as old as the last refresh; the simulator's refresh never fails, so none is too old to count.
    """

    def __init__(self, *, queue_threshold: float | None = None, kv_threshold: float | None = None) -> None:
        given = {"queue_threshold": queue_threshold, "kv_threshold": kv_threshold}
        self.queue_threshold, self.kv_threshold = (
            number("systems", ROUTER, name) if value is None else positive_number(name, value)
            for name, value in given.items()
        )

    def saturation(self, endpoints: Sequence[Endpoint]) -> float:
        """0 when the pool is empty, 1 and more when it is saturated."""
        loads = [max(e.queue_depth / self.queue_threshold, e.kv_use / self.kv_threshold) for e in endpoints]
        return math.fsum(loads) / len(loads)
