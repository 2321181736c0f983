"""A lab as a notebook, from its cells and its prose: for the instructor, for the learner, and solved.

Cells are named as in a lesson; three kinds are told apart by what they hold. An *answer* has a solution region between
``### BEGIN SOLUTION`` and ``### END SOLUTION``; a *check* is called ``<exercise>-check`` and reads
``check("<exercise>")``; every other cell is the course's. The nbgrader metadata, and with it each ``grade_id``, is the
same in every language.
"""

import hashlib
import re
from collections.abc import Iterator

import nbformat
from nbformat import NotebookNode, v4

from graders.lab import CHECK_SUFFIX, Lab, read_lab
from graders.lab import lab_ids as ids_in
from graders.phrases import phrase
from sistolica.lesson.cells import Cell, read_cells
from sistolica.lesson.errors import LessonError
from sistolica.lesson.notebook import KERNELSPEC, match_cells
from sistolica.lesson.prose import Markdown, Placement, Prose, read_prose
from sistolica.project import Project
from tpu_kernels.messages import checked

FORMS = ("source", "release", "solution")
SETUP = "setup"

_BEGIN = re.compile(r"(?P<indent>\s*)### BEGIN SOLUTION\s*$")
_END = re.compile(r"\s*### END SOLUTION\s*$")


def lab_notebook(project: Project, lab_id: str, lang: str, form: str) -> NotebookNode:
    """The notebook of a lab in one language.

    ``form``: ``"source"`` is nbgrader's source, with solutions in their regions; ``"release"`` is what learners get;
    ``"solution"`` is solved, without the marks. Raises :class:`LessonError` when the lab's files disagree,
    :class:`~graders.lab.LabError` for an unknown lab, ``ValueError`` for an unknown form.
    """
    if form not in FORMS:
        raise ValueError(f"unknown form {form!r}: expected one of {', '.join(FORMS)}")
    lab = read_lab(lab_id, project.labs)
    cells = read_cells(lab.folder / "cells.py")
    prose = read_prose(lab.folder / f"{checked(lang)}.md")
    match_cells(prose, cells, lab.folder / "cells.py")
    _refuse_unmatched_exercises(lab, cells)
    notebook: NotebookNode = v4.new_notebook(
        metadata={
            "kernelspec": dict(KERNELSPEC),
            "language_info": {"name": "python"},
            "sistolica": {"lab": lab.id, "lang": lang},
        }
    )
    notebook.cells = list(_cells(lab, cells, prose, lang, form))
    nbformat.validate(notebook)
    return notebook


def lab_ids(project: Project) -> list[str]:
    """The ids of the project's labs, sorted."""
    return ids_in(project.labs)


def wrong_solutions(project: Project, lab_id: str) -> dict[str, dict[str, str]]:
    """The lab's wrong solutions by name: for each, the source of every cell that it replaces."""
    folder = read_lab(lab_id, project.labs).folder / "wrong"
    return {
        path.stem: {name: cell.source for name, cell in read_cells(path).items()}
        for path in sorted(folder.glob("*.py"))
    }


def handed_in(project: Project, lab_id: str, lang: str, answers: dict[str, str] | None = None) -> NotebookNode:
    """The notebook of a learner who answered as the reference does, except for the cells in ``answers``."""
    notebook = lab_notebook(project, lab_id, lang, "release")
    solved = {cell.id: cell.source for cell in lab_notebook(project, lab_id, lang, "solution").cells}
    wanted = {**solved, **(answers or {})}
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = wanted[cell.id]
    return notebook


def _refuse_unmatched_exercises(lab: Lab, cells: dict[str, Cell]) -> None:
    script = lab.folder / "cells.py"
    for key in lab.exercises:
        cell = cells.get(key + CHECK_SUFFIX)
        if cell is None:
            name = f'"# %% {key}{CHECK_SUFFIX}"'
            raise LessonError(script, 1, f"exercise {key!r} of lab.toml has no check cell", f"Add a cell {name}")
        if cell.source.strip() != f'check("{key}")':
            raise LessonError(
                script, cell.line, f"check cell reads {cell.source.strip()!r}", f'Write check("{key}") and nothing else'
            )
    for cell in cells.values():
        if cell.name.endswith(CHECK_SUFFIX) and lab.exercise_of(cell.name) is None:
            raise LessonError(
                script, cell.line, f"check cell {cell.name!r} belongs to no exercise", "Add the exercise to lab.toml"
            )


def _cells(lab: Lab, cells: dict[str, Cell], prose: Prose, lang: str, form: str) -> Iterator[NotebookNode]:
    for index, segment in enumerate(prose.segments):
        if isinstance(segment, Markdown):
            yield v4.new_markdown_cell(segment.text, id=f"prose-{index}")
        else:
            yield _code_cell(lab, cells[segment.cell], segment, lang, form)


def _code_cell(lab: Lab, cell: Cell, placement: Placement, lang: str, form: str) -> NotebookNode:
    source = cell.for_language(lang)
    if cell.name == SETUP:
        source = _speaking(source, lang)
    answer = any(_BEGIN.match(line) for line in source.split("\n"))
    exercise = lab.exercise_of(cell.name)
    node: NotebookNode = v4.new_code_cell(_in_form(cell, source, lang, form), id=cell.name)
    node.metadata = nbformat.from_dict(
        {
            "nbgrader": {
                "schema_version": 3,
                "grade_id": cell.name,
                "cell_type": "code",
                "grade": exercise is not None,
                "solution": answer,
                "locked": not answer,
                "task": False,
                **({"points": lab.exercises[exercise].points} if exercise is not None else {}),
            },
            "sistolica": {"cell": cell.name},
            **({"tags": list(placement.tags)} if placement.tags else {}),
        }
    )
    if form == "release":
        node.metadata["deletable"] = False
        if not answer:
            node.metadata["editable"] = False
        node.metadata.nbgrader["checksum"] = _checksum(node)
    return node


def _speaking(source: str, lang: str) -> str:
    """The set-up cell with the notebook's language set before the self-check is made."""
    before, made, after = source.partition("\n\ncheck = selfcheck(")
    return f'{before}\nfrom tpu_kernels import messages\n\nmessages.use("{lang}"){made[1:]}{after}'


def _in_form(cell: Cell, source: str, lang: str, form: str) -> str:
    if form == "source":
        return source
    kept: list[str] = []
    inside = False
    for line in source.split("\n"):
        begin = _BEGIN.match(line)
        if begin:
            if inside:
                raise LessonError(
                    cell.path, cell.line, f"cell {cell.name!r}: a solution region inside another", "End it"
                )
            inside = True
            if form == "release":
                stub = phrase("lab.stub", lang=lang).split("\n")
                kept += [begin["indent"] + stub_line for stub_line in stub]
        elif _END.match(line):
            if not inside:
                raise LessonError(
                    cell.path, cell.line, f"cell {cell.name!r}: END SOLUTION before any BEGIN", "Begin it"
                )
            inside = False
        elif not inside or form == "solution":
            kept.append(line)
    if inside:
        raise LessonError(
            cell.path, cell.line, f"cell {cell.name!r}: solution region never ends", "Add ### END SOLUTION"
        )
    return "\n".join(kept)


def _checksum(cell: NotebookNode) -> str:
    """nbgrader's own checksum of a cell, so that its tools take our release for theirs (0.9.6, ``utils.py``)."""
    about = cell.metadata.nbgrader
    locked = not about.solution and (about.grade or about.locked)
    parts = [cell.source, cell.cell_type, str(about.grade), str(about.solution), str(locked), about.grade_id]
    if about.grade:
        parts.append(str(float(about.points)))
    return hashlib.md5("".join(parts).encode("utf-8"), usedforsecurity=False).hexdigest()
