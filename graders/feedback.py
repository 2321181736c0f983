"""One HTML page per learner, in their language: points, hints, and what their own cells showed, made harmless.

The page has no script, no link and no outside asset, and says so to the browser (Content-Security-Policy), which takes
no style but the page's own. It is made from structured results and message keys; nothing of the judge's inputs or tests
is at hand here.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from nbformat import NotebookNode

from graders.explain import help_texts, points_text
from graders.lab import Lab
from graders.learner_error import DIED
from graders.markup import inline
from graders.phrases import phrase
from graders.rebuild import ANSWER, EXTRA
from graders.report import ExerciseResult
from graders.sanitised import harmless

_CELL_FILE = re.compile(r"\((?:\d+\.py|<ipython-input-[^>]*>), line (?P<line>\d+)\)")
_INCIDENTS = ("timeout", "flood", "died", "memory", "not-run")  # an error is one too, in an answer cell


@dataclass(frozen=True)
class Feedback:
    """What one learner is told. ``refusal`` says why nothing could be graded, or is empty."""

    learner: str
    lang: str
    score: float
    results: Sequence[ExerciseResult] = ()
    notices: Sequence[str] = ()
    refusal: str = ""
    notebook: NotebookNode | None = None

    def page(self, lab: Lab) -> str:
        """The whole HTML document."""

        def say(key: str, **values: object) -> str:
            return phrase(key, lang=self.lang, **values)

        cells = list(_shown_cells(self.notebook, self.lang)) if self.notebook is not None else []
        return _template().render(
            say=say,
            style=Markup(_style()),
            style_hash=f"sha256-{base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()}",
            points=lambda value: points_text(value, self.lang),
            inline=lambda message: Markup(inline(message)),
            title=say("feedback.title", lab=lab.title[self.lang], learner=self.learner),
            score=self.score,
            most=lab.points,
            refusal=self.refusal,
            notices=self.notices,
            exercises=[_exercise(lab, result, self.lang) for result in self.results],
            cells=cells,
        )


def incidents(notebook: NotebookNode, results: Sequence[ExerciseResult], lang: str) -> list[str]:
    """A sentence for each cell that was stopped, was not run, ended the kernel, or was to answer and failed.

    And one for the functions that ended the kernel when they were called.
    """
    said = []
    for cell in notebook.cells:
        about = cell.metadata.get("sistolica", {})
        status, name = about.get("status"), _cell_name(cell, lang)
        if status in _INCIDENTS:
            said.append(phrase(f"cell.{status}", lang=lang, cell=name))
        elif status == "error" and about.get("from") == ANSWER:
            errors = [output for output in cell.outputs if output.output_type == "error"]
            what = f"{errors[-1].ename}: {errors[-1].evalue}" if errors else "?"
            # A syntax error names the file that the kernel made of the cell; its line is what helps.
            what = _CELL_FILE.sub(lambda at: phrase("cell.line", lang=lang, line=at["line"]), what)
            said.append(phrase("cell.error", lang=lang, cell=name, what=what))
    errors_in = [outcome.error for result in results for outcome in result.outcomes if outcome.error]
    fell = dict.fromkeys(error["function"] for error in errors_in if error["kind"] == DIED)
    ended = any(cell.metadata.get("sistolica", {}).get("status") in ("died", "memory") for cell in notebook.cells)
    if fell and not ended:
        said.append(phrase("notice.fell", lang=lang, functions=", ".join(f"`{function}`" for function in fell)))
    return said


def _exercise(lab: Lab, result: ExerciseResult, lang: str) -> dict[str, Any]:
    return {
        "title": lab.exercises[result.exercise].title[lang],
        "score": result.score,
        "most": result.max_score,
        "fault": result.fault,
        "criteria": [
            {
                "name": lab.criterion_name(result.exercise, outcome.criterion, lang),
                "passed": outcome.passed,
                "points": outcome.points,
                "most": outcome.max_points,
                "help": "" if result.fault else help_text,
            }
            for outcome, help_text in zip(result.outcomes, help_texts(lab, result, lang), strict=True)
        ],
    }


def _shown_cells(notebook: NotebookNode, lang: str) -> Iterator[dict[str, Any]]:
    for cell in notebook.cells:
        if cell.metadata.get("sistolica", {}).get("from") not in (ANSWER, EXTRA):
            continue
        outputs = [shown for output in cell.outputs if (shown := _shown_output(output))]
        if outputs:
            yield {"name": _cell_name(cell, lang), "outputs": outputs}


def _cell_name(cell: NotebookNode, lang: str) -> str:
    if cell.metadata.get("sistolica", {}).get("from") == EXTRA:
        return phrase("cell.extra", lang=lang, number=cell.id.removeprefix("extra-"))
    return str(cell.id)


def _shown_output(output: NotebookNode) -> dict[str, Any] | None:
    """``kind`` (``text``, ``image`` or ``html``) and ``value``, or ``None`` for an output with nothing to show."""
    if output.output_type == "stream":
        return {"kind": "text", "value": output.text}
    if output.output_type == "error":
        trace = "\n".join(output.traceback)
        return {"kind": "text", "value": trace or f"{output.ename}: {output.evalue}"}
    data = output.get("data", {})
    for mime in ("image/png", "image/jpeg"):
        if mime in data:
            return {"kind": "image", "value": f"data:{mime};base64,{''.join(data[mime].split())}"}
    if "text/html" in data:
        cleaned = harmless(data["text/html"])
        if cleaned.strip():
            return {"kind": "html", "value": Markup(cleaned)}
    return {"kind": "text", "value": data["text/plain"]} if data.get("text/plain") else None


@cache
def _style() -> str:
    return Path(__file__).with_name("feedback.css").read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.from_string(Path(__file__).with_name("feedback.html.j2").read_text(encoding="utf-8"))
