"""Where the parts of the course lie on disk."""

from dataclasses import dataclass
from pathlib import Path

from sistolica.faults import CourseError


class NoProjectError(CourseError):
    """The command was run outside the course's folder."""


@dataclass(frozen=True)
class Project:
    """The root folder of a checkout and the folders that the layout promises in it."""

    root: Path

    @property
    def book(self) -> Path:
        return self.root / "book"

    @property
    def bibliography(self) -> Path:
        return self.book / "references.bib"

    @property
    def lessons(self) -> Path:
        return self.root / "lessons"

    @property
    def labs(self) -> Path:
        return self.root / "labs"

    @property
    def build(self) -> Path:
        return self.root / "_build"

    def prose(self, lang: str, slug: str) -> Path:
        """The prose of one page: ``slug`` is ``part/name`` or ``name``, the same in every language."""
        return self.book / lang / f"{slug}.md"

    def slugs(self, lang: str) -> list[str]:
        """Every page written in a language, sorted."""
        tree = self.book / lang
        return sorted(path.relative_to(tree).with_suffix("").as_posix() for path in tree.rglob("*.md"))


def find_project(start: Path | None = None) -> Project:
    """The project that ``start`` (default: the working folder) lies in; raises :class:`NoProjectError`."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "_toc.yml").is_file() and (folder / "lessons").is_dir():
            return Project(folder)
    raise NoProjectError(
        f"{here} is not inside the course: no folder above it holds _toc.yml and lessons/; cd there first"
    )
