"""The time that a device was busy, from jax's profiler: what is left when the host's part is taken away.

On an accelerator the host spends some 100 microseconds to send off a call, which hides a small kernel whole.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
from jax.profiler import ProfileData

from tpu_kernels.bench.timing import Call

DEVICE_PLANE = "/device:"
# A TPU reports each program as one event on this line, and a GPU each kernel on the line of its stream.
PROGRAMS = "XLA Modules"
STREAM = "Stream"


def device_seconds(call: Call, repeats: int = 5) -> float | None:
    """Busy seconds of the first device per call, averaged over ``repeats``; None where the profiler sees no device, as
    on a CPU. Call it once before, so that nothing is compiled under the profiler."""
    if jax.devices()[0].platform == "cpu":
        return None
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(repeats):
                jax.block_until_ready(call())
        found = sorted(Path(folder).rglob("*.xplane.pb"))
        busy = busy_seconds(ProfileData.from_file(str(found[0]))) if found else None
    return None if busy is None else busy / repeats


def busy_seconds(profile: Any) -> float | None:
    """Seconds in which the first device of ``profile`` ran something; None when it holds no device.

    Events that overlap, as on two streams, are counted once.
    """
    planes = sorted((plane for plane in profile.planes if plane.name.startswith(DEVICE_PLANE)), key=lambda p: p.name)
    for plane in planes:
        lines = list(plane.lines)
        chosen = [line for line in lines if line.name == PROGRAMS] or [ln for ln in lines if ln.name.startswith(STREAM)]
        intervals = sorted((e.start_ns, e.start_ns + e.duration_ns) for line in chosen for e in line.events)
        if intervals:
            return sum(end - start for start, end in _merged(intervals)) / 1e9
    return None


def _merged(intervals: list[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    start, end = intervals[0]
    for begin, finish in intervals[1:]:
        if begin > end:
            yield start, end
            start, end = begin, finish
        end = max(end, finish)
    yield start, end
