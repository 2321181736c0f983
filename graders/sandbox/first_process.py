"""A process that goes on as the first of a pid namespace, and the one it came from, which waits for it."""

import contextlib
import os
import select
import signal
from typing import NoReturn

from graders.sandbox import syscalls
from graders.sandbox.descriptors import close_all_but


def go_on_as_first() -> None:
    """Fork, after ``unshare(CLONE_NEWPID)``: the child returns, as the first process of the namespace.

    The parent ends when and as the child does; when the parent is killed, the kernel kills the child.
    """
    alive, held = os.pipe()
    pid = os.fork()
    if pid:
        _wait_and_end(pid, held)
    os.close(held)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if select.select([alive], [], [], 0)[0]:  # the parent had died before the kernel was told to watch it
        os._exit(1)
    os.close(alive)


def _wait_and_end(pid: int, held: int) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's, meant for the child, which decides
    close_all_but({held})  # whoever reads from the child is to see its end
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        with contextlib.suppress(OSError):  # SIGKILL, which has no other
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
