"""What a check writes: which criteria hold, what they are worth, and the hint for each that does not.

A check for a new exercise::

    def blocked(learner, rng, report):
        a, b = rng.random((5, 7)), rng.random((7, 3))
        with report.criterion("edges") as edges:
            got = learner.call("blocked_matmul", a, b, 4)
            edges.require(got.shape == (5, 3), hint="shape-hint")
            edges.require(np.allclose(got, a @ b))

An unmet requirement, or an error in the learner's code, ends its criterion only; the next one is still tried.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from graders.lab import Exercise
from graders.learner_error import LearnerError


class CheckError(Exception):
    """A check that is itself wrong: an unknown criterion, or one used twice. The instructor hears of it."""


@dataclass(frozen=True)
class Outcome:
    """One criterion: ``hint`` is a message key of the lab with ``values``; ``error`` what the learner's code did.

    ``after`` is another criterion that failed and has to hold first, when that is the better advice.
    """

    criterion: str
    points: float
    max_points: float
    hint: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    error: Mapping[str, Any] | None = None
    after: str | None = None

    @property
    def passed(self) -> bool:
        return self.points == self.max_points


@dataclass(frozen=True)
class ExerciseResult:
    """An exercise's outcomes; ``fault`` is set when the check itself failed, which is nobody's wrong answer."""

    exercise: str
    outcomes: tuple[Outcome, ...]
    fault: str | None = None

    @property
    def score(self) -> float:
        return sum(outcome.points for outcome in self.outcomes)

    @property
    def max_score(self) -> float:
        return sum(outcome.max_points for outcome in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data, to travel in the graded notebook."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "ExerciseResult":
        outcomes = tuple(Outcome(**outcome) for outcome in data["outcomes"])
        return cls(data["exercise"], outcomes, data["fault"])


class _UnmetError(Exception):
    def __init__(self, hint: str, values: Mapping[str, str]) -> None:
        self.hint = hint
        self.values = values


class Criterion:
    """Inside ``with report.criterion(…)``: states what must hold."""

    def __init__(self, key: str) -> None:
        self.key = key

    def require(self, holds: bool, hint: str | None = None, **values: str) -> None:
        """End the criterion as failed unless ``holds``.

        ``hint``: a key in the exercise's table of the lab's messages, by default the criterion's own (``edges-hint``).
        ``values`` fill its placeholders. They reach the learner: never put a hidden input or an expected value in.
        """
        if not holds:
            raise _UnmetError(hint or f"{self.key}-hint", values)


class Report:
    """Collects the outcomes of one exercise."""

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        self._outcomes: dict[str, Outcome] = {}

    @contextmanager
    def criterion(self, key: str, after: str | None = None) -> Iterator[Criterion]:
        """Full points for the criterion if the block ends, none if a requirement or the learner's code fails in it.

        ``after``: an earlier criterion. If that one failed too, the learner is sent there first.
        """
        if key not in self.exercise.criteria:
            known = ", ".join(self.exercise.criteria)
            raise CheckError(f"exercise {self.exercise.key!r} has no criterion {key!r}: expected one of {known}")
        if key in self._outcomes:
            raise CheckError(f"criterion {key!r} of exercise {self.exercise.key!r} is checked twice")
        if after is not None and after not in self._outcomes:
            raise CheckError(f"criterion {key!r} comes after {after!r}, which has not been checked")
        first = after if after is not None and not self._outcomes[after].passed else None
        worth = self.exercise.criteria[key]
        failed = Outcome(key, 0.0, worth, hint=f"{key}-hint")
        self._outcomes[key] = failed  # also what stands if the check itself breaks inside
        try:
            yield Criterion(key)
        except _UnmetError as unmet:
            self._outcomes[key] = Outcome(key, 0.0, worth, hint=unmet.hint, values=unmet.values, after=first)
        except LearnerError as error:
            self._outcomes[key] = Outcome(key, 0.0, worth, error=error.to_dict())
        else:
            self._outcomes[key] = Outcome(key, worth, worth)

    def result(self, fault: str | None = None) -> ExerciseResult:
        """The outcomes in the lab's order; after a ``fault`` of the check, what it did not reach has not passed.

        Raises :class:`CheckError` for a criterion never looked at when there was no fault.
        """
        missing = [key for key in self.exercise.criteria if key not in self._outcomes]
        if missing and fault is None:
            raise CheckError(f"exercise {self.exercise.key!r}: its check never looks at {', '.join(missing)}")
        outcomes = tuple(
            self._outcomes.get(key) or Outcome(key, 0.0, worth, hint=f"{key}-hint")
            for key, worth in self.exercise.criteria.items()
        )
        return ExerciseResult(self.exercise.key, outcomes, fault)
