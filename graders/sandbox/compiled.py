"""Compiled XLA programs that learners' processes read and cannot write: what the reference solution compiles, kept.

The folder belongs to the grader. The reference runs as a learner does, confined, with an empty folder to write to; what
it leaves there is copied, file by file, so nothing but plain files ever comes here, and nothing of a learner's.
"""

import hashlib
import os
import platform
import re
import shutil
import stat
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from graders.execute import execute
from graders.lab import Lab
from graders.removal import remove_tree
from graders.sandbox.confinement import Confinement
from graders.sandbox.nursery import Nursery
from graders.seed import PUBLISHED_SALT
from tpu_kernels.user_cache import cache_folder

MAX_PROGRAM = 64 * 2**20  # bytes of one
MAX_PROGRAMS = 2_000

_PROGRAM = re.compile(r"[A-Za-z0-9_.]+-[0-9a-f]{16,}-cache")
_MARK = "warm-"


def programs_folder(backend: str) -> Path | None:
    """The folder of programs for this machine and these versions, made if need be; ``None`` where there can be none."""
    parts = [backend, sys.version, platform.machine(), _processor(), *map(_version, ("jax", "jaxlib", "numpy"))]
    folder = cache_folder(f"xla-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)  # the learner's process is another user's
    except OSError:
        return None
    return folder


def warm(nursery: Nursery, confinement: Confinement, lab: Lab, reference: NotebookNode, lang: str) -> None:
    """Keep what ``reference``, the notebook with the lab's own answers, compiles, unless that was done before.

    Nothing is kept of a run that does not earn everything. Raises as :func:`graders.execute.execute` does.
    """
    if confinement.cache is None:
        return
    folder = Path(confinement.cache)
    parts = [lab.id, nbformat.writes(reference), (lab.folder / "checks.py").read_text(encoding="utf-8")]
    mark = folder / f"{_MARK}{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"
    if mark.exists():
        return
    staging = Path(tempfile.mkdtemp(prefix="programs-"))
    try:
        if os.geteuid() == 0 and confinement.uid is not None:
            os.chown(staging, confinement.uid, confinement.uid)
        runner = nursery.runner(cache=str(staging), cache_writable=True)
        done = execute(reference, lab, "", PUBLISHED_SALT, runner, lang)
        if sum(result.score for result in done.results) == lab.points:
            _keep(staging, folder)
            mark.touch()
    finally:
        remove_tree(staging)


def _keep(staging: Path, folder: Path) -> None:
    found = sorted(entry.name for entry in os.scandir(staging) if _PROGRAM.fullmatch(entry.name))
    for name in found[:MAX_PROGRAMS]:
        try:
            descriptor = os.open(staging / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # a link
            continue
        with os.fdopen(descriptor, "rb") as source:
            about = os.fstat(source.fileno())
            if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_PROGRAM:
                continue
            partial = folder / f"{name}.part{os.getpid()}"
            with partial.open("wb") as kept:
                shutil.copyfileobj(source, kept)
            partial.chmod(0o644)
            partial.replace(folder / name)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    """What this processor can do: a program compiled for another may not run, or give other bits."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())
