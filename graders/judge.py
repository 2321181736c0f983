"""Run the check of one exercise against a learner, and decide what of the result the learner may be shown."""

import builtins
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from graders.lab import Lab
from graders.learner import Learner
from graders.learner_error import NOT_TRACED, RAISED, WRONG_TYPE
from graders.report import ExerciseResult, Outcome, Report


def judge(lab: Lab, exercise: str, learner: Learner, rng: np.random.Generator) -> ExerciseResult:
    """The outcomes of ``exercise``. A fault of the check itself is in the result; it never stops the others."""
    report = Report(lab.exercises[exercise])
    try:
        with np.errstate(invalid="ignore"):  # their NaN where a number was asked for is a wrong answer, not a warning
            lab.checks[exercise](learner, rng, report)
        return report.result()
    except Exception as error:  # noqa: BLE001 - checks are content: whatever breaks in one is reported, not raised
        where = traceback.extract_tb(error.__traceback__)[-1]
        return report.result(fault=f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})")


def disclosed(result: ExerciseResult, cells: Iterable[str]) -> ExerciseResult:
    """``result`` without anything that the learner's code could have filled with a hidden input.

    Their exception's text goes; its type stays if it is a built-in one; a line stays if ``cells`` (the sources that
    ran) hold that very line there.
    """
    lines = {(number, line.strip()) for cell in cells for number, line in enumerate(cell.splitlines(), start=1)}
    return replace(result, outcomes=tuple(_disclosed(outcome, lines) for outcome in result.outcomes))


def _disclosed(outcome: Outcome, lines: set[tuple[int, str]]) -> Outcome:
    if outcome.error is None:
        return outcome
    error: Mapping[str, Any] = outcome.error
    known = (error["line"], error["code"]) in lines and error["code"]
    type_name, message = "", ""
    if error["kind"] in (RAISED, NOT_TRACED):
        found = getattr(builtins, error["type"], None)
        raised = isinstance(found, type) and issubclass(found, BaseException)
        type_name = error["type"] if raised else "Exception"
    elif error["kind"] == WRONG_TYPE:  # both names were found out on this side
        type_name, message = error["type"], error["message"]
    return replace(
        outcome,
        error={
            "kind": error["kind"],
            "function": error["function"],
            "type": type_name,
            "message": message,
            "line": error["line"] if known else 0,
            "code": error["code"] if known else "",
        },
    )
