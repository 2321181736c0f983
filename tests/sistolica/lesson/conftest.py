"""A course of one page, written into a temporary folder."""

from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

import pytest

from sistolica.lesson import Lesson, read_lesson
from sistolica.project import Project


@dataclass
class Author:
    """Writes the files of a page and reads them back as a lesson."""

    project: Project
    slug: str = "part/page"
    langs: tuple[str, ...] = field(default=("es", "pt"))

    def script(self, text: str, suffix: str = ".py") -> Path:
        path = self.project.lessons / f"{self.slug}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    def quiz(self, text: str) -> Path:
        return self.script(text, ".quiz.toml")

    def prose(self, text: str) -> None:
        for lang in self.langs:
            path = self.project.prose(lang, self.slug)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")

    def cells(self, *cells: str, prose: str = "") -> "Author":
        """A script of cells ``one``, ``two``, … and a page that places each, after ``prose``."""
        names = ["one", "two", "three", "four"][: len(cells)]
        self.script("\n\n".join(f"# %% {name}\n{dedent(code)}" for name, code in zip(names, cells, strict=True)))
        self.prose(prose + "".join(f"\n```{{code-cell}}\n:cell: {name}\n```\n" for name in names))
        return self

    def lesson(self, lang: str = "es") -> Lesson:
        return read_lesson(self.project, self.slug, lang)


@pytest.fixture
def author(tmp_path) -> Author:
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/es/index\n", encoding="utf-8")
    (tmp_path / "lessons").mkdir()
    return Author(Project(tmp_path))
