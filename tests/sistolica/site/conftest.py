"""Built pages to look at, and copies of the small course to change."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from sistolica.project import Project


@dataclass(frozen=True)
class Site:
    """A built site and its pages as parsed HTML."""

    folder: Path

    def page(self, path: str) -> BeautifulSoup:
        return BeautifulSoup((self.folder / path).read_text(encoding="utf-8"), "html.parser")

    def pages(self, lang: str) -> dict[str, BeautifulSoup]:
        tree = self.folder / lang
        found = (path.relative_to(self.folder).as_posix() for path in sorted(tree.rglob("*.html")))
        return {path: self.page(path) for path in found if "/_static/" not in path}


@pytest.fixture(scope="session")
def site(small_course) -> Site:
    return Site(small_course.build / "site")


@pytest.fixture
def course(small_course, tmp_path) -> Project:
    """A copy of the small course with its last good site; its cells need not run again, its pages do."""
    root = tmp_path / "course"
    shutil.copytree(small_course.root, root, ignore=shutil.ignore_patterns("_build"))
    for kept in ("cells", "site"):
        shutil.copytree(small_course.build / kept, root / "_build" / kept)
    shutil.copy(small_course.build / "site.digest", root / "_build")
    return Project(root)
