"""``sistolica labs release``: what learners get, per language. ``sistolica labs check``: their self-check from outside.

Exit status: 0 written, or every criterion holds; 1 some criterion does not; 2 the command was wrong.
"""

import json
from pathlib import Path

import nbformat
from rich.console import Console
from rich.markup import escape

from graders.execute import execute
from graders.kernel import KernelRunner
from graders.lab import lab_ids, read_lab
from graders.notebook_file import UnreadableNotebookError, read_notebook
from graders.phrases import phrase
from graders.rebuild import rebuild
from graders.seed import PUBLISHED_SALT
from graders.selfcheck import SelfCheck
from sistolica.lesson.lab import lab_notebook
from sistolica.project import Project
from tpu_kernels import messages

MANIFEST = "release.json"  # what this command wrote into a folder, so that it may write there again


def release(
    project: Project,
    out: Path,
    console: Console,
    complaints: Console,
    lab_id: str | None = None,
    lang: str | None = None,
) -> int:
    """Write ``OUT/<lang>/<lab>/<lab>.ipynb`` for every lab (or one) in each language (or one); the exit status."""
    if lang is not None and lang not in messages.LANGUAGES:
        return _refuse(complaints, phrase("grade.language", got=lang, known=", ".join(messages.LANGUAGES)))
    known = lab_ids(project.labs)
    if lab_id is not None and lab_id not in known:
        return _refuse(complaints, phrase("grade.lab", lang=lang, got=lab_id, known=", ".join(known)))
    if out.exists() and not out.is_dir():
        return _refuse(complaints, phrase("grade.out", lang=lang, out=out))
    if out.is_dir() and any(out.iterdir()) and not (out / MANIFEST).is_file():
        return _refuse(complaints, phrase("release.refused", lang=lang, out=out))
    chosen = [code for code in messages.LANGUAGES if lang in (None, code)]
    notebooks = {
        f"{code}/{lab}/{lab}.ipynb": lab_notebook(project, lab, code, "release")
        for code in chosen
        for lab in known
        if lab_id in (None, lab)
    }
    for place, notebook in notebooks.items():
        path = out / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    _remember(out / MANIFEST, list(notebooks))
    console.print(
        escape(phrase("release.done", lang=lang, count=len(notebooks), out=out)), soft_wrap=True, highlight=False
    )
    return 0


def check(
    project: Project,
    notebook: Path,
    console: Console,
    complaints: Console,
    lab_id: str | None = None,
    lang: str | None = None,
) -> int:
    """Run ``notebook`` as handed in and say what its self-checks would; the exit status.

    ``lab_id`` and ``lang`` are read from the notebook where they are not given.
    """
    if lang is not None and lang not in messages.LANGUAGES:
        return _refuse(complaints, phrase("grade.language", got=lang, known=", ".join(messages.LANGUAGES)))
    try:
        submitted = read_notebook(notebook.read_bytes())
        lab = lab_id or submitted.lab or ""
        if lab not in lab_ids(project.labs):
            return _refuse(complaints, phrase("grade.lab", lang=lang, got=lab, known=", ".join(lab_ids(project.labs))))
        masters = {code: lab_notebook(project, lab, code, "release") for code in messages.LANGUAGES}
        rebuilt = rebuild(masters, submitted, lang or messages.language())
    except UnreadableNotebookError as refusal:
        reason = phrase(f"status.{refusal.status}", lang=lang, **refusal.values)
        return _refuse(complaints, f"{notebook}: {reason}")
    except OSError as error:
        return _refuse(complaints, phrase("release.unreadable", lang=lang, path=notebook, reason=error.strerror))
    runner = KernelRunner()
    try:
        found = read_lab(lab, project.labs)
        done = execute(rebuilt.notebook, found, "", PUBLISHED_SALT, runner, rebuilt.lang, published=True)
    finally:
        runner.close()
    shown = [SelfCheck(found, result, lang or rebuilt.lang) for result in done.results]
    console.print(escape("\n\n".join(map(repr, shown))), soft_wrap=True, highlight=False)
    return 0 if all(one.passed for one in shown) else 1


def _remember(manifest: Path, written: list[str]) -> None:
    try:
        before = json.loads(manifest.read_text(encoding="utf-8"))["files"]
    except (FileNotFoundError, ValueError, LookupError, TypeError):  # the first time, or one that was cut short
        before = []
    manifest.write_text(json.dumps({"files": sorted({*before, *written})}, indent=2) + "\n", encoding="utf-8")


def _refuse(complaints: Console, message: str) -> int:
    complaints.print(escape(message), soft_wrap=True, highlight=False)
    return 2
