"""Code that runs confined, from a test: ``confine(kind, source)``."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from graders.sandbox.confinement import Confinement

ORDINARY_UID = 12345  # of confined.py
PROGRAM = Path(__file__).with_name("confined.py")
WAIT_S = 120  # for a machine under load; a confined process that hangs is a failure


def shown_of(checkout: Path) -> list[str]:
    """What a learner may see of a checkout: the library, and the environment that runs it, where that lies in it."""
    prefix = Path(sys.prefix)
    return sorted({"tpu_kernels", *(entry.name for entry in checkout.iterdir() if entry in (prefix, *prefix.parents))})


@dataclass(frozen=True)
class Ended:
    """What became of a confined process: see ``confined.py``."""

    said: list[Any]
    status: int
    memory: bool
    left: bool
    outside: int
    remains: list[str]


Confine = Callable[..., Ended]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="session")
def start() -> Iterator[Start]:
    """``start(kind, source, until="exit", ordinary=…, **fields)``: the program of a zygote that runs it, as who has
    that kind.

    ``fields`` are the confinement's; a user who is not root has no control groups here.
    """
    with tempfile.TemporaryDirectory(prefix="learner-") as folder:  # not pytest's, which other users may not pass
        Path(folder).chmod(0o711)

        def run(
            kind: str,
            source: str,
            *,
            until: str = "exit",
            ordinary: bool | None = None,
            within: Sequence[str] = (),
            **fields: Any,
        ) -> "subprocess.Popen[str]":
            ordinary = kind != "root" if ordinary is None else ordinary
            if kind != "root":
                fields.setdefault("parts", ("network", "proc", "seccomp") if kind == "user" else ("seccomp",))
            if kind == "limits":
                home = tempfile.mkdtemp(dir=folder)
                fields = {"home": home, "uid": None, **fields}
                if os.geteuid() == 0 and ordinary:
                    os.chown(home, ORDINARY_UID, -1)
            request = {
                "path": sys.path,
                "confinement": Confinement.for_this_python(kind, **fields).to_json(),
                "source": textwrap.dedent(source),
                "ordinary": ordinary,
                "until": until,
            }
            return subprocess.Popen(
                [*within, sys.executable, "-I", str(PROGRAM), json.dumps(request)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )

        yield run


@pytest.fixture(scope="session")
def confine(start: Start) -> Confine:
    """As ``start``, to its end."""

    def run(kind: str, source: str, **options: Any) -> Ended:
        with start(kind, source, **options) as process:
            answer, complaint = process.communicate(timeout=WAIT_S)
        assert process.returncode == 0, complaint
        return Ended(**json.loads(answer))

    return run
