"""The canaries live where nothing contains them, and the self-test then refuses, saying what they did."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from nbformat import v4

from graders.phrases import phrase
from graders.process import CellRun
from graders.sandbox.canaries import CONNECTS, GROWS, READS, SIGNALS, STAYS, WRITES, canaries, promised
from graders.sandbox.confinement import Confinement
from graders.sandbox.self_test import SelfTestError, require_confined

ALL = {READS, WRITES, CONNECTS, SIGNALS, STAYS, GROWS}
WHOLE = Confinement("root", {})
BARE = Confinement("limits", {}, parts=(), uid=None, memory_bytes=2**20)
MARK = "SISTOLICA_CANARY_OF_A_TEST"


class Uncontained:
    """Nursery, runner and process in one: a cell is a program like any other, with nothing to contain it."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex

    def runner(self, **changes):
        return self

    def start(self, lang, files=()):
        return self

    def run_cell(self, source):
        with tempfile.TemporaryFile() as out:
            program = [sys.executable, "-c", source]
            environment = {**os.environ, MARK: self.mark}
            status = subprocess.run(program, env=environment, stdout=out, timeout=60, check=False).returncode
            out.seek(0)
            output = v4.new_output("stream", text=out.read().decode())
        return CellRun("error" if status else "ok", [output])

    def close(self):
        """What the cells started runs on."""

    def end(self):
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdecimal() and f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)


class Stopping(Uncontained):
    """The same, with the exception that each canary is to end with, and nothing done."""

    def run_cell(self, source):
        error = v4.new_output("error", ename="MemoryError", evalue="", traceback=[])
        return CellRun("error", [error]) if "grown" in source else CellRun("ok")


class Broken(Stopping):
    """A process in which nothing works, so that nothing is done either."""

    def run_cell(self, source):
        error = v4.new_output("error", ename="ModuleNotFoundError", evalue="", traceback=[])
        return CellRun("error", [error])


@pytest.fixture
def uncontained():
    nursery = Uncontained()
    yield nursery
    nursery.end()


def names(keys, lang):
    return [phrase(key, lang=lang) for key in (READS, WRITES, CONNECTS, SIGNALS, STAYS, GROWS) if key in keys]


@pytest.mark.parametrize("lang", ["es", "pt"])
def test_every_canary_lives_where_nothing_contains_it(uncontained, lang):
    with pytest.raises(SelfTestError) as refusal:
        require_confined(uncontained, WHOLE, lang)
    assert str(refusal.value) == phrase("sandbox.broken", lang=lang, deeds=", ".join(names(ALL, lang)))


def test_what_is_not_promised_is_said_and_does_not_pass_in_silence(uncontained, monkeypatch):
    monkeypatch.setattr("graders.sandbox.self_test.promised", lambda confinement: set())
    said = require_confined(uncontained, BARE, "pt")
    assert said == [phrase("sandbox.unpromised", lang="pt", deed=deed) for deed in names(ALL, "pt")]


def test_canaries_that_are_stopped_are_no_news():
    assert require_confined(Stopping(), WHOLE, "es") == []


def test_a_canary_that_never_came_to_try_counts_as_alive():
    with pytest.raises(SelfTestError) as refusal:
        require_confined(Broken(), WHOLE, "es")
    assert all(deed in str(refusal.value) for deed in names(ALL, "es"))


def test_canaries_leave_nothing_behind(uncontained, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with ExitStack() as made:
        writes = next(canary for canary in canaries(BARE, made) if canary.key == WRITES)
        assert writes.lived(uncontained.run_cell(writes.cell))
        assert not writes.lived(CellRun("ok"))  # what it wrote was cleared away
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("confinement", "stops"),
    [
        (WHOLE, ALL),
        (replace(WHOLE, parts=("memory", "pids", "proc", "seccomp")), ALL - {CONNECTS}),
        (BARE, {STAYS, GROWS}),
        (replace(BARE, uid=61999), {STAYS, GROWS, SIGNALS}),
    ],
)
def test_each_kind_promises_what_it_can(confinement, stops):
    assert promised(confinement) == stops
