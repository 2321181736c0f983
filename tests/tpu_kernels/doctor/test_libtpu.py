"""libtpu: who holds it, what it left behind, and what it says where there is no TPU."""

from pathlib import Path

import pytest

from tpu_kernels.doctor.libtpu import find
from tpu_kernels.doctor.probe import Failure
from tpu_kernels.machine.lockfile import Lockfile

PATH = Path("/tmp/libtpu_lockfile")
BUSY = Failure("raised", "RuntimeError: ABORTED: The TPU is already in use by process with pid 77. Not attempting")
INSTALLED = {"jax": "0.10.2", "libtpu": "0.0.42.1"}


def kinds(found):
    return [(finding.kind, finding.severity) for finding in found]


def test_no_lock_is_no_finding(evidence) -> None:
    assert find(evidence("tpu", installed=INSTALLED)) == []


@pytest.mark.parametrize(("platform", "severity"), [("tpu", "error"), ("cpu", "warning")])
def test_another_process_that_holds_it_is_named(evidence, platform: str, severity: str) -> None:
    found = find(evidence(platform, lockfile=Lockfile(PATH, (77,), usable=True)))
    assert kinds(found) == [("libtpu_held", severity)]
    assert "proceso 77" in found[0].message
    assert "sudo" not in found[0].cure


def test_a_holder_that_only_libtpu_knows_is_named_once(evidence) -> None:
    assert kinds(find(evidence("tpu", jax=BUSY))) == [("libtpu_held", "error")]
    both = find(evidence("tpu", jax=BUSY, lockfile=Lockfile(PATH, (77,), usable=True)))
    assert kinds(both) == [("libtpu_held", "error")]


def test_this_process_may_hold_it(evidence) -> None:
    assert find(evidence("tpu", pid=77, lockfile=Lockfile(PATH, (77,), usable=True))) == []


def test_a_lock_left_by_the_reader_is_a_note_without_sudo(evidence) -> None:
    found = find(evidence("tpu", lockfile=Lockfile(PATH, (), usable=True)))
    assert kinds(found) == [("libtpu_left", "note")]
    assert found[0].cure.endswith(f"rm {PATH}")
    assert "sudo" not in found[0].cure


@pytest.mark.parametrize(("platform", "severity"), [("tpu", "error"), ("cpu", "warning")])
def test_a_lock_of_another_user_stands_in_the_way(evidence, platform: str, severity: str) -> None:
    found = find(evidence(platform, lockfile=Lockfile(PATH, (), usable=False)))
    assert kinds(found) == [("libtpu_foreign", severity)]


def test_libtpu_without_a_tpu_is_a_note(evidence) -> None:
    assert kinds(find(evidence(environ={}, installed=INSTALLED))) == [("libtpu_noise", "note")]


def test_libtpu_that_stays_silent_is_no_finding(evidence) -> None:
    assert find(evidence("tpu", environ={}, installed=INSTALLED)) == []
    assert find(evidence(environ={"JAX_PLATFORMS": "cpu"}, installed=INSTALLED)) == []
    assert find(evidence(environ={})) == []
