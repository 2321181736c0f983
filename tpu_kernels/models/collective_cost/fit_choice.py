"""Which model of a collective's time to trust: the one with the least corrected information criterion of Akaike (AICc).

``n * log(mean square) + 2k + 2k(k + 1) / (n - k - 1)`` weighs the error against the ``k`` numbers that it took (the
error's own scale counts as one), so a model with more of them has to earn them. Textbook form; on relative residuals.
"""

from collections.abc import Iterable
from contextlib import suppress
from math import inf, log

from tpu_kernels.models.collective_cost.alpha_beta_fit import TOLERANCE, Fit, fit, refused_or
from tpu_kernels.models.collective_cost.floor_fit import LEAST_FOR_FLOOR, fit_floor
from tpu_kernels.models.collective_cost.piecewise_fit import LEAST_A_SIDE, NoBreakError, fit_piecewise
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase

EXACT = 1e-12  # relative error below which a fit is as good as exact, and its logarithm noise


def information(found: Fit) -> float:
    """AICc of a fit; infinite when it has too many numbers for its points."""
    n, k = len(found.points), found.model.parameters + 1
    if n - k - 1 <= 0:
        return inf
    return n * log(max(found.rms, EXACT) ** 2) + 2 * k + 2 * k * (k + 1) / (n - k - 1)


def fits(
    pairs: Iterable[tuple[float, float]],
    *,
    collective: str,
    ranks: int,
    tolerance: float = TOLERANCE,
    line_rate: float | None = None,
) -> list[Fit]:
    """The line, the floor and the two lines on the same points, those that can be fitted, best first; none is refused:
    ``reasons`` say what stands against each."""
    points = list(pairs)
    sizes = len({size for size, _ in points})
    found = [fit(points, collective=collective, ranks=ranks, tolerance=tolerance, line_rate=line_rate, refuse=False)]
    for one, least in ((fit_floor, LEAST_FOR_FLOOR), (fit_piecewise, 2 * LEAST_A_SIDE)):
        if sizes < least:
            continue
        # Points that bend the other way have no two lines, which is an answer: the others stand.
        with suppress(NoBreakError):
            found.append(
                one(points, collective=collective, ranks=ranks, tolerance=tolerance, line_rate=line_rate, refuse=False)
            )
    return sorted(found, key=information)


def best_fit(
    pairs: Iterable[tuple[float, float]],
    *,
    collective: str,
    ranks: int,
    tolerance: float = TOLERANCE,
    line_rate: float | None = None,
) -> Fit:
    """The best model that is not refused; :class:`FitRefusedError` of the best one when all are.

    Points are (size in bytes, time in s). It chooses among the points given: it cannot see a change of regime beyond
    them.
    """
    found = fits(pairs, collective=collective, ranks=ranks, tolerance=tolerance, line_rate=line_rate)
    return next((one for one in found if one.accepted), None) or refused_or(found[0])


def compare_fits(
    pairs: Iterable[tuple[float, float]],
    *,
    collective: str,
    ranks: int,
    tolerance: float = TOLERANCE,
    line_rate: float | None = None,
) -> Table:
    """The models side by side: what they say, how far they are off, and whether they are refused."""
    found = fits(pairs, collective=collective, ranks=ranks, tolerance=tolerance, line_rate=line_rate)
    headings = [
        phrase("fit.model"),
        phrase("fit.result"),
        phrase("fit.rms"),
        phrase("fit.worst"),
        phrase("fit.aicc"),
        phrase("fit.verdict"),
    ]
    rows = [
        [
            TableCell(one.model.title()),
            TableCell(repr(one.model)),
            TableCell(one.rms.format(digits=2), numeric=True),
            TableCell(one.worst.format(digits=2), numeric=True),
            TableCell(Quantity(information(one), "count").format(digits=3), numeric=True),
            TableCell(phrase("fit.accepted") if one.accepted else " ".join(one.reasons)),
        ]
        for one in found
    ]
    return Table(phrase("fit.caption", count=len(found[0].points)), headings, rows)
