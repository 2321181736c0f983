"""The order in which an epoch visits the examples: a function of seed and epoch alone, so nothing need be saved."""

import numpy as np
import numpy.typing as npt


def shuffled(count: int, seed: int, epoch: int) -> npt.NDArray[np.intp]:
    """A permutation of ``0 .. count - 1`` for this ``epoch``, uniform but for ties of 64-bit keys.

    Sorts raw words of Philox, a counter-based generator: NumPy promises the words of a bit generator for ever, but not
    what ``Generator.permutation`` makes of them, and a run may be resumed under another NumPy. Raises ``ValueError``
    for a negative seed or epoch.
    """
    words = np.random.Philox(np.random.SeedSequence([seed, epoch])).random_raw(count)
    return np.argsort(words, kind="stable")
