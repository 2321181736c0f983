"""A request on its way through a replica: what it holds, and how far it has come."""

from collections.abc import Sequence
from typing import Final

from tpu_kernels.models.serving.prefix_cache import Stretch
from tpu_kernels.models.serving.request import Request


class Job:
    """Turn ``place`` of ``turns``; ``row``: its line in the ledger; ``estimate``: tokens uncached, to the router."""

    __slots__ = (
        "cached",
        "complete",
        "computed",
        "estimate",
        "finish_step",
        "last_token",
        "place",
        "private",
        "produced",
        "queued",
        "request",
        "row",
        "taken",
        "to_compute",
        "turns",
    )

    def __init__(self, row: int, turns: Sequence[Request], place: int, now: int, sharing: bool) -> None:
        self.row: Final = row
        self.turns: Final = turns
        self.place: Final = place
        request = turns[place]
        self.request: Final = request
        private = request.prompt_tokens
        if sharing:
            for _, tokens in request.prefix:
                private -= tokens
        self.private: Final = private  # tokens of the prompt that no other request may share
        self.estimate = 0
        self.queued = now
        self.produced = 0  # output tokens; brought up to date when the job stops decoding
        self.last_token = 0  # when the last of them came, likewise
        self.finish_step = -1
        self.cached = 0  # tokens found in the cache when it was admitted
        self.to_compute = 0
        self.computed = 0
        self.taken: list[Stretch] = []
        self.complete = 0
