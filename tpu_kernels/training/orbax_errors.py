"""Orbax's errors, in one line each and nowhere else."""

import gc
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 10.0  # seconds, for a thread that has a write under way


class OrbaxError(Exception):
    """Why something could not be read or written."""


def quietly(do: Callable[[], T]) -> T:
    """What ``do`` gives, or :class:`OrbaxError` and not another word.

    Orbax and tensorstore raise what they like, a bare ``Exception`` among others. The first error is raised while other
    threads still write, so they are awaited: what is done next to the files must be the last thing done to them. Each
    error is also logged, with the stacks of all threads. And when it is forgotten, coroutines that it kept alive
    complain, from wherever the program then is, that their event loop is closed; so it is forgotten here.
    """
    log, hook, threads = logging.getLogger("absl"), sys.unraisablehook, set(threading.enumerate())
    disabled, log.disabled = log.disabled, True
    sys.unraisablehook = lambda of: None if isinstance(of.exc_value, RuntimeError) else hook(of)
    try:
        try:
            return do()
        except Exception as error:  # noqa: BLE001
            why = reason(error)
        until = time.monotonic() + PATIENCE
        while set(threading.enumerate()) - threads and time.monotonic() < until:
            time.sleep(0.01)  # their threads' own join raises, and one that has not started yet has none
        gc.collect()
    finally:
        log.disabled, sys.unraisablehook = disabled, hook
    raise OrbaxError(why)


def reason(error: Exception) -> str:
    """One line: the operating system's words where there are any, else the first line of the error's."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if code := re.search(r"os_error_code='(\d+)'", str(error)):  # tensorstore's
        return os.strerror(int(code[1]))
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
