"""Processes that end with the one that started them, however that ended.

``python -m tpu_kernels.bench.mortal PARENT program ...`` becomes the program, which the kernel kills when the process
PARENT ends. Linux alone has that; elsewhere the program is begun as it is.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def die_with(parent: int) -> None:
    """Has Linux kill this process when ``parent``, the process that started it, ends; at once if it has.

    A program that takes this one's place keeps the wish. A change of rights makes the kernel forget it: call it after
    that. Raises ``OSError``.
    """
    if sys.platform != "linux":
        return
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    if os.getppid() != parent:  # it ended before the wish was heard
        sys.exit(1)


def mortal(command: list[str]) -> list[str]:
    """``command``, to be started by this process and to end with it."""
    return [sys.executable, "-m", "tpu_kernels.bench.mortal", str(os.getpid()), *command]


def main(parent: str, *command: str) -> None:
    """Becomes the command, or says why not."""
    die_with(int(parent))
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main(*sys.argv[1:])
