"""From an ordinary process to a confined one: what the zygote does at its start, before each fork, and after it.

::

    start_of_zygote(confinement)                  # once, single-threaded, before the heavy imports
    cgroup = Cgroup.create(confinement)           # for each learner
    prepare_fork(confinement)
    pid = os.fork()
    if pid == 0:
        if cgroup is not None:
            cgroup.join()
        enter(confinement, keep=[socket])         # the learner's code may run from here on
    outside(pid)                                  # its number as the grader sees it: for signals from there
    ...
    status = end(confinement, pid, running)       # kills and reaps it with all that it started
    if cgroup is not None:
        cgroup.kill()
        cgroup.remove()

With namespaces nothing outlives a learner: a pid namespace dies with its first process. The kind ``"limits"`` kills
what it finds in the tree of processes. It does not hold a learner that forks faster than it is killed, or that kills
the zygote first; it hides no file that the learner's user can read; and where that user is the grader's, the grader's
own files and processes lie open.
"""

import os
import signal
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from graders.removal import remove_tree
from graders.sandbox import seccomp, syscalls
from graders.sandbox.cgroup import sweep
from graders.sandbox.confinement import Confinement, ConfinementError
from graders.sandbox.descendants import kill_descendants
from graders.sandbox.descriptors import close_all_but
from graders.sandbox.first_process import go_on_as_first
from graders.sandbox.rights import give_up_rights, groups_of, map_user, switch_user
from graders.sandbox.rlimits import set_limits
from graders.sandbox.view import enter_view, make_view, mount_processes

_NAMESPACES = syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWCGROUP
_MACHINE_NAME = "learner"  # the same on every machine
_SIGNALS = tuple(
    getattr(signal, f"SIG{name}")
    for name in ("HUP", "QUIT", "USR1", "USR2", "ALRM", "TERM", "CHLD", "CONT", "TSTP", "TTIN", "TTOU", "WINCH")
)

_zygote = 0  # its number, where learners' processes have to watch it
_views: dict[str, int] = {}  # namespaces that the zygote keeps, by confinement


def start_of_zygote(confinement: Confinement) -> None:
    """Make this process one whose death is the death of all learners' processes it starts.

    The kinds with namespaces go on in a forked child, first of a pid namespace: ``os.getpid()`` is then 1, and numbers
    that ``os.fork()`` gives are of that namespace (:func:`outside` translates). The process that called waits for the
    child and ends as it ends. Raises :class:`ConfinementError`.
    """
    if {"memory", "pids"} & {*confinement.parts}:
        with _part("memory"):
            sweep()  # now, while numbers of processes mean the same to us and to the control groups
    if confinement.kind == "limits":
        with _part("limits"):
            syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
        global _zygote
        _zygote = os.getpid()
        return
    with _part("namespaces"):
        if confinement.kind == "user":
            if os.geteuid() == 0:  # in a user namespace of its own, root is root still to the files it sees
                switch_user(_uid(confinement), ())
            user, group = os.geteuid(), os.getegid()
            syscalls.unshare(syscalls.CLONE_NEWUSER)
            map_user(_uid(confinement), user, group)
        syscalls.unshare(syscalls.CLONE_NEWPID)
    go_on_as_first()


def prepare_fork(confinement: Confinement) -> None:
    """Let the next ``os.fork()`` give the first process of a new pid namespace. Raises :class:`ConfinementError`."""
    if confinement.kind == "limits":
        return
    with _part("namespaces"):
        own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        try:  # a process whose children are already to be elsewhere gets no other namespace for them, nor a child
            syscalls.setns(own, syscalls.CLONE_NEWPID)
        finally:
            os.close(own)
    with _part("namespaces"):
        own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        try:  # back from the namespace of the learner before, where nothing more may start
            syscalls.setns(own, syscalls.CLONE_NEWPID)
        finally:
            os.close(own)
    key = confinement.to_json()
    if key not in _views:
        _views[key] = make_view(confinement, _uid(confinement))
    with _part("namespaces"):
        syscalls.unshare(syscalls.CLONE_NEWPID)


def enter(confinement: Confinement, keep: Iterable[int] = ()) -> None:
    """Confine this process for good; of its file descriptors 0, 1, 2 and those in ``keep`` stay open.

    Raises :class:`ConfinementError`: the caller must then end the process, which may be half confined.
    """
    uid = _uid(confinement)
    with _part("limits"):
        os.setsid()
        _reset_signals()
        os.umask(0o022)  # for what is made here; the learner's is below
        set_limits(confinement, uid)  # while the other processes of this user are there to count
    groups: tuple[int, ...] = ()
    if confinement.kind == "limits":
        with _part("limits"):
            home = temporary = _make_folder(confinement.home, uid)
    else:
        home, temporary = confinement.home, "/tmp"
        with _part("view"):
            enter_view(_views[confinement.to_json()], confinement, uid, _NAMESPACES)
            groups = groups_of(confinement.devices)
            socket.sethostname(_MACHINE_NAME)
        if "proc" in confinement.parts:
            with _part("proc"):
                mount_processes()
        if "network" in confinement.parts:
            with _part("network"):  # an empty one: its loopback stays down
                syscalls.unshare(syscalls.CLONE_NEWNET)
    with _part("limits"):
        close_all_but({0, 1, 2, *keep})
        give_up_rights(uid, groups)
        if confinement.kind == "limits":
            # A change of user clears this. The other kinds need none: their namespaces end with the zygote's.
            syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != _zygote:
                raise ProcessLookupError("the zygote has died")
        os.umask(0o077)
        os.environ.clear()
        os.environ.update(confinement.variables(home, temporary))
        os.chdir(home)
    if "seccomp" in confinement.parts:
        with _part("seccomp"):
            syscalls.load_filter(seccomp.program(network="network" in confinement.parts))


def outside(pid: int) -> int:
    """The number, as the grader sees it, of a process that the zygote forked."""
    fd = os.pidfd_open(pid)
    try:
        lines = Path(f"/proc/self/fdinfo/{fd}").read_text(encoding="utf-8").splitlines()
    finally:
        os.close(fd)
    return next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))  # this /proc is the grader's


def end(confinement: Confinement, pid: int, running: Iterable[int]) -> int:
    """Kill the learner's process ``pid`` with all that it started, and reap it: its wait status.

    ``running``: numbers of the learners' processes that go on.
    """
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if confinement.kind == "limits":
        kill_descendants(spare={*running} - {pid})
        remove_tree(_folder(confinement.home, pid))
    return status


@contextmanager
def _part(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfinementError(name, error) from error


def _uid(confinement: Confinement) -> int:
    return os.geteuid() if confinement.uid is None else confinement.uid


def _reset_signals() -> None:
    """As a Python program finds them when nobody ignored one before it."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _folder(home: str, pid: int) -> Path:
    return Path(home, str(pid))


def _make_folder(home: str, uid: int) -> str:
    """A folder of this process's own in ``home``, which others may pass through and not read."""
    Path(home).chmod(0o711)
    folder = _folder(home, os.getpid())
    folder.mkdir(mode=0o700)
    os.chown(folder, uid, -1)
    return str(folder)
