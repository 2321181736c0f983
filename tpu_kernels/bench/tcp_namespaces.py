"""Network namespaces that nothing can leave behind: they have no name and no file, only the processes inside.

``ip netns add`` binds a namespace to a file, which survives whoever made it. Here the kernel removes a namespace, and
the devices in it, when its last process ends; and each process ends with the one that started it, however that ended.
"""

import ctypes
import os
import signal
import sys

CLONE_NEWUSER = 0x10000000  # linux/sched.h
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1  # linux/prctl.h


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


def die_with(parent: int) -> None:
    """Has the kernel kill this process when ``parent``, the process that started it, ends; at once if it has.

    Call it after :func:`leave_network`: a change of rights makes the kernel forget the wish.
    """
    _check(_libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    if os.getppid() != parent:  # it ended before the wish was heard
        sys.exit(1)


def _unshare(flags: int) -> None:
    _check(_libc().unshare(flags))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(status: int) -> None:
    if status:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
