"""What every peer does with a job: make the arrays of its case, check one call, warm up, and time the rest."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tpu_kernels.bench.collective_case import Case


class Job(NamedTuple):
    """``case``: a :meth:`Case.to_dict`; ``warmup`` and ``repeats``: calls."""

    case: dict[str, Any]
    warmup: int
    repeats: int


class Forms(NamedTuple):
    """A collective ready to be called, None where the library has no such form. ``fill`` puts the data of the case
    back in place, and ``results`` read what the last call gave."""

    fill: Callable[[], None]
    out_of_place: Callable[[], object] | None
    in_place: Callable[[], object] | None
    results: Mapping[str, Callable[[], NDArray[np.generic]]]


class Peer(Protocol):
    """A library, seen from one of its processes."""

    rank: int
    version: str

    def forms(self, case: Case) -> Forms:
        """The collective of ``case``; ``NotImplementedError``, which says what is missing, where there is none."""

    def barrier(self) -> object:
        """Returns when all ranks have called it."""

    def gather(self, found: dict[str, Any]) -> list[dict[str, Any]] | None:
        """Everybody's ``found``, in order, on the first rank; None on the others."""


def measure(peer: Peer, job: Job) -> dict[str, Any] | None:
    """What the ranks of a peer measured, on the first one: its ``version``, and for each form how many elements were
    ``wrong``, and ``samples`` of every rank in seconds; or what is ``missing``."""
    ranks = peer.gather(_measured(peer, Case(**job.case), job))
    if ranks is None:
        return None
    first = ranks[0]
    if "missing" in first:
        return {"version": peer.version, **first}
    merged = {
        form: {
            "wrong": sum(rank[form]["wrong"] for rank in ranks),
            "samples": [rank[form]["samples"] for rank in ranks],
        }
        for form in first
    }
    return {"version": peer.version, **merged}


def parsed(text: str) -> Job:
    """The job of a command line."""
    return Job(**json.loads(text))


def _measured(peer: Peer, case: Case, job: Job) -> dict[str, Any]:
    try:
        forms = peer.forms(case)
    except NotImplementedError as missing:
        return {"missing": str(missing)}
    found: dict[str, Any] = {}
    for form, call in (("out_of_place", forms.out_of_place), ("in_place", forms.in_place)):
        if call is not None:
            forms.fill()
            call()
            wrong = case.wrong(peer.rank, forms.results[form]())
            found[form] = {"wrong": wrong, "samples": _times(peer, call, job)}
    return found


def _times(peer: Peer, call: Callable[[], object], job: Job) -> list[float]:
    for _ in range(job.warmup):
        call()
    peer.barrier()
    samples = []
    for _ in range(job.repeats):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    return samples
