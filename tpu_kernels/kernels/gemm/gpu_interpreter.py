"""jax's interpreter for kernels of Mosaic GPU: shared memory, barriers, TMA and wgmma, played on the CPU."""

from importlib import import_module
from typing import Any

import jax

WITH_WGMMA = (0, 10, 2)
WITH_TRANSPOSED_VIEWS = (0, 12)


def parameters(**changes: Any) -> Any:
    """What to pass as ``interpret``, with ``changes`` as of ``detect_races``; ``None`` if this jax cannot run wgmma.

    Where TMA reads beyond an array it gets zeros; the interpreter fills with what it puts into fresh memory, so that is
    zero too.
    """
    if jax.__version_info__ < WITH_WGMMA:
        return None
    params = getattr(import_module("jax.experimental.pallas.mosaic_gpu"), "InterpretGPUParams", None)
    if params is None:  # not public at first
        params = import_module("jax._src.pallas.mosaic_gpu.interpret.params").InterpretGPUParams
    return params(**{"out_of_bounds_reads": "uninitialized", "uninitialized_memory": "zero", **changes})


def knows_transposed_views() -> bool:
    """Whether it can multiply a slice of shared memory as its transpose."""
    return bool(jax.__version_info__ >= WITH_TRANSPOSED_VIEWS)
