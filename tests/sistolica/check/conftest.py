"""A small sound course in two languages, copied where a test may break it."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from sistolica.check import Fault, run
from sistolica.project import Project

SOUND_COURSE = Path(__file__).parent / "sound_course"


@dataclass(frozen=True)
class Course:
    """A course on disk that a test edits and checks."""

    root: Path

    def read(self, file: str) -> str:
        return (self.root / file).read_text(encoding="utf-8")

    def write(self, file: str, text: str) -> None:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def replace(self, file: str, old: str, new: str) -> None:
        """Put ``new`` for the one place where ``old`` stands."""
        text = self.read(file)
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
        self.write(file, text.replace(old, new))

    def line(self, file: str, words: str) -> int:
        """The line of the one place where ``words`` stand."""
        text = self.read(file)
        assert text.count(words) == 1, f"{words!r} stands {text.count(words)} times in {file}"
        return text.count("\n", 0, text.index(words)) + 1

    def faults(self) -> list[Fault]:
        return list(run(Project(self.root)).faults)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    root = tmp_path / "course"
    shutil.copytree(SOUND_COURSE, root)
    for script in root.rglob("*.py.txt"):  # stored so, or formatters would make "#es" an ordinary comment
        script.rename(script.with_suffix(""))
    return Course(root)
