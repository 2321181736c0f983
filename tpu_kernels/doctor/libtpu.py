"""libtpu: its lock, held by another process or left behind, and its noise where there is no TPU."""

import re
from collections.abc import Iterator

from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.machine.finding import Finding, Severity
from tpu_kernels.phrases import phrase

IN_USE = re.compile(r"in use by process with pid (\d+)")


def find(evidence: Evidence) -> list[Finding]:
    """Who holds the TPU, a lock that cannot be used, a lock that was left, and a libtpu without a TPU."""
    return [*_held(evidence), *_left(evidence), *_noisy(evidence)]


def _held(evidence: Evidence) -> Iterator[Finding]:
    holders = set(evidence.lockfile.holders) if evidence.lockfile else set()
    if evidence.failure:
        holders |= {int(pid) for pid in IN_USE.findall(evidence.failure.words)}
    for pid in sorted(holders - {evidence.pid}):
        yield Finding(
            "libtpu_held",
            "error" if evidence.attached.has("tpu") else "warning",
            phrase("doctor.libtpu_held", pid=pid),
            phrase("doctor.libtpu_held_cure", pid=pid),
        )


def _left(evidence: Evidence) -> Iterator[Finding]:
    lock = evidence.lockfile
    if lock is None or lock.holders:
        return
    if lock.usable:
        message = phrase("doctor.libtpu_left", path=lock.path)
        yield Finding("libtpu_left", "note", message, phrase("doctor.libtpu_left_cure", path=lock.path))
    else:
        severity: Severity = "error" if evidence.attached.has("tpu") else "warning"
        message = phrase("doctor.libtpu_foreign", path=lock.path)
        yield Finding("libtpu_foreign", severity, message, phrase("doctor.libtpu_foreign_cure", path=lock.path))


def _noisy(evidence: Evidence) -> Iterator[Finding]:
    if "libtpu" in evidence.installed and not evidence.attached.has("tpu") and "JAX_PLATFORMS" not in evidence.environ:
        yield Finding("libtpu_noise", "note", phrase("doctor.libtpu_noise"), phrase("doctor.libtpu_noise_cure"))
