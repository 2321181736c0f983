"""What only some confinements show: a device that is asked for, and mere figures where ``/proc`` cannot be mounted."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graders.sandbox.confinement import PARTS
from graders.sandbox.rights import groups_of

from .conftest import Confine, Start


@pytest.mark.parametrize("kind", ["root", "user"])
def test_a_device_is_there_when_asked_for(confine: Confine, kind: str) -> None:
    look = """
        import errno, os, stat
        say(stat.S_ISCHR(os.stat("/dev/tty").st_mode))
        say(sorted(os.listdir("/sys")))
        try:
            open("/dev/tty")
        except OSError as error:
            say(errno.errorcode[error.errno])
        """
    with_device = confine(kind, look, devices=["/dev/tty"])
    # The driver itself answers: there is no terminal here. A wall would have said EACCES.
    assert with_device.said == [True, ["bus", "class", "devices", "module"], "ENXIO"]


def test_what_drivers_show_of_the_machine_is_read_only(confine: Confine) -> None:
    write = """
        import errno
        try:
            open("/sys/module/kernel/parameters/panic", "w")
        except OSError as error:
            say(errno.errorcode[error.errno])
        """
    assert confine("root", write, devices=["/dev/tty"]).said == ["EROFS"]


def test_the_groups_of_devices_are_kept_but_root_s(tmp_path: Path) -> None:
    for name, group in {"render": 44, "video": 45, "root": 0}.items():
        (tmp_path / name).touch()
        if os.geteuid() == 0:
            os.chown(tmp_path / name, -1, group)
    expected = (44, 45) if os.geteuid() == 0 else (os.getegid(),)
    assert groups_of([str(tmp_path / "render"), str(tmp_path)]) == expected


@pytest.mark.parametrize("kind", ["root", "user"])
def test_where_proc_cannot_be_mounted_there_are_the_machine_s_figures(confine: Confine, kind: str) -> None:
    look = """
        import os
        say(sorted(os.listdir("/proc")))
        say("processor" in open("/proc/cpuinfo").read() or "CPU" in open("/proc/cpuinfo").read())
        import numpy
        say(float(numpy.ones((3, 3)).sum()))
        """
    parts = tuple(part for part in PARTS if part != "proc" and (kind == "root" or part not in ("memory", "pids")))
    assert confine(kind, look, parts=parts).said == [["cpuinfo", "meminfo", "stat", "version"], True, 9.0]


def test_a_proc_that_cannot_be_mounted_is_told_from_other_failures(start: Start) -> None:
    """Containers cover parts of ``/proc``: in a user namespace the kernel then mounts no other, to show all."""
    covered = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /proc/tty && exec "$@"', "sh"]
    with start("user", "say(1)", within=covered) as process:
        _, complaint = process.communicate(timeout=60)
    assert complaint.splitlines()[-1].startswith("graders.sandbox.confinement.ConfinementError: proc: ")
    with start("user", "say(1)", within=covered, parts=("network", "seccomp")) as process:
        answer, complaint = process.communicate(timeout=60)
    assert '"said": [1]' in answer, complaint


TWICE = """
import os, sys
sys.path[:] = {path!r}
from graders.sandbox.confinement import Confinement
from graders.sandbox.enter import end, enter, prepare_fork, start_of_zygote

confinements = [Confinement.for_this_python("root", parts=("proc",), devices=devices) for devices in ((), ["/dev/tty"])]
start_of_zygote(confinements[0])
for confinement in (*confinements, *confinements):
    prepare_fork(confinement)
    pid = os.fork()
    if pid == 0:
        enter(confinement)
        os.write(1, f"{{os.getpid()}} {{os.path.exists('/dev/tty')}}\\n".encode())
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    end(confinement, pid, ())
"""


def test_one_zygote_can_confine_in_several_ways() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", TWICE.format(path=sys.path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1 False\n1 True\n" * 2, "")
