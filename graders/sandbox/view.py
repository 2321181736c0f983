"""The file system as a learner's process sees it: a new root, made of nothing, on which only what it needs is shown.

It is made once, in a mount namespace that the zygote keeps open, and is read-only throughout. The folders between the
root and what is shown are its own, so an interpreter beneath somebody's closed home folder is reached all the same.
Each learner's process takes a copy of that namespace and adds what is its own: ``/proc``, and one tmpfs with one
quota for home, ``/tmp`` and ``/dev/shm``.
"""

import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from graders.sandbox import syscalls
from graders.sandbox.confinement import Confinement, ConfinementError

_OLD = "/.old"  # where the root of before lies while the new one is made
_ASIDE = "/.aside"  # where what lies beneath a writable folder waits for that folder
_SCRATCH = "/.scratch"
_SHARED_MEMORY = "/dev/shm"
_PLAIN = syscalls.MS_NOSUID | syscalls.MS_NODEV
_READ_ONLY = syscalls.MOUNT_ATTR_RDONLY | syscalls.MOUNT_ATTR_NOSUID | syscalls.MOUNT_ATTR_NODEV
_WRITABLE = syscalls.MOUNT_ATTR_NOSUID | syscalls.MOUNT_ATTR_NODEV | syscalls.MOUNT_ATTR_NOEXEC
_DEVICE = syscalls.MOUNT_ATTR_NOSUID | syscalls.MOUNT_ATTR_NOEXEC
_DEVICES = ("null", "zero", "full", "random", "urandom")
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
_SETTINGS = ("alternatives", "fonts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types")
_CHIPS = ("/sys/bus", "/sys/class", "/sys/devices", "/sys/module")  # where drivers' libraries look for theirs
_FIGURES = ("cpuinfo", "meminfo", "stat", "version")


def make_view(confinement: Confinement, uid: int) -> int:
    """A descriptor of a namespace that shows what ``confinement`` names. Raises :class:`ConfinementError`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            pid = os.fork()
            if pid == 0:
                _make_and_send(confinement, uid, theirs)
        report, descriptors, _, _ = socket.recv_fds(ours, 4096, 1)
        os.waitpid(pid, 0)
    if not descriptors:
        part, _, reason = report.decode().partition(" ")
        raise ConfinementError(part or "view", reason or "the process that made it ended without a word")
    return descriptors[0]


def enter_view(view: int, confinement: Confinement, uid: int, others: int) -> None:
    """Move this process to a copy of the view, in new namespaces of the kinds ``others`` too; home belongs to ``uid``.

    Raises ``OSError``.
    """
    syscalls.setns(view, syscalls.CLONE_NEWNS)
    syscalls.unshare(syscalls.CLONE_NEWNS | others)
    size = f"size={confinement.scratch_bytes},nr_inodes={confinement.scratch_files}"
    syscalls.mount("tmpfs", _SCRATCH, "tmpfs", _PLAIN, f"mode=755,{size}")
    for name, path in _writable(confinement).items():
        source = f"{_SCRATCH}/{name}"
        Path(source).mkdir(mode=0o700)
        os.chown(source, uid, uid)
        syscalls.mount(source, path, flags=syscalls.MS_BIND)
    for path, waiting in _aside(confinement).items():
        _bind(waiting, path)


def mount_processes() -> None:
    """Show at ``/proc`` the processes of this pid namespace, and let nothing be set there. Raises ``OSError``."""
    syscalls.mount("proc", "/proc", "proc", _PLAIN | syscalls.MS_RDONLY | syscalls.MS_NOEXEC)


def _make_and_send(confinement: Confinement, uid: int, report: socket.socket) -> NoReturn:
    try:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        namespace = os.open("/proc/self/ns/mnt", os.O_RDONLY)
        os.umask(0o022)
        _make(confinement, uid)
        socket.send_fds(report, [b"made"], [namespace])
    except ConfinementError as error:
        report.send(f"{error.part} {error.reason}".encode())
    except OSError as error:
        report.send(f"view {error}".encode())
    finally:
        os._exit(0)


def _make(confinement: Confinement, uid: int) -> None:
    syscalls.mount("", "/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)  # nothing done here is seen outside
    # A new root on /tmp covers it only until the pivot moves it away: what lies in /tmp can be shown too.
    syscalls.mount("tmpfs", "/tmp", "tmpfs", _PLAIN, "mode=755,size=4m,nr_inodes=4096")
    Path("/tmp" + _OLD).mkdir()
    syscalls.pivot_root("/tmp", "/tmp" + _OLD)
    os.chdir("/")
    _make_devices(confinement.devices)
    _make_settings(uid, confinement.home)
    _make_folders(confinement)
    _make_processes("proc" in confinement.parts)
    for path in (_SCRATCH, *_writable(confinement).values()):
        Path(path).mkdir(parents=True, exist_ok=True)
    syscalls.umount(_OLD, syscalls.MNT_DETACH)
    Path(_OLD).rmdir()
    _make_read_only("/")


def _writable(confinement: Confinement) -> dict[str, str]:
    return {"home": confinement.home, "tmp": "/tmp", "shm": _SHARED_MEMORY}


def _aside(confinement: Confinement) -> dict[str, str]:
    """Where what is to be shown beneath a writable folder waits for it: a checkout or an environment in ``/tmp``."""
    found: dict[str, str] = {}
    for path in (*confinement.read_only, *([confinement.cache] if confinement.cache else [])):
        writable = any(path.startswith(f"{folder}/") for folder in _writable(confinement).values())
        if writable and _place(path, found) == path:
            found[path] = f"{_ASIDE}/{len(found)}"
    return found


def _place(path: str, aside: dict[str, str]) -> str:
    """Where ``path`` is while the view is made."""
    for shown, waiting in aside.items():
        if path == shown or path.startswith(f"{shown}/"):
            return waiting + path.removeprefix(shown)
    return path


def _bind(source: str, target: str) -> None:
    """Bind a file or folder, with all that is mounted beneath it."""
    if Path(source).is_dir():
        Path(target).mkdir(parents=True, exist_ok=True)
    else:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(target).touch()
    syscalls.mount(source, target, flags=syscalls.MS_BIND | syscalls.MS_REC)


def _show(path: str, place: str, attributes: int = _READ_ONLY) -> None:
    """Bind what the old root has at ``path`` to ``place``."""
    _bind(_OLD + path, place)
    syscalls.restrict_mount(place, attributes)


def _make_read_only(path: str) -> None:
    syscalls.mount("", path, flags=syscalls.MS_REMOUNT | syscalls.MS_BIND | syscalls.MS_RDONLY | _PLAIN)


def _make_devices(accelerators: Iterable[str]) -> None:
    for name in _DEVICES:
        _show(f"/dev/{name}", f"/dev/{name}", _DEVICE)
    for name, target in _LINKS.items():
        Path("/dev", name).symlink_to(target)
    for path in accelerators:
        _show(path, path, _DEVICE)
    if accelerators:
        for path in _CHIPS:
            if Path(_OLD + path).exists():
                _show(path, path)


def _make_settings(uid: int, home: str) -> None:
    """``/etc``: what libraries read, and made-up users, so that the machine's own are not told."""
    for name in _SETTINGS:
        source = Path(_OLD, "etc", name)
        if source.is_symlink():
            Path("/etc").mkdir(exist_ok=True)
            Path("/etc", name).symlink_to(source.readlink())
        elif source.exists():
            _show(f"/etc/{name}", f"/etc/{name}")
    for name, text in {
        "passwd": f"root:x:0:0::/:/bin/false\nlearner:x:{uid}:{uid}::{home}:/bin/sh\n",
        "group": f"root:x:0:\nlearner:x:{uid}:\n",
        "hosts": "127.0.0.1 localhost\n::1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }.items():
        Path("/etc", name).write_text(text, encoding="utf-8")


def _make_folders(confinement: Confinement) -> None:
    """From the outside in: a mask hides what was shown around it, and what is shown beneath a mask is seen."""
    for path, target in confinement.links.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).symlink_to(target)
    aside = _aside(confinement)
    masks = {_place(path, aside) for path in confinement.masked}
    for path in sorted((*confinement.read_only, *confinement.masked), key=lambda path: path.count("/")):
        place = _place(path, aside)
        if place in masks:
            syscalls.mount("tmpfs", place, "tmpfs", _PLAIN, "mode=755,size=64k,nr_inodes=64")
        else:
            _show(path, place)
    for mask in masks:
        _make_read_only(mask)
    if confinement.cache is not None:
        attributes = _WRITABLE if confinement.cache_writable else _READ_ONLY
        _show(confinement.cache, _place(confinement.cache, aside), attributes)


def _make_processes(mountable: bool) -> None:
    """``/proc`` for the learners to mount theirs on; where that cannot be, the machine's figures as they are now.

    In a user namespace the kernel mounts one only where another is in sight, so this one stays, beneath theirs.
    """
    Path("/proc").mkdir()
    if not mountable:
        for name in _FIGURES:
            Path("/proc", name).write_bytes(Path(_OLD, "proc", name).read_bytes())
        return
    try:
        mount_processes()
    except OSError as error:
        raise ConfinementError("proc", error) from error
