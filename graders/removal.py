"""Remove a folder that a learner's code has filled, however deep and however closed it left it."""

import contextlib
import os
import secrets
from pathlib import Path


def remove_tree(top: Path) -> None:
    """Remove ``top`` with all that is in it; what cannot be removed stays, and nothing is raised.

    ``shutil.rmtree`` fails on a tree deeper than Python's stack or than the longest path: here every folder moves up to
    ``top`` before it is emptied, so that no path grows.
    """
    pending = [top]
    while pending:
        current = pending.pop()
        for entry in _open(current):
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    Path(entry.path).chmod(0o700)  # a folder moves only if it may be written to
                    pending.append(Path(entry.path).rename(top / secrets.token_hex(8)))
                else:
                    Path(entry.path).unlink()
        if current != top:
            with contextlib.suppress(OSError):
                current.rmdir()
    with contextlib.suppress(OSError):
        top.rmdir()


def _open(folder: Path) -> "list[os.DirEntry[str]]":
    try:
        return list(os.scandir(folder))
    except OSError:
        return []
