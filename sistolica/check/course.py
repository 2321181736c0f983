"""What there is to check: the pairs of pages, their scripts and quizzes, and every file of both languages.

Born of a course whose lint looked at 32 of its 78 files because of a pattern in a script: here a file that no check
reads is a fault. It cannot see content outside book/, lessons/, labs/ and the packages' messages.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sistolica.check.fault import Findings
from sistolica.project import Project
from tpu_kernels.messages import LANGUAGES

_NOT_OURS = ("tests",)


@dataclass(frozen=True)
class Pair:
    """One page in every language with what it places; ``script`` and ``quiz`` need not exist.

    ``notebook_only`` marks a lab, whose prose is no page of the site.
    """

    name: str
    pages: dict[str, Path]
    script: Path
    quiz: Path | None
    notebook_only: bool = False


def chapter_pairs(project: Project, findings: Findings) -> list[Pair]:
    """The pages of the book that both languages have. A file of one language only is a fault."""
    trees = {language: _files(project.book / language) for language in LANGUAGES}
    names = sorted(set().union(*trees.values()))
    if not names:
        findings.add(
            "files",
            project.book,
            1,
            got="no page in any language",
            expected="a book",
            cure="Write one, or check the path",
        )
    pairs = []
    for name in names:
        paths = {language: project.book / language / name for language in LANGUAGES}
        if _both(paths, findings) and _readable(project.book / LANGUAGES[0] / name, findings):
            slug = name.removesuffix(".md")
            quiz = project.lessons / f"{slug}.quiz.toml"
            pairs.append(Pair(slug, paths, project.lessons / f"{slug}.py", quiz))
    _refuse_orphans(project, {name.removesuffix(".md") for name in names}, findings)
    return pairs


def lab_pairs(project: Project, findings: Findings) -> list[Pair]:
    """The prose of every lab."""
    pairs = []
    for folder in sorted(path.parent for path in project.labs.glob("*/lab.toml")):
        paths = {language: folder / f"{language}.md" for language in LANGUAGES}
        if _both(paths, findings):
            pairs.append(Pair(f"labs/{folder.name}", paths, folder / "cells.py", None, notebook_only=True))
    return pairs


def message_files(project: Project) -> list[Path]:
    """Every catalogue of messages outside the tests."""
    return sorted(
        path
        for folder in project.root.iterdir()
        if folder.is_dir() and not folder.name.startswith((".", "_")) and folder.name not in _NOT_OURS
        for path in folder.rglob("messages.toml")
    )


def _files(tree: Path) -> set[str]:
    return {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}


def _both(paths: dict[str, Path], findings: Findings) -> bool:
    found = [path for path in paths.values() if path.is_file()]
    if len(found) == len(paths):
        return True
    for path in paths.values():
        if path not in found:
            findings.add(
                "files",
                path,
                1,
                got="no such file",
                expected=f"the peer of {', '.join(map(findings.name, found))}" if found else "the prose of this lab",
                cure="Write it: both languages have the same files",
            )
    return False


def _readable(path: Path, findings: Findings) -> bool:
    if path.suffix == ".md":
        return True
    if path.suffix in (".ipynb", ".rst"):
        findings.add(
            "files", path, 1, got=f"a page in {path.suffix}", expected="MyST Markdown", cure="Rewrite it as .md"
        )
    return False


def _refuse_orphans(project: Project, slugs: set[str], findings: Findings) -> None:
    """A script or a quiz without its page, and a page that lies outside both trees."""
    for path, slug in _lesson_files(project):
        if slug not in slugs:
            findings.add(
                "files",
                path,
                1,
                got=f"no page {slug}.md in any language",
                expected=f"book/{{{','.join(LANGUAGES)}}}/{slug}.md",
                cure="Write the prose, or remove this file",
            )
    for path in sorted(project.book.rglob("*")):
        inside = path.relative_to(project.book).parts[0] in LANGUAGES
        if path.suffix in (".md", ".ipynb", ".rst") and not inside:
            findings.add(
                "files",
                path,
                1,
                got="a page outside the languages' trees",
                expected=f"book/{{{','.join(LANGUAGES)}}}/…",
                cure="Move it into both trees",
            )


def _lesson_files(project: Project) -> Iterator[tuple[Path, str]]:
    for path in sorted(project.lessons.rglob("*")):
        if path.suffix in (".py", ".toml") and path.is_file():
            slug = path.relative_to(project.lessons).as_posix()
            yield path, slug.removesuffix(path.suffix).removesuffix(".quiz")
