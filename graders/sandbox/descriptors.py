"""File descriptors that are not to be inherited."""

import os
from collections.abc import Iterable


def close_all_but(kept: Iterable[int]) -> None:
    """Close every file descriptor of this process but those in ``kept``."""
    edges = sorted({*kept})
    for before, after in zip([-1, *edges], [*edges, os.sysconf("SC_OPEN_MAX")], strict=True):
        if before + 1 < after:  # given an empty range, Python 3.11 closes everything
            os.closerange(before + 1, after)
