"""One run of the benchmark of collectives: size by size ours and then each peer, so that all find the same machine.

A peer is started anew for each size: ranks that waited for their turn would take a core to look out for it.
"""

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tpu_kernels.backend import Here, here
from tpu_kernels.bench.collective_case import Case
from tpu_kernels.bench.collective_fit import Fitted, fitted
from tpu_kernels.bench.collective_peers import absence, bench_peer
from tpu_kernels.bench.collective_row import Row
from tpu_kernels.bench.collectives import bench_collective


class Found(NamedTuple):
    """``load``: the average of the minute before; ``peers``: their versions; ``notes``: lines on what is missing."""

    seen: Here
    load: float
    rows: list[Row]
    fits: list[Fitted]
    peers: dict[str, str]
    notes: list[str]


def run(
    cases: Sequence[Case],
    names: Sequence[str],
    peers: Sequence[str],
    python: str,
    *,
    warmup: int,
    repeats: int,
    progress: Callable[[], None] = lambda: None,
) -> Found:
    """``cases``, at least one, by the implementations ``names`` and by those of ``peers`` that ``python`` has.

    ``progress`` is called after each contestant and case. Raises what :func:`bench_collective` and :func:`bench_peer`
    do.
    """
    seen, load = here(), os.getloadavg()[0]
    absent = {peer: line for peer in peers if (line := absence(peer, python))}
    rows: list[Row] = []
    versions, notes = {}, list(absent.values())
    for case in cases:
        rows += bench_collective([case], names, warmup=warmup, repeats=repeats, progress=progress)
        for peer in peers:
            if peer not in absent:
                answer = bench_peer(peer, python, case, warmup=warmup, repeats=repeats)
                versions[peer] = answer.version
                rows += [] if answer.row is None else [answer.row]
                notes += [] if answer.note is None else [answer.note]
            progress()
    return Found(seen, load, rows, fitted(rows), versions, list(dict.fromkeys(notes)))
