"""Signals that only ask, the first time."""

import os
import signal
import threading

import pytest

from tpu_kernels.training.interruption import Interruption


@pytest.fixture
def caught() -> list[int]:
    """What a handler that was there before gets."""
    found: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: found.append(number))
    yield found
    signal.signal(signal.SIGTERM, before)


def test_the_first_signal_asks_and_the_second_does_what_it_did_before(
    caught: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    with Interruption() as interruption:
        assert interruption.asked is None
        os.kill(os.getpid(), signal.SIGTERM)
        assert interruption.asked == signal.SIGTERM and caught == []
        os.kill(os.getpid(), signal.SIGTERM)
        assert caught == [signal.SIGTERM]
    assert capsys.readouterr().err.count("\n") == 1


def test_afterwards_signals_are_what_they_were(caught: list[int]) -> None:
    for wanted in (True, False):
        with Interruption(wanted):
            pass
        os.kill(os.getpid(), signal.SIGTERM)
        assert caught.pop() == signal.SIGTERM


def test_where_it_is_not_wanted_a_signal_goes_where_it_went(caught: list[int]) -> None:
    with Interruption(wanted=False) as interruption:
        os.kill(os.getpid(), signal.SIGTERM)
    assert interruption.asked is None and caught == [signal.SIGTERM]


def test_in_another_thread_it_does_nothing(caught: list[int]) -> None:
    asked = []

    def work() -> None:
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGTERM)
            asked.append(interruption.asked)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [None] and caught == [signal.SIGTERM]
