"""What code finds when it looks for a way out of its namespaces: the same walls, whether the grader is root or not."""

import os
import socket
from pathlib import Path
from typing import Any

import numpy
import pytest

import graders
from graders.sandbox.confinement import Confinement
from graders.sandbox.permitted import permitted

from .conftest import Confine, shown_of

PROBES = Path(__file__).with_name("probes.py").read_text(encoding="utf-8")
CHECKOUT = Path(graders.__file__).resolve().parents[1]
SCRATCH = 8 * 2**20
NO_RIGHTS = "0000000000000000"

READ_ONLY = ("write /etc", "write the root", "write a package", "write a library", "write the course")
REFUSED = (
    "mount",
    "unmount",
    "change the root",
    "make a namespace",
    "fork into a namespace",
    "join a namespace",
    "trace",
    "read another's memory",
    "use keys",
    "load a kernel's program",
    "make rings",
    "handle page faults",
    "open by handle",
    "change personality",
    "make a disk",
    "type for another",
    "raise priority",
    "set the clock",
    "rename the machine",
    "become root",
    "become another",
    "join a group",
)

# Whether anything that a learner sees lies where the learner's own folder for temporary files is.
WAITS_ASIDE = any(path.startswith("/tmp/") for path in Confinement.for_this_python("root").read_only)

FOUND: dict[str, Any] = {
    **dict.fromkeys(READ_ONLY, "EROFS"),
    **dict.fromkeys(REFUSED, "EPERM"),
    "raise a limit": "ValueError",  # Python's word for the kernel's EPERM
    "write a kernel's setting": "EROFS",
    "write what waits aside": "EROFS" if WAITS_ASIDE else "ENOENT",
    "change a mode": "EROFS",
    "read passwords": "ENOENT",
    "see users": ["root", "learner"],
    "see the checkout": shown_of(CHECKOUT),
    "see the old root": False,
    "see homes": "ENOENT",
    "see other folders": [],
    "see devices": ["fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero"],
    "see processes": ["1"],
    "see the machine's name": "learner",
    "see interfaces": ["lo"],
    "signal the grader": "ESRCH",
    "signal all": "ESRCH",
    "connect out": "ENETUNREACH",
    "connect to this machine": "ENETUNREACH",
    "ask for routes": "EAFNOSUPPORT",
    "reach the host": "EAFNOSUPPORT",
    "keep personality": "done",
    "call what is newer": "ENOSYS",
    "stop oneself": None,
    "core dumps": [0, 0],
    "place": ["/learner", "/learner", "/tmp"],
    "mask": 0o077,
    "user": "learner",
    "interrupt": True,
    "write home": "written",
    "write /tmp": "written",
    "share memory": "written",
    "make a pipe": None,
    "run a program": "42",
    "run a program in a namespace": False,
    "quota": [SCRATCH] * 3,
    "import Python's own": "imported",
    "import packages": 3.0,
    "import the course": "imported",
    "import the grader": "ModuleNotFoundError",
    "random bytes": 16,
}

# A user namespace of one user has no number for any other.
FOUND_BY = {"root": {}, "user": {"become root": "EINVAL", "become another": "EINVAL"}}


@pytest.fixture(scope="module", params=["root", "user"])
def found(request: pytest.FixtureRequest, confine: Confine) -> dict[str, Any]:
    """The findings of every probe, for a grader that is root and for one that is an ordinary user."""
    if permitted().kind == "limits" or (request.param == "root" and permitted().kind != "root"):
        assert permitted().missing, "nothing here tells the instructor what this machine does not permit"
        pytest.fail(f"no confinement of kind {request.param} here: {permitted().missing}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        given = {
            "checkout": str(CHECKOUT),
            "site": str(Path(numpy.__file__).parents[1]),
            "port": server.getsockname()[1],
            "grader": os.getpid(),
        }
        ended = confine(request.param, f"{PROBES}\nsay(findings(**{given}))", scratch_bytes=SCRATCH)
    assert (ended.status, ended.left, ended.remains) == (0, False, [])
    (findings,) = ended.said
    return {"kind": request.param, **findings}


@pytest.mark.parametrize("attempt", FOUND)
def test_an_attempt_finds_the_wall_and_a_need_is_met(found: dict[str, Any], attempt: str) -> None:
    assert found[attempt] == {**FOUND, **FOUND_BY[found["kind"]]}[attempt]


def test_no_right_is_left(found: dict[str, Any]) -> None:
    rights = found["rights"]
    assert {rights[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb", "CapInh")} == {NO_RIGHTS}
    assert (rights["NoNewPrivs"], rights["Seccomp"], rights["Groups"]) == ("1", "2", "")


def test_only_what_was_named_stays_open(found: dict[str, Any]) -> None:
    # the three standard ones, the one kept for what the code says, and the one that lists the folder
    assert len(found["descriptors"]) == 5


def test_the_environment_is_made_anew(found: dict[str, Any]) -> None:
    assert not {"PYTHONPATH", "PWD", "SHLVL", "SISTOLICA_LANG"} & {*found["variables"]}
    assert {"HOME", "PATH", "LANG", "TMPDIR", "JAX_PLATFORMS", "MPLBACKEND", "PYTHONHASHSEED"} <= {*found["variables"]}
