"""What one learner's process may see and use, as plain values that travel between processes."""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from graders.sandbox.folders import folders_of_this_python

KINDS = ("root", "user", "limits")
PARTS = ("memory", "pids", "network", "proc", "seccomp")  # of a whole confinement

# In systemd's range for passing users: no account has it, and a container that maps 65,536 users maps this one too.
LEARNER_UID = 61999
HOME = "/learner"


class ConfinementError(Exception):
    """A part of the confinement that could not be had: nothing of the learner's may run in this process.

    Attributes: ``part`` (one of ``PARTS``, or ``"namespaces"``, ``"view"``, ``"limits"``), ``reason``.
    """

    def __init__(self, part: str, reason: object) -> None:
        super().__init__(f"{part}: {reason}")
        self.part = part
        self.reason = str(reason)


@dataclass(frozen=True)
class Confinement:
    """All that :func:`graders.sandbox.enter.enter` needs to know.

    ``kind``: ``"root"`` (a grader started as root: namespaces, another user for real), ``"user"`` (namespaces of an
    ordinary user), ``"limits"`` (neither). ``parts``: which of ``PARTS`` this machine has, the others are gone
    without. ``home``: the learner's folder; for ``"limits"`` the folder, made by the caller, in which each learner's
    is made. Sizes are bytes.
    """

    kind: str
    environment: Mapping[str, str]  # besides the usual variables, or instead of them
    parts: tuple[str, ...] = PARTS
    uid: int | None = LEARNER_UID  # None: the user that started the grader, for whom no other user can be had
    home: str = HOME
    read_only: tuple[str, ...] = ()  # real paths, shown where they are
    masked: tuple[str, ...] = ()  # real paths beneath those, shown empty
    links: Mapping[str, str] = field(default_factory=dict)  # symbolic links on the way to those, and where they lead
    devices: tuple[str, ...] = ()  # real paths in /dev, for programs on an accelerator
    cache: str | None = None  # folder of compiled programs, a real path
    cache_writable: bool = False  # for the reference solution, which fills it
    memory_bytes: int = 2 * 2**30
    processes: int = 128
    cpu_s: int = 600
    scratch_bytes: int = 256 * 2**20  # home, /tmp and /dev/shm together
    scratch_files: int = 8192
    # A quarter of what a grader usually may: descriptors on their way over sockets count for the user, which may be the
    # grader's own, and a user with too many on their way can send no more.
    open_files: int = 256

    @classmethod
    def for_this_python(
        cls,
        kind: str,
        *,
        hidden: Iterable[str] = (),
        environment: Mapping[str, str] | None = None,
        **changes: Any,
    ) -> Self:
        """A confinement that shows what this interpreter needs, and of the course the ``tpu_kernels`` package only.

        ``hidden``: folders that must not be seen even where they lie beneath one that is. ``changes``: other fields.
        """
        folders = folders_of_this_python(hidden)
        return cls(
            kind=kind,
            environment=dict(environment or {}),
            read_only=folders.shown,
            masked=folders.masked,
            links=folders.links,
            **changes,
        )

    def variables(self, home: str, temporary: str) -> dict[str, str]:
        """All variables that a learner's process has; nothing of the grader's own goes in."""
        return {
            "HOME": home,
            "IPYTHONDIR": f"{home}/.ipython",
            "JAX_PLATFORMS": "cpu",
            "LANG": "C.UTF-8",
            "LOGNAME": "learner",
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "MPLCONFIGDIR": f"{home}/.matplotlib",
            "PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin",
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            "PYTHONHASHSEED": "0",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TMPDIR": temporary,
            "USER": "learner",
            **self.environment,
        }

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The confinement that :meth:`to_json` wrote."""
        values: dict[str, Any] = json.loads(text)
        return cls(**values | {name: tuple(value) for name, value in values.items() if isinstance(value, list)})
