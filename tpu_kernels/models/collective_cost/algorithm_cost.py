"""What a collective costs with one algorithm on one kind of link: the formulas of :mod:`collective_rules` with numbers.

Time is ``steps * alpha + critical bytes / bandwidth``: all ranks step together, and a step lasts as long as its busiest
link. Reductions take no time of their own. ``size`` follows the NCCL tests, see :mod:`bus_bandwidth`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tpu_kernels.models.collective_cost.alpha_beta import AlphaBeta
from tpu_kernels.models.collective_cost.bus_bandwidth import COLLECTIVES, algbw, busbw, checked_ranks
from tpu_kernels.models.collective_cost.rules import ALGORITHMS, RULES, Share, share
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import not_negative, one_of
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase


class Cost(NamedTuple):
    """One collective on ``size`` bytes. ``link_bytes`` is what the busiest link carries in all, one way;
    ``critical_bytes`` the busiest link of each step added up; ``time`` in seconds."""

    collective: str
    algorithm: str
    ranks: int
    size: Quantity
    steps: int
    link_bytes: Quantity
    critical_bytes: Quantity
    time: Quantity

    def __repr__(self) -> str:
        return phrase(
            "collective.cost",
            collective=self.collective,
            algorithm=self.algorithm,
            ranks=self.ranks,
            size=self.size,
            time=self.time,
            steps=self.steps,
            link_bytes=self.link_bytes,
        )

    @property
    def algbw(self) -> Quantity:
        """``size / time`` in bytes/s."""
        return algbw(self.size, self.time)

    @property
    def busbw(self) -> Quantity:
        """Bus bandwidth in bytes/s, as the NCCL tests define it."""
        return busbw(self.collective, self.ranks, self.size, self.time)


def cost(collective: str, algorithm: str, *, ranks: int, size: float, on: AlphaBeta, chunks: int = 1) -> Cost:
    """What ``collective`` costs with ``algorithm`` on ``ranks`` ranks whose links, or ports to a switch, are ``on``.

    ``chunks`` cuts a broadcast or reduce along a ring or line so that its steps overlap. Raises ``ValueError`` for an
    unknown collective or algorithm, one that does not do the other, fewer than two ranks (or not a power of two where
    that is needed), a negative size, fewer than one chunk.
    """
    one_of("collective", collective, COLLECTIVES)
    one_of("algorithm", algorithm, ALGORITHMS)
    n = checked_ranks(ranks)
    return priced(collective, algorithm, n, size, on, share(collective, algorithm, n, whole("chunks", chunks)))


def priced(collective: str, algorithm: str, ranks: int, size: float, on: AlphaBeta, of: Share) -> Cost:
    """The cost of ``size`` bytes with shares ``of`` the array on links ``on``."""
    checked = not_negative("size", size)
    return Cost(
        collective,
        algorithm,
        ranks,
        Quantity(checked, "bytes"),
        of.steps,
        Quantity(of.busiest * checked, "bytes"),
        Quantity(of.critical * checked, "bytes"),
        Quantity(of.steps * on.alpha + of.critical * checked / on.bandwidth, "s"),
    )


def comparison(
    collective: str, *, ranks: int, size: float, on: AlphaBeta, algorithms: Sequence[str] | None = None
) -> Table:
    """The algorithms that can do ``collective`` (or those named) side by side, in the language in force.

    An algorithm that needs a power of two is left out for other ranks. Raises as :func:`cost` does.
    """
    one_of("collective", collective, COLLECTIVES)
    n = checked_ranks(ranks)
    able = [name for name in ALGORITHMS if collective in RULES[name] and _takes(collective, name, n)]
    costs = [cost(collective, name, ranks=n, size=size, on=on) for name in (able if algorithms is None else algorithms)]
    headings = [
        phrase("collective.algorithm"),
        phrase("collective.steps"),
        phrase("collective.link_bytes"),
        phrase("collective.time"),
        phrase("collective.busbw"),
    ]
    rows = [
        [
            TableCell(found.algorithm),
            TableCell(str(found.steps), numeric=True),
            TableCell(str(found.link_bytes), numeric=True),
            TableCell(str(found.time), numeric=True),
            TableCell(str(found.busbw), numeric=True),
        ]
        for found in costs
    ]
    caption = phrase("collective.caption", collective=collective, ranks=n, size=Quantity(size, "bytes"))
    return Table(caption, headings, rows)


def _takes(collective: str, algorithm: str, ranks: int) -> bool:
    try:
        share(collective, algorithm, ranks)
    except ValueError:
        return False
    return True
