"""A program in a bounded number of bins, so that a picture of all of it fits in a report of any length."""

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_kernels.xray.regions import share
from tpu_kernels.xray.utilisation import Utilisation

MOST_BINS = 128
PLACES = 4  # a share finer than this is no longer seen, and would fill the report with digits


@dataclass(frozen=True)
class Bin:
    """Bundles ``first`` to ``last``: what share of each unit's capacity they use, and how often they are executed.

    ``executed`` counts bundles, as a kernel's does: divided by the bundles in the bin it is the mean of their
    executions. ``None`` where executions are not known.
    """

    first: int
    last: int
    executed: int | None
    use: dict[str, float]

    @property
    def executions(self) -> float | None:
        """Of one of its bundles, on average."""
        return None if self.executed is None else self.executed / (self.last - self.first + 1)


def bins(first: int, last: int, executions: Sequence[int] | None, used: Utilisation) -> tuple[Bin, ...]:
    """Bundles ``first`` to ``last``, in order, in bins of as many bundles each; the last one may have fewer."""
    size = -(-(last - first + 1) // MOST_BINS)
    found = []
    for start in range(first, last + 1, size):
        inside = range(start, min(start + size, last + 1))
        use = {unit: round(part, PLACES) for unit, part in share(inside, [1] * len(inside), used).items()}
        executed = None if executions is None else sum(executions[number] for number in inside)
        found.append(Bin(inside[0], inside[-1], executed, use))
    return tuple(found)
