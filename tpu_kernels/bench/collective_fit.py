"""Models of the times of each contestant, with their residuals, or why none holds."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from tpu_kernels.bench.collective_row import Row
from tpu_kernels.models.collective_cost import Fit, FitRefusedError, best_fit
from tpu_kernels.phrases import phrase

FORMS = ("out_of_place", "in_place")


class Fitted(NamedTuple):
    """A model of a contestant's times, or None, and why it does not hold; ``form``: which times."""

    contestant: str
    form: str
    fit: Fit | None
    refusal: str | None

    @property
    def accepted(self) -> Fit | None:
        """The model, if it holds."""
        return self.fit if self.refusal is None else None

    def __repr__(self) -> str:
        said = repr(self.fit) if self.refusal is None else self.refusal
        return phrase("collective_bench.fitted", contestant=self.contestant, form=form_title(self.form), said=said)

    def to_dict(self) -> dict[str, Any]:
        """``latency``: seconds of no bytes, which is alpha in a line; ``bandwidth``: bytes/s on the bus, the inverse of
        beta. Both of the whole collective, whatever its algorithm sends."""
        found = self.fit
        return {
            "contestant": self.contestant,
            "form": self.form,
            "accepted": self.refusal is None,
            "refusal": self.refusal,
            "model": found and found.model.name,
            "latency": found and float(found.model.seconds(0.0)),
            "bandwidth": found and float(found.model.bandwidth),
            "rms": found and float(found.rms),
            "residuals": found and list(found.residuals),
        }


def fitted(rows: Sequence[Row]) -> list[Fitted]:
    """The best model of each contestant that was timed: of its times out of place, or in place where it has no
    others."""
    found = []
    for name in dict.fromkeys(row.contestant for row in rows if not row.interpreted):
        mine = [row for row in rows if row.contestant == name]
        form = FORMS[mine[0].out_of_place is None]
        pairs = [(row.case.size, row.seconds) for row in mine if row.seconds is not None]
        collective, ranks = mine[0].case.collective, mine[0].case.ranks
        try:
            found.append(Fitted(name, form, best_fit(pairs, collective=collective, ranks=ranks), None))
        except FitRefusedError as refused:
            best = refused.fit
            why = phrase("collective_bench.no_model", model=best.model.title(), reasons=" ".join(best.reasons))
            found.append(Fitted(name, form, best, why))
        except ValueError as nothing:
            found.append(Fitted(name, form, None, str(nothing)))
    return found


def form_title(form: str) -> str:
    """What a form is called in the language in force."""
    return phrase("collective_bench.out_of_place") if form == FORMS[0] else phrase("collective_bench.in_place")
