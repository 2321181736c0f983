"""Network namespaces that nothing can leave behind: they have no name and no file, only the processes inside.

``ip netns add`` binds a namespace to a file, which survives whoever made it. Here the kernel removes a namespace, and
the devices in it, when its last process ends; and each process ends with the one that started it (:mod:`mortal`).
"""

import ctypes
import os

CLONE_NEWUSER = 0x10000000  # linux/sched.h
CLONE_NEWNET = 0x40000000


def leave_network() -> None:
    """Moves this process, of one thread, to an empty network namespace, with the right to administer it.

    A user namespace of its own gives an ordinary user that right; where those are closed, root needs none.
    Raises ``OSError`` when the kernel allows neither.
    """
    try:
        _unshare(CLONE_NEWUSER | CLONE_NEWNET)
    except OSError:
        _unshare(CLONE_NEWNET)


def leave_for_another_network() -> None:
    """Moves this process, after :func:`leave_network`, to a second network namespace under the same rights.

    Processes that it started meanwhile stay in the first. Raises ``OSError``.
    """
    _unshare(CLONE_NEWNET)


def _unshare(flags: int) -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(flags):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
