"""Errors of a library that is loud about them."""

import gc
import logging
import sys
import threading
import time
from pathlib import Path

import pytest

from tpu_kernels.training.orbax_errors import OrbaxError, quietly, reason


class Late:
    """Complains when it is forgotten, as a coroutine whose event loop is closed does."""

    def __init__(self) -> None:
        self.itself = self  # so that only the collector of cycles can forget it

    def __del__(self) -> None:
        raise RuntimeError("Event loop is closed")


def test_what_goes_well_is_given_back() -> None:
    assert quietly(lambda: 7) == 7


def test_one_line_is_all_that_is_left_of_an_error(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    log, hook = logging.getLogger("absl"), sys.unraisablehook

    def fail() -> None:
        keeps = Late()
        log.error("a stack of frames")
        raise Exception("first line\nsecond line", keeps)

    with pytest.raises(OrbaxError, match="first line"):
        quietly(fail)
    gc.collect()
    assert caplog.records == [] and complaints == []
    assert (log.disabled, sys.unraisablehook) == (False, hook)


def test_threads_that_still_write_are_awaited(tmp_path: Path) -> None:
    def write() -> None:
        time.sleep(0.2)
        (tmp_path / "late").touch()

    def fail() -> None:
        threading.Thread(target=write).start()
        raise ValueError("early")

    with pytest.raises(OrbaxError, match="early"):
        quietly(fail)
    assert (tmp_path / "late").exists()


def test_what_is_no_error_passes() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quietly(stop)
    assert not logging.getLogger("absl").disabled


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(28, "No space left on device", "/x"), "No space left on device"),
        (ValueError("Failed to write 9 bytes to file 7: File too large [os_error_code='27']"), "File too large"),
        (ValueError("first\nsecond"), "first"),
        (ValueError("x" * 300), "x" * 200),
        (KeyError(), "KeyError"),
    ],
)
def test_the_reason_is_the_systems_or_the_first_line(error: Exception, line: str) -> None:
    assert reason(error) == line
