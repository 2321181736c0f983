"""A stock nbgrader course of a lab: no preprocessor of ours, the learner's kernel judges itself.

There a test cell's value is its score, so it reads ``check("naive").result.score``: the same checks, called from the
learner's own kernel on the inputs of the self-check, which is what nbgrader runs and as much work as on hidden ones.
nbgrader has one source for all languages; ``OverwriteCells`` puts it in place of the test cells of every submission.
"""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from graders.lab import Lab
from sistolica.bench.cost import Cost, cost_of
from sistolica.bench.sample import Sample

NBGRADER = (sys.executable, "-m", "nbgrader")
# As with the environment activated: nbgrader starts alembic and its kernels by name.
_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "PATH": _PATH}


class StockError(Exception):
    """nbgrader could not be set up; its own words are in the text."""


class StockCourse:
    """A course in ``folder`` with these submissions handed in and nothing graded."""

    def __init__(self, folder: Path, lab: Lab, source: NotebookNode, samples: Iterable[Sample]) -> None:
        """Raises :class:`StockError`."""
        self.folder = folder
        self.lab = lab
        folder.mkdir(parents=True, exist_ok=True)
        _write(self._notebook("source", "."), judging_itself(lab, source))
        (folder / "nbgrader_config.py").write_text("c = get_config()\n", encoding="utf-8")
        cost, said = cost_of([*NBGRADER, "generate_assignment", lab.id], folder, ENVIRONMENT)
        if cost.status != 0:
            raise StockError(f"nbgrader generate_assignment ended with {cost.status}: {said[-500:]}")
        for one in samples:
            _write(self._notebook("submitted", one.learner), judging_itself(lab, one.notebook))

    def copy(self, folder: Path) -> "StockCourse":
        """The same course, as it is now, in another folder."""
        shutil.copytree(self.folder, folder)
        other = object.__new__(StockCourse)
        other.folder, other.lab = folder, self.lab
        return other

    def autograde(self, options: Sequence[str] = ()) -> Cost:
        """``nbgrader autograde``: of everybody, or as ``options`` say."""
        return cost_of([*NBGRADER, "autograde", self.lab.id, *options], self.folder, ENVIRONMENT)[0]

    def scores(self) -> dict[str, float]:
        """What nbgrader has graded by now."""
        with contextlib.closing(Gradebook(f"sqlite:///{self.folder / 'gradebook.db'}", "")) as gradebook:
            return {
                one.student.id: float(one.score)
                for one in gradebook.assignment_submissions(self.lab.id)
                if self._notebook("autograded", one.student.id).is_file()
            }

    def _notebook(self, step: str, student: str) -> Path:
        return self.folder / step / student / self.lab.id / f"{self.lab.id}.ipynb"


def judging_itself(lab: Lab, notebook: NotebookNode) -> NotebookNode:
    """``notebook`` with test cells whose value is their score."""
    judging: NotebookNode = nbformat.from_dict(notebook)
    for cell in judging.cells:
        if lab.exercise_of(cell.metadata.get("nbgrader", {}).get("grade_id", "")) is not None:
            cell.source += ".result.score"
    return judging


def _write(path: Path, notebook: NotebookNode) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
