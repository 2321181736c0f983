"""``sistolica notebooks``: every chapter and lab as .ipynb, in each language; what somebody has worked on is kept."""

import hashlib
import json
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from rich.console import Console
from rich.markup import escape
from rich.progress import track

from graders.lab import lab_ids
from sistolica.languages import LANGUAGES
from sistolica.lesson import read_lesson
from sistolica.lesson.execute import execute
from sistolica.lesson.lab import lab_notebook
from sistolica.lesson.portable import page_notebook
from sistolica.phrases import phrase
from sistolica.project import Project


def write_notebooks(project: Project, out: Path, console: Console, lang: str | None = None) -> int:
    """Write ``OUT/<lang>/<slug>.ipynb`` for each page with cells, ``OUT/<lang>/labs/<id>.ipynb``; the exit status.

    A notebook that is there already and whose text or code is no longer what this command wrote stays, and is named.
    """
    chosen = [language.code for language in LANGUAGES if lang in (None, language.code)]
    pages = [(code, slug) for code in chosen for slug in project.slugs(code)]
    made: dict[Path, NotebookNode] = {}
    for code, slug in track(pages, description="chapters", console=console, transient=True):
        lesson = read_lesson(project, slug, code)
        if lesson.shows_code:
            values = execute(lesson, project.build / "cells").values
            made[out / code / f"{slug}.ipynb"] = page_notebook(project, lesson, values)
    for code in chosen:
        for lab in lab_ids(project.labs):
            made[out / code / "labs" / f"{lab}.ipynb"] = lab_notebook(project, lab, code, "release")
    kept = [path for path in made if path.exists() and _worked_on(path)]
    written = [path for path in made if path not in kept]
    for path in written:
        _write(path, made[path])
    for path in kept:
        _say(console, phrase("notebook.kept", lang=lang, path=path))
    _say(console, phrase("notebook.written", lang=lang, count=len(written), out=out))
    return 0


def _worked_on(path: Path) -> bool:
    """Whether the cells are others than those that were written; that they ran, or were saved again, is no matter."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        return bool(notebook["metadata"]["sistolica"]["written"] != _digest(notebook["cells"]))
    except (ValueError, LookupError, TypeError):  # not one of ours, or not any more
        return True


def _write(path: Path, notebook: NotebookNode) -> None:
    notebook.metadata["sistolica"]["written"] = _digest(notebook.cells)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def _digest(cells: list[NotebookNode]) -> str:
    texts = ["".join(cell["source"]) for cell in cells]  # a list of lines in the file, one text in memory
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _say(console: Console, message: str) -> None:
    console.print(escape(message), soft_wrap=True, highlight=False)
