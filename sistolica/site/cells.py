"""Lessons inside Sphinx: each page is read by the lesson model, run, and handed to MyST-NB as a finished notebook."""

from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging

from sistolica.lesson import LessonError, read_lesson
from sistolica.lesson.execute import execute, library_files
from sistolica.lesson.portable import page_notebook
from sistolica.project import Project, find_project

_DOWNLOAD = "sistolica_notebook"

logger = logging.getLogger(__name__)


def read_notebook(source: str) -> NotebookNode:
    """MyST-NB's reader for our pages: by then the source is a notebook already, see :func:`place_cells`."""
    notebook: NotebookNode = nbformat.reads(source, as_version=4)
    return notebook


def project_of(app: Sphinx) -> Project:
    return find_project(Path(app.srcdir))


def slug_of(app: Sphinx, docname: str) -> str:
    """The page's slug, the same whether a language's folder or the whole project is Sphinx's source folder."""
    tree = project_of(app).book / app.config.sistolica_language
    return Path(app.env.doc2path(docname)).resolve().relative_to(tree).with_suffix("").as_posix()


def place_cells(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace a page's text by its executed notebook; a :class:`LessonError` stops the build."""
    project = project_of(app)
    slug = slug_of(app, docname)
    try:
        lesson = read_lesson(project, slug, app.config.sistolica_language, source[0])
        if lesson.cells:
            logger.info("running the %d cells of %s", len(lesson.cells), docname)
        executed = execute(lesson, project.build / "cells")
        if lesson.shows_code:
            _write_download(app, docname, page_notebook(project, lesson, executed.values))
    except LessonError as error:
        raise ExtensionError(str(error), modname="sistolica") from None
    for path in (project.lessons / f"{slug}.py", project.lessons / f"{slug}.quiz.toml", *library_files()):
        app.env.note_dependency(str(path))
    app.env.temp_data["sistolica_lesson"] = lesson
    app.env.temp_data["sistolica_values"] = executed.values
    source[0] = nbformat.writes(executed.notebook)


def _write_download(app: Sphinx, docname: str, notebook: NotebookNode) -> None:
    address = f"notebooks/{docname}.ipynb"
    target = Path(app.outdir) / address
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    app.env.metadata[docname][_DOWNLOAD] = address


def offer_download(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Tell the templates where the page's notebook is, if it has one."""
    context["course_notebook"] = app.env.metadata.get(pagename, {}).get(_DOWNLOAD)


def setup(app: Sphinx) -> None:
    app.connect("source-read", place_cells)
    app.connect("html-page-context", offer_download, priority=100)
