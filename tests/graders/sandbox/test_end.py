"""What the zygote owes: numbers that the grader can use, and that no learner's process outlives it."""

import os
import signal
from pathlib import Path

import pytest

from graders.sandbox.attempt import attempt
from graders.sandbox.confinement import Confinement, ConfinementError

from .conftest import Start

ALL = ("root", "user", "limits")
WAITS = """
    import os
    os.write(1, b"r")
    os.read(os.pipe()[0], 1)
    """
DAEMON = """
    import os
    if os.fork() == 0:
        os.setsid()
        os.write(1, b"r")
    os.read(os.pipe()[0], 1)
    """
# What a learner's process started dies with the namespace; without one only the process itself is tied to the zygote.
LEFT_ALONE = {"root": DAEMON, "user": DAEMON, "limits": WAITS}


@pytest.mark.parametrize("kind", ALL)
def test_whoever_kills_the_zygote_kills_its_learners(start: Start, kind: str) -> None:
    with start(kind, LEFT_ALONE[kind]) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == "r"
        process.kill()
        assert process.stdout.read() == ""  # comes when all are dead: each holds the other end


def youngest(pid: int) -> int:
    """The process at the end of a line of only children, in the numbers of this process."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    return youngest(int(children[-1])) if children else pid


@pytest.mark.parametrize("kind", ALL)
def test_the_grader_can_signal_by_the_number_it_is_told(start: Start, kind: str) -> None:
    sleeps = """
        import os
        try:
            os.write(1, (os.readlink("/proc/self") + " ").encode())
            os.read(os.pipe()[0], 1)
        except KeyboardInterrupt:
            say("interrupted")
        """
    with start(kind, sleeps) as process:
        assert process.stdout is not None
        inside = process.stdout.read(2)
        learner = youngest(process.pid)
        os.kill(learner, signal.SIGINT)
        answer, _ = process.communicate(timeout=60)
    assert f'"outside": {learner}' in answer
    assert '["interrupted"]' in answer
    assert (inside == "1 ") == (kind != "limits")


@pytest.mark.parametrize(("fields", "part"), [({"read_only": ("/absent",)}, "view"), ({"home": "/proc/x"}, "view")])
def test_what_cannot_be_had_is_refused_with_its_part(fields: dict[str, object], part: str) -> None:
    confinement = Confinement("root", {}, **fields)
    with pytest.raises(ConfinementError) as refused:
        attempt(confinement)
    assert refused.value.part == part
