"""The few Linux calls that Python's standard library lacks, by ctypes."""

import ctypes
import functools
import os
import platform
from collections.abc import Callable, Sequence

CLONE_NEWNS = 0x0002_0000
CLONE_NEWCGROUP = 0x0200_0000
CLONE_NEWUTS = 0x0400_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000
CLONE_NEWNET = 0x4000_0000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x4_0000
MNT_DETACH = 0x2

MOUNT_ATTR_RDONLY = 0x1
MOUNT_ATTR_NOSUID = 0x2
MOUNT_ATTR_NODEV = 0x4
MOUNT_ATTR_NOEXEC = 0x8

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

SECCOMP_SET_MODE_FILTER = 1

_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_KEYCTL_JOIN_SESSION_KEYRING = 1
_CAPABILITY_VERSION_3 = 0x2008_0522

# Calls that the C library has no function for, or only a newer one than we may meet.
_NUMBERS = {
    "x86_64": {"capset": 126, "pivot_root": 155, "keyctl": 250, "seccomp": 317, "mount_setattr": 442},
    "aarch64": {"capset": 91, "pivot_root": 41, "keyctl": 219, "seccomp": 277, "mount_setattr": 442},
}


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


class _Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction))]


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(function: Callable[..., int], *arguments: object, about: str = "") -> int:
    result = function(*arguments)
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), about)
    return result


def _numbered(name: str, *arguments: int | None, about: str = "") -> int:
    machine = platform.machine()
    if machine not in _NUMBERS:
        raise OSError(38, f"no number of {name} for {machine}", about)
    function = _library().syscall
    function.restype = ctypes.c_long
    return _call(function, *(ctypes.c_long(value or 0) for value in (_NUMBERS[machine][name], *arguments)), about=about)


def unshare(flags: int) -> None:
    """Leave the namespaces of ``flags`` for new ones. Raises ``OSError``, as all of this module do."""
    _call(_library().unshare, ctypes.c_int(flags), about=f"unshare {flags:#x}")


def setns(fd: int, kind: int) -> None:
    """Join the namespace that ``fd`` stands for."""
    _call(_library().setns, ctypes.c_int(fd), ctypes.c_int(kind), about="setns")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount, as ``mount(2)``."""
    text = [part.encode() or None for part in (source, target, kind, options)]
    _call(_library().mount, *text[:3], ctypes.c_ulong(flags), text[3], about=f"mount {kind or source} on {target}")


def umount(target: str, flags: int = 0) -> None:
    """Unmount, as ``umount2(2)``."""
    _call(_library().umount2, target.encode(), ctypes.c_int(flags), about=f"umount {target}")


def restrict_mount(target: str, attributes: int) -> None:
    """Give a mount and all that is mounted beneath it these attributes (``MOUNT_ATTR_…``)."""
    wanted = _MountAttributes(set=attributes)
    path = ctypes.create_string_buffer(target.encode())
    _numbered(
        "mount_setattr",
        _AT_FDCWD,
        ctypes.addressof(path),
        _AT_RECURSIVE,
        ctypes.addressof(wanted),
        ctypes.sizeof(wanted),
        about=f"mount_setattr {target}",
    )


def pivot_root(new: str, old: str) -> None:
    """Make ``new`` the root, and show the root of before at ``old``, a folder in it."""
    texts = [ctypes.create_string_buffer(path.encode()) for path in (new, old)]
    _numbered("pivot_root", *map(ctypes.addressof, texts), about=f"pivot_root {new}")


def prctl(option: int, first: int = 0) -> None:
    """An operation on this process (``PR_…``)."""
    values = [ctypes.c_ulong(value) for value in (first, 0, 0, 0)]
    _call(_library().prctl, ctypes.c_int(option), *values, about=f"prctl {option}")


def drop_capabilities() -> None:
    """Give up every capability: permitted, effective, inheritable."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _numbered("capset", ctypes.addressof(header), ctypes.addressof(nothing), about="capset")


def new_session_keyring() -> None:
    """Leave the keyring of whoever started the grader for an empty one."""
    _numbered("keyctl", _KEYCTL_JOIN_SESSION_KEYRING, None, about="keyctl")


def load_filter(instructions: Sequence[tuple[int, int, int, int]]) -> None:
    """Let this seccomp program (``code, jt, jf, k``) judge every call from here on, of all that this process starts."""
    array = (_Instruction * len(instructions))(*(_Instruction(*instruction) for instruction in instructions))
    program = _Program(len(instructions), array)
    _numbered("seccomp", SECCOMP_SET_MODE_FILTER, 0, ctypes.addressof(program), about="seccomp")
