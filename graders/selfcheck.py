"""The learner's own check, in their notebook: the grader's checks on published inputs.

Needs the standard library and numpy only, so that it runs wherever the notebook does::

    from graders.selfcheck import selfcheck
    check = selfcheck("matmul", globals())
    check("blocked")
"""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

from graders.explain import help_texts, points_text
from graders.judge import judge
from graders.lab import Lab, LabError, lab_ids, read_lab
from graders.learner import NamespaceLearner
from graders.markup import inline
from graders.phrases import phrase
from graders.report import ExerciseResult, Outcome
from graders.seed import PUBLISHED_SALT, generator
from tpu_kernels.messages import language


@dataclass(frozen=True)
class SelfCheck:
    """What a self-check found; a notebook shows it as a table, a terminal as text, in the language of that moment."""

    lab: Lab
    result: ExerciseResult
    lang: str

    @property
    def passed(self) -> bool:
        return self.result.fault is None and all(outcome.passed for outcome in self.result.outcomes)

    def __repr__(self) -> str:
        lines = [self._headline()]
        for outcome, advice in self._advised():
            lines.append(f"  {self._mark(outcome)}  {self._name(outcome)}  ({self._points(outcome)})")
            lines += [f"     {line}" for line in advice.splitlines()]
        return "\n".join([*lines, self._footnote()])

    def _repr_html_(self) -> str:
        rows = "".join(self._row(outcome, advice) for outcome, advice in self._advised())
        head = "".join(
            f'<th scope="col" style="{_CELL};white-space:nowrap">{escape(title)}</th>'
            for title in (phrase(f"selfcheck.{key}", lang=self.lang) for key in ("result", "criterion", "points"))
        )
        return (
            f'<div lang="{phrase("selfcheck.tag", lang=self.lang)}" style="max-width:48rem">'
            f'<table style="border-collapse:collapse;table-layout:auto;text-align:start;width:100%">'
            f'<caption style="text-align:start;padding:.4em 0"><strong>{escape(self._headline())}</strong></caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f'<p style="margin:.5em 0">{escape(self._footnote())}</p></div>'
        )

    def _row(self, outcome: Outcome, advice: str) -> str:
        shown = f'<p style="margin:.3em 0 0">{inline(advice)}</p>' if advice else ""
        return (
            f'<tr><td style="{_CELL};white-space:nowrap">{escape(self._mark(outcome))}</td>'
            f'<th scope="row" style="{_CELL};font-weight:normal">{inline(self._name(outcome))}{shown}</th>'
            f'<td style="{_CELL};white-space:nowrap">{escape(self._points(outcome))}</td></tr>'
        )

    def _headline(self) -> str:
        exercise = self.lab.exercises[self.result.exercise]
        if self.result.fault is not None:
            return phrase("selfcheck.fault", lang=self.lang, title=exercise.title[self.lang], fault=self.result.fault)
        return phrase(
            "selfcheck.headline",
            lang=self.lang,
            title=exercise.title[self.lang],
            score=points_text(self.result.score, self.lang),
            most=points_text(self.result.max_score, self.lang),
        )

    def _footnote(self) -> str:
        return phrase("selfcheck.passed" if self.passed else "selfcheck.not-yet", lang=self.lang)

    def _mark(self, outcome: Outcome) -> str:
        return phrase("selfcheck.right" if outcome.passed else "selfcheck.wrong", lang=self.lang)

    def _name(self, outcome: Outcome) -> str:
        return self.lab.criterion_name(self.result.exercise, outcome.criterion, self.lang)

    def _points(self, outcome: Outcome) -> str:
        return f"{points_text(outcome.points, self.lang)} / {points_text(outcome.max_points, self.lang)}"

    def _advised(self) -> list[tuple[Outcome, str]]:
        advice = help_texts(self.lab, self.result, self.lang)
        return list(zip(self.result.outcomes, advice, strict=True))


# The notebook's own colours are kept, light or dark: nothing here says a thing by colour.
_CELL = "padding:.4em .6em;border:1px solid currentColor;text-align:start;vertical-align:top;overflow-wrap:break-word"


def selfcheck(lab_id: str, namespace: dict[str, Any]) -> Callable[[str], SelfCheck]:
    """The function ``check(exercise)`` for a notebook whose names are ``namespace``.

    It raises nothing for a wrong answer. Raises :class:`~graders.lab.LabError` for an unknown lab or exercise.
    """
    if lab_id not in lab_ids():
        known = ", ".join(lab_ids())
        raise LabError(phrase("selfcheck.unknown-lab", lab=lab_id, known=known))
    lab = read_lab(lab_id)

    def check(exercise: str) -> SelfCheck:
        lang = language()
        if exercise not in lab.exercises:
            known = ", ".join(lab.exercises)
            raise LabError(phrase("selfcheck.unknown", lang=lang, exercise=exercise, known=known))
        rng = generator(lab.id, "", exercise, PUBLISHED_SALT)
        return SelfCheck(lab, judge(lab, exercise, NamespaceLearner(namespace), rng), lang)

    return check
