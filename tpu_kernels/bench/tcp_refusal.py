"""Why a kernel refuses network namespaces, and the one line that changes its mind."""

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

from tpu_kernels.bench.measurement_error import MeasurementError
from tpu_kernels.phrases import phrase

# Switches that close namespaces to ordinary users: under /proc/sys, the value that closes, one that opens.
SWITCHES = (
    ("kernel/unprivileged_userns_clone", "0", "1"),  # Debian's kernels
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),  # Ubuntu's, since 23.10
    ("user/max_user_namespaces", "0", "1024"),
    ("user/max_net_namespaces", "0", "1024"),
)
AS_ROOT = f"sudo {sys.executable} -m tpu_kernels bench tcp"
IN_A_CONTAINER = "docker run --cap-add SYS_ADMIN"  # its seccomp profile opens namespaces to who has that
NO_VETH = (errno.EOPNOTSUPP, errno.ENODEV)


class NamespacesRefusedError(MeasurementError):
    """This machine does not let this user make two network namespaces and a cable between them."""


def refusal(step: str, number: int, *, root: bool, setting: Callable[[str], str | None]) -> NamespacesRefusedError:
    """What to raise after ``step`` (``"namespaces"``, ``"veth"``) failed with the errno ``number``.

    ``setting`` gives the value of a switch under ``/proc/sys``, or None where the kernel has no such switch.
    """
    why = os.strerror(number)
    if number in NO_VETH:
        return NamespacesRefusedError(phrase("host_network.no_veth", why=why, cure="sudo modprobe veth"))
    return NamespacesRefusedError(phrase("host_network.refused", step=step, why=why, cure=_cure(root, setting)))


def kernel_setting(name: str) -> str | None:
    """The value of a file under ``/proc/sys``; None where there is none."""
    path = Path("/proc/sys", name)
    return path.read_text(encoding="ascii").strip() if path.exists() else None


def _cure(root: bool, setting: Callable[[str], str | None]) -> str:
    for name, closed, opened in SWITCHES:
        if setting(name) == closed:
            return f"sudo sysctl {name.replace('/', '.')}={opened}"
    return IN_A_CONTAINER if root else AS_ROOT
