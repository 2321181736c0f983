"""The grader is graded, on every lab and in both languages, by the whole command.

The reference earns everything, no answer and a syntax error nothing, each wrong solution loses what its header says and
gets the hints that its header names: keys of the lab's messages, or of the grader's where the code itself failed.
"""

import csv
import html
import io
import json
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from rich.console import Console

from graders.lab import Lab, lab_ids, read_lab
from graders.phrases import phrase
from sistolica.commands.grade import ALL_GRADED, grade
from sistolica.lesson.lab import handed_in, lab_notebook, wrong_solutions
from sistolica.project import find_project
from tpu_kernels.messages import LANGUAGES

PROJECT = find_project(Path(__file__))
LABS = lab_ids(PROJECT.labs)
EVERYWHERE = ("reference", "nothing", "no-syntax")
WRONG = [(lab, name) for lab in LABS for name in wrong_solutions(PROJECT, lab)]

each_lab = pytest.mark.parametrize("lab_id", LABS)
each_wrong = pytest.mark.parametrize(("lab_id", "name"), WRONG)
each_language = pytest.mark.parametrize("lang", LANGUAGES)


@dataclass(frozen=True)
class Said:
    """What the header of a wrong solution says."""

    score: float
    fails: frozenset[str]
    hints: frozenset[str]

    @classmethod
    def by(cls, lab_id: str, name: str) -> "Said":
        text = (PROJECT.labs / lab_id / "wrong" / f"{name}.py").read_text(encoding="utf-8")
        header = dict(re.findall(r"^# (why|score|fails|hints): (.+)$", text, re.MULTILINE))
        assert header["why"]
        return cls(float(header["score"]), *(frozenset(header[key].split(", ")) for key in ("fails", "hints")))


@dataclass(frozen=True)
class Graded:
    """What the whole command made of all of a lab's solutions."""

    lab: Lab
    status: int
    out: Path
    rows: dict[str, dict[str, str]]

    def page(self, learner: str) -> str:
        return (self.out / "feedback" / f"{learner}.html").read_text(encoding="utf-8")

    def outcomes(self, learner: str) -> list[tuple[str, dict]]:
        """Exercise and outcome of each criterion."""
        path = self.out / "gradebook" / "autograded" / learner / self.lab.id / f"{self.lab.id}.ipynb"
        results = json.loads(path.read_text(encoding="utf-8"))["metadata"]["sistolica"]["results"]
        return [(result["exercise"], outcome) for result in results for outcome in result["outcomes"]]


def criteria(lab: Lab) -> dict[str, float]:
    return {f"{key}.{name}": worth for key, one in lab.exercises.items() for name, worth in one.criteria.items()}


def answers_of(lab_id: str, name: str) -> dict[str, str]:
    release = lab_notebook(PROJECT, lab_id, "es", "release")
    cells = [cell.id for cell in release.cells if cell.metadata.get("nbgrader", {}).get("solution")]
    if name == "nothing":
        return dict.fromkeys(cells, "")
    if name == "no-syntax":
        return dict.fromkeys(cells, "x = 1\ny = x)\n")
    return {} if name == "reference" else wrong_solutions(PROJECT, lab_id)[name]


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """By lab, everything handed in in both languages; each lab is graded when it is first asked for."""
    found: dict[str, Graded] = {}

    def of(lab_id: str) -> Graded:
        if lab_id not in found:
            folder, out = (tmp_path_factory.mktemp(name) for name in ("entregas", "notas"))
            for lang in LANGUAGES:
                for name in (*EVERYWHERE, *wrong_solutions(PROJECT, lab_id)):
                    path = folder / f"{name}.{lang}" / f"{lab_id}.ipynb"
                    path.parent.mkdir()
                    notebook = handed_in(PROJECT, lab_id, lang, answers_of(lab_id, name))
                    path.write_text(nbformat.writes(notebook), encoding="utf-8")
            console = Console(file=io.StringIO())
            status = grade(PROJECT, folder, lab_id, out, console, console, lang="es", workers=2, backend="cpu")
            with (out / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
                rows = {row["learner"]: row for row in csv.DictReader(file)}
            found[lab_id] = Graded(read_lab(lab_id, PROJECT.labs), status, out, rows)
        return found[lab_id]

    return of


@each_lab
def test_everything_is_graded(graded, lab_id):
    assert graded(lab_id).status == ALL_GRADED
    assert len(graded(lab_id).rows) == len(LANGUAGES) * (len(EVERYWHERE) + len(wrong_solutions(PROJECT, lab_id)))


@each_lab
def test_there_are_wrong_solutions_and_every_criterion_is_failed_by_some(lab_id):
    found = wrong_solutions(PROJECT, lab_id)
    assert len(found) >= 8
    some = [name for name, answers in found.items() if set(answers) != set(answers_of(lab_id, "nothing"))]
    assert frozenset.union(*(Said.by(lab_id, name).fails for name in some)) == set(
        criteria(read_lab(lab_id, PROJECT.labs))
    )


@each_wrong
def test_headers_add_up(lab_id, name):
    lab, said = read_lab(lab_id, PROJECT.labs), Said.by(lab_id, name)
    worth = criteria(lab)
    assert said.fails <= set(worth)
    assert said.score == lab.points - sum(worth[criterion] for criterion in said.fails)


@each_lab
@each_language
def test_the_reference_earns_everything(graded, lab_id, lang):
    row = graded(lab_id).rows[f"reference.{lang}"]
    assert (float(row["score"]), float(row["max_score"])) == (graded(lab_id).lab.points,) * 2
    assert (row["status"], row["message"], row["language"]) == ("ok", "", lang)


@each_lab
@each_language
def test_no_answer_earns_nothing(graded, lab_id, lang):
    row = graded(lab_id).rows[f"nothing.{lang}"]
    assert (row["score"], row["status"], row["language"]) == ("0", "ok", lang)


@each_lab
@each_language
def test_a_syntax_error_earns_nothing_and_its_line_is_named(graded, lab_id, lang):
    row = graded(lab_id).rows[f"no-syntax.{lang}"]
    assert (row["score"], row["status"], row["language"]) == ("0", "ok", lang)
    page = text_of(graded(lab_id).page(f"no-syntax.{lang}"))
    line = phrase("cell.line", lang=lang, line=2)
    for cell in answers_of(lab_id, "no-syntax"):
        what = f"SyntaxError: unmatched ')' {line}"
        assert phrase("cell.error", lang=lang, cell=cell, what=what) in page


@each_wrong
@each_language
def test_each_wrong_solution_fails_the_right_criteria(graded, lab_id, name, lang):
    found, said = graded(lab_id), Said.by(lab_id, name)
    row, worth = found.rows[f"{name}.{lang}"], criteria(found.lab)
    assert (float(row["score"]), row["status"], row["language"]) == (said.score, "ok", lang)
    for key, exercise in found.lab.exercises.items():
        lost = sum(worth[one] for one in said.fails if one.startswith(f"{key}."))
        assert float(row[key]) == exercise.points - lost
    marks = re.findall(r'<td class="(good|bad)">', found.page(f"{name}.{lang}"))
    assert marks == ["bad" if criterion in said.fails else "good" for criterion in worth]


@each_wrong
@each_language
def test_each_wrong_solution_gets_the_right_hint(graded, lab_id, name, lang):
    found, said = graded(lab_id), Said.by(lab_id, name)
    failed = [(key, outcome) for key, outcome in found.outcomes(f"{name}.{lang}") if outcome["points"] == 0]
    advice = {
        f"error.{outcome['error']['kind']}" if outcome["error"] else f"{key}.{outcome['hint']}"
        for key, outcome in failed
        if outcome["after"] is None  # else: see to that one first
    }
    assert advice == said.hints
    page = text_of(found.page(f"{name}.{lang}"))
    for key in said.hints:
        catalogue = phrase if key in phrase.entries else found.lab.phrase
        for part in re.split(r"\{[^}]*\}", catalogue.entries[key][lang].replace("`", "")):
            assert part in page


def text_of(page: str) -> str:
    """What a reader reads: marks around code are tags there."""
    return html.unescape(re.sub("<[^>]+>", "", page))
