"""Ctrl-C and the notice that a machine is about to be taken away: asked for now, done between two steps."""

import signal
import sys
import threading
from types import FrameType
from typing import Any, Self

from tpu_kernels.phrases import phrase

SIGNALS = (signal.SIGINT, signal.SIGTERM)  # the second is how a cloud announces that it takes a spot machine back


class Interruption:
    """While it is open, the first SIGINT or SIGTERM only sets ``asked``, to the signal's number.

    An exception in the midst of a step could leave its state given away and its batch consumed. A second signal does
    what it would have done. Not ``wanted``, or in a thread that is not the main one and gets no signals, it does
    nothing.
    """

    def __init__(self, wanted: bool = True) -> None:
        self.asked: int | None = None
        self._wanted = wanted
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if self._wanted and threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._ask) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _ask(self, number: int, _: FrameType | None) -> None:
        self.asked = number
        self.__exit__()
        sys.stderr.write(phrase("fit.stopping") + "\n")
