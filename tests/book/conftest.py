"""Which files belong to the checkout."""

import fnmatch
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def course_files(root: Path) -> list[Path]:
    """The files of a checkout, relative to ``root``: those that git tracks.

    Without git, or outside its checkout, the working tree less what ``.gitignore`` names.
    """
    listed = _listed_by_git(root)
    if listed is None:
        ignored = [".git", *_ignored_names(root / ".gitignore")]
        listed = [
            path.relative_to(root)
            for path in root.rglob("*")
            if not any(fnmatch.fnmatch(part, name) for part in path.relative_to(root).parts for name in ignored)
        ]
    return sorted(path for path in listed if (root / path).is_file())


def _listed_by_git(root: Path) -> list[Path] | None:
    git = ["git", "-C", str(root)]
    try:
        top = subprocess.run([*git, "rev-parse", "--show-toplevel"], capture_output=True, text=True, check=True)
        if Path(top.stdout.strip()).resolve() != root.resolve():
            return None
        listing = [*git, "ls-files", "-z"]
        listed = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    return [Path(name) for name in listed.split("\0") if name]


def _ignored_names(gitignore: Path) -> list[str]:
    lines = gitignore.read_text(encoding="utf-8").splitlines() if gitignore.is_file() else []
    return [line.strip().rstrip("/") for line in lines if line.strip() and not line.startswith("#")]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def list_files() -> Callable[[Path], list[Path]]:
    return course_files


@pytest.fixture(scope="session")
def files() -> list[Path]:
    """Every file of this checkout, relative to its root."""
    return course_files(ROOT)


@pytest.fixture(scope="session")
def top_folders(files: list[Path]) -> set[str]:
    return {path.parts[0] for path in files if len(path.parts) > 1}
