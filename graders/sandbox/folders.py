"""Which folders of this machine a learner's Python needs, and which of those hold what it must not see.

Of the grader's import paths only those named ``site-packages`` or ``dist-packages`` are shown: any other may be a
folder of courses, or the one that the grader works in. Of a prefix only what an installation fills, since an
environment may have been made in the course's own folder. Of the course itself, ``tpu_kernels`` alone.
"""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import tpu_kernels

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_INSTALLED = ("bin", "lib", "lib32", "lib64", "include", "share", "etc", "ssl", "pyvenv.cfg")
_PACKAGES = ("site-packages", "dist-packages")
_HOLD_ANSWERS = ("graders", "sistolica", "labs")
_MOST_LINKS = 40  # on one path, as the kernel counts


@dataclass(frozen=True)
class Folders:
    """Real paths to show, real paths beneath them to show empty, and the symbolic links on the way."""

    shown: tuple[str, ...]
    masked: tuple[str, ...]
    links: dict[str, str]


def folders_of_this_python(hidden: Iterable[str] = ()) -> Folders:
    """What a process needs to import what this one can, but for the course's own packages and ``hidden``."""
    packages = [entry for entry in sys.path if Path(entry).name in _PACKAGES]
    wanted = [*_SYSTEM, *packages, *tpu_kernels.__path__]
    for prefix in (sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix):
        wanted += [f"{prefix}/{name}" for name in _INSTALLED]
    masked = [f"{folder}/{name}" for folder in packages for name in _HOLD_ANSWERS]
    return arrange(wanted, [*masked, *hidden])


def arrange(wanted: Iterable[str], masked: Iterable[str]) -> Folders:
    """Without what does not exist, what a folder around it shows already, and masks of what is not shown."""
    links: dict[str, str] = {}
    shown = {real for path in wanted if (real := _follow(path, links)) and Path(real).exists()}
    hidden = {real for path in masked if Path(real := os.path.realpath(path)).is_dir()}
    kept_shown: list[str] = []
    kept_masked: list[str] = []
    for path in sorted(shown | hidden, key=lambda path: (path.count("/"), path)):
        around = max((other for other in (*kept_shown, *kept_masked) if _holds(other, path)), key=len, default=None)
        if path in hidden:
            if around in kept_shown:
                kept_masked.append(path)
        elif around not in kept_shown:
            kept_shown.append(path)
    inside = {link for link in links for folder in kept_shown if _holds(folder, link)}
    return Folders(tuple(kept_shown), tuple(kept_masked), {link: links[link] for link in sorted(set(links) - inside)})


def _holds(folder: str, path: str) -> bool:
    return path.startswith(f"{folder}/")


def _follow(path: str, links: dict[str, str]) -> str | None:
    """The real path, and into ``links`` each symbolic link on the way; ``None`` for links without end."""
    real, pending = Path("/"), list(Path(path).absolute().parts[1:])
    followed = 0
    while pending:
        here = real / pending.pop(0)
        if here.name == "..":
            real = real.parent
        elif here.is_symlink():
            followed += 1
            if followed > _MOST_LINKS:
                return None
            target = here.readlink()
            links[str(here)] = str(target)
            real = Path("/") if target.is_absolute() else real
            pending = [part for part in target.parts if part != "/"] + pending
        else:
            real = here
    return str(real)
