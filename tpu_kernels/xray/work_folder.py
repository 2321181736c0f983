"""The folder of one compilation. It goes at the end; one whose process was killed first goes when the next is made."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tpu_kernels.phrases import phrase
from tpu_kernels.xray.errors import LimitError

PREFIX = "sistolica-xray-"
LOCK = "lock"
HELD = b"held"


@contextmanager
def work_folder() -> Iterator[Path]:
    """A folder that is empty but for a lock. The system lets go of the lock with its process, however that ends.

    Raises :class:`~tpu_kernels.xray.errors.LimitError` when there is nowhere to put it.
    """
    with writing():
        remove_abandoned(Path(tempfile.gettempdir()))
        made = tempfile.TemporaryDirectory(prefix=PREFIX)
    with made as name:
        with writing():
            lock = (Path(name) / LOCK).open("wb", buffering=0)
        with lock:
            with suppress(OSError):  # a file system without locks, or without room
                fcntl.flock(lock, fcntl.LOCK_EX)
                lock.write(HELD)  # until then, a lock that is free does not mean that nobody is here
            yield Path(name)


@contextmanager
def writing() -> Iterator[None]:
    """What the system says when it cannot write, as :class:`~tpu_kernels.xray.errors.LimitError`."""
    try:
        yield
    except OSError as error:
        raise LimitError(phrase("xray.no_room", reason=str(error)), str(error)) from error


def remove_abandoned(parent: Path) -> None:
    """Remove this user's folders whose process is gone. What cannot be looked into is left."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.lstat().st_uid == os.getuid() and _abandoned(folder / LOCK):
                shutil.rmtree(folder, ignore_errors=True)


def _abandoned(path: Path) -> bool:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock.read() == HELD
