"""Without namespaces: what a learner's process is still kept from, and what of it is cleaned up."""

import os
import subprocess
import sys

from graders.sandbox.confinement import LEARNER_UID

from .conftest import Confine


def test_the_filter_stands_in_for_the_missing_network(confine: Confine) -> None:
    reach = """
        import errno, socket
        for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
            try:
                socket.socket(family).close()
                say("made")
            except OSError as error:
                say(errno.errorcode[error.errno])
        """
    assert confine("limits", reach).said == ["made", "EAFNOSUPPORT", "EAFNOSUPPORT"]


def test_the_filter_keeps_it_from_other_processes_and_from_namespaces(confine: Confine) -> None:
    reach = """
        import ctypes, errno
        libc = ctypes.CDLL(None, use_errno=True)
        calls = {"unshare": [0x10000000], "ptrace": [16, 1, 0, 0], "mount": [b"", b"/", b"", 0, 0]}
        for call, arguments in calls.items():
            assert getattr(libc, call)(*arguments) == -1
            say(errno.errorcode[ctypes.get_errno()])
        """
    assert confine("limits", reach).said == ["EPERM"] * 3


def test_it_has_a_folder_and_an_environment_of_its_own(confine: Confine) -> None:
    look = """
        import os
        from pathlib import Path
        Path("kept.txt").write_text("x")
        home = Path.cwd()
        own = os.environ["HOME"] == os.environ["TMPDIR"] == str(home)
        say([own, oct(home.stat().st_mode & 0o777), sorted(os.environ)])
        """
    ended = confine("limits", look)
    ((own, mode, variables),) = ended.said
    assert (own, mode, ended.remains) == (True, "0o700", [])
    assert "PYTHONPATH" not in variables


def test_a_grader_that_is_root_makes_it_another_user(confine: Confine) -> None:
    if os.geteuid() != 0:
        assert confine("limits", "import os; say(os.getuid())", uid=None).said == [os.geteuid()]
        return
    look = """
        import os
        say([*os.getresuid(), *os.getresgid(), os.getgroups()])
        try:
            os.setuid(0)
        except PermissionError:
            say("kept")
        """
    said = confine("limits", look, uid=LEARNER_UID, ordinary=False).said
    assert said == [[LEARNER_UID] * 6 + [[]], "kept"]


SPARE = """
import os, select, sys
sys.path[:] = {path!r}
from graders.sandbox import syscalls
from graders.sandbox.descendants import kill_descendants

syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)


def learner():
    "A process, one that it forked, and one of those that lost its parent: each holds the pipe's other end."
    alive, held = os.pipe()
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
        else:
            os.fork()
        os.write(held, b"x")
        os.read(os.pipe()[0], 1)
    os.close(held)
    for _ in range(3):
        os.read(alive, 1)
    return pid, alive


(first, first_alive), (second, second_alive) = learner(), learner()
kill_descendants(spare={{second}})
print(select.select([first_alive], [], [], 0)[0] == [first_alive], os.waitpid(second, os.WNOHANG) == (0, 0))
kill_descendants(spare=set())
print(os.read(first_alive, 1), os.read(second_alive, 1))
"""


def test_the_end_of_one_learner_spares_another() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", SPARE.format(path=sys.path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True True\nb'' b''\n", "")
