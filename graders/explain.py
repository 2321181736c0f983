"""An outcome in words, in the learner's language."""

from collections.abc import Mapping
from typing import Any

from graders.lab import Lab
from graders.learner_error import NOT_TRACED, RAISED, WRONG_TYPE
from graders.phrases import phrase
from graders.report import ExerciseResult, Outcome
from tpu_kernels.messages import decimal


def help_texts(lab: Lab, result: ExerciseResult, lang: str) -> list[str]:
    """For each outcome, why it failed and what to try; empty if it passed, and short if it repeats the one before."""
    said: list[str] = []
    shown: list[str] = []
    for outcome in result.outcomes:
        help_text = _help_text(lab, result.exercise, outcome, lang)
        repeated = help_text and help_text == (said[-1] if said else "")
        said.append(help_text)
        shown.append(phrase("explain.same", lang=lang) if repeated else help_text)
    return shown


def _help_text(lab: Lab, exercise: str, outcome: Outcome, lang: str) -> str:
    if outcome.passed:
        return ""
    if outcome.error is not None:
        return error_text(outcome.error, lang)
    if outcome.after is not None:
        first = lab.criterion_name(exercise, outcome.after, lang)
        return phrase("explain.after", lang=lang, criterion=first)
    if outcome.hint is None:
        return ""
    return lab.hint(exercise, outcome.hint, lang, outcome.values)


def error_text(error: Mapping[str, Any], lang: str) -> str:
    """What happened in the learner's code; with its own message and line where they are known."""
    kind, function = error["kind"], error["function"]
    if kind in (RAISED, NOT_TRACED):
        what = f"{error['type']}: {error['message']}" if error["message"] else error["type"]
        named = {"function": function, "what": what, "line": error["line"], "code": error["code"]}
        return phrase(f"error.{kind}-at" if error["code"] else f"error.{kind}", lang=lang, **named)
    if kind == WRONG_TYPE:
        return phrase("error.wrong-type", lang=lang, function=function, got=error["type"], wanted=error["message"])
    return phrase(f"error.{kind}", lang=lang, function=function)


def points_text(points: float, lang: str) -> str:
    """Points as the language writes them: ``1``, ``0,5``, ``2,25``."""
    return decimal(f"{points:.2f}".rstrip("0").rstrip("."), lang)
