"""One learner's process, confined and ended again with no code of theirs run: to see whether this machine lets us."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable

from graders.sandbox.cgroup import Cgroup
from graders.sandbox.confinement import Confinement, ConfinementError
from graders.sandbox.enter import end, enter, prepare_fork, start_of_zygote

_DEADLINE_S = 60
_PROGRAM = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from graders.sandbox.attempt import main
main(sys.argv[2])
"""


def attempt(confinement: Confinement) -> None:
    """Confine a process that way, in a program of its own. Raises :class:`ConfinementError`."""
    command = [sys.executable, "-I", "-c", _PROGRAM, json.dumps(sys.path), confinement.to_json()]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_DEADLINE_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ConfinementError("namespaces", error) from error
    if done.returncode:
        raise ConfinementError("namespaces", (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1])
    failure = json.loads(done.stdout)
    if failure is not None:
        raise ConfinementError(*failure)


def main(text: str) -> None:
    """The attempt itself; prints ``null``, or the part that failed and why."""
    failure: list[str] | None = None
    try:
        _confine_one(Confinement.from_json(text))
    except ConfinementError as error:
        failure = [error.part, error.reason]
    sys.stdout.write(json.dumps(failure))


def _confine_one(confinement: Confinement) -> None:
    start_of_zygote(confinement)
    cgroup = Cgroup.create(confinement)
    prepare_fork(confinement)
    receiving, sending = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if cgroup is not None:
                cgroup.join()
            enter(confinement, keep=[sending])
            _require_readable(confinement.read_only)
            os.write(sending, b"null")
        except ConfinementError as error:
            os.write(sending, json.dumps([error.part, error.reason]).encode())
        finally:
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as replies:
        reply = replies.read()
    end(confinement, pid, ())
    if cgroup is not None:
        cgroup.kill()
        cgroup.remove()
    failure = json.loads(reply or '["seccomp", "the process ended without a word"]')
    if failure is not None:
        raise ConfinementError(*failure)


def _require_readable(paths: Iterable[str]) -> None:
    """What an interpreter needs must be open to the learner's user: a closed home folder around it, or files of one."""
    for path in (*paths, os.__file__):
        if not os.access(path, os.R_OK):
            raise ConfinementError("view", f"the user {os.geteuid()} cannot read {path}")
