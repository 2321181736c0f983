"""``sistolica notebooks``: every chapter and lab as .ipynb, in each language."""

from pathlib import Path

import nbformat
from nbformat import NotebookNode
from rich.console import Console
from rich.progress import track

from graders.lab import lab_ids
from sistolica.languages import LANGUAGES
from sistolica.lesson import read_lesson
from sistolica.lesson.execute import execute
from sistolica.lesson.lab import lab_notebook
from sistolica.lesson.portable import page_notebook
from sistolica.project import Project


def write_notebooks(project: Project, out: Path, console: Console, lang: str | None = None) -> int:
    """Write ``OUT/<lang>/<slug>.ipynb`` for each page with cells, ``OUT/<lang>/labs/<id>.ipynb``; the exit status."""
    chosen = [language.code for language in LANGUAGES if lang in (None, language.code)]
    pages = [(code, slug) for code in chosen for slug in project.slugs(code)]
    written = 0
    for code, slug in track(pages, description="chapters", console=console, transient=True):
        lesson = read_lesson(project, slug, code)
        if lesson.shows_code:
            values = execute(lesson, project.build / "cells").values
            written += _write(out / code / f"{slug}.ipynb", page_notebook(project, lesson, values))
    for code in chosen:
        for lab in lab_ids(project.labs):
            written += _write(out / code / "labs" / f"{lab}.ipynb", lab_notebook(project, lab, code, "release"))
    console.print(f"{written} notebooks in {out}", soft_wrap=True, highlight=False)
    return 0


def _write(path: Path, notebook: NotebookNode) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    return 1
