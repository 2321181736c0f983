"""Whose process it is, and what it may do: another user, no capability, no way to get one back."""

import contextlib
import itertools
import os
from collections.abc import Iterable
from pathlib import Path

from graders.sandbox import syscalls


def switch_user(uid: int, groups: Iterable[int]) -> None:
    """Become the user ``uid`` for real, in its own group and ``groups``. Raises ``OSError``."""
    os.setgroups([*groups])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    # The change closed /proc/self to its new owner; any program that it starts would open it again.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)


def map_user(inside: int, user: int, group: int) -> None:
    """In a new user namespace, call the one user it has ``inside``. Raises ``OSError``."""
    process = Path("/proc/self")
    (process / "setgroups").write_text("deny", encoding="utf-8")  # the kernel's condition for the map of groups
    (process / "uid_map").write_text(f"{inside} {user} 1", encoding="utf-8")
    (process / "gid_map").write_text(f"{inside} {group} 1", encoding="utf-8")


def groups_of(devices: Iterable[str]) -> tuple[int, ...]:
    """The groups, root's left out, to which these devices' files belong."""
    paths = [path for device in devices for path in (Path(device), *Path(device).rglob("*"))]
    return tuple(sorted({path.stat().st_gid for path in paths} - {0}))


def give_up_rights(uid: int, groups: Iterable[int] = ()) -> None:
    """Become the user ``uid``, with no capability, no way to one, and none of the grader's keys. Raises ``OSError``."""
    with contextlib.suppress(PermissionError):  # who may not drop these has none, and under no_new_privs gains none
        _drop_bounding_set()
    if os.geteuid() != uid:
        switch_user(uid, groups)
    syscalls.prctl(syscalls.PR_CAP_AMBIENT, syscalls.PR_CAP_AMBIENT_CLEAR_ALL)
    syscalls.drop_capabilities()
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    with contextlib.suppress(OSError):  # no keyrings in this kernel, or closed by a container: no key to reach either
        syscalls.new_session_keyring()


def _drop_bounding_set() -> None:
    for capability in itertools.count():
        try:
            syscalls.prctl(syscalls.PR_CAPBSET_DROP, capability)
        except OSError as error:
            if isinstance(error, PermissionError):
                raise
            return  # EINVAL: the kernel's last one was before
