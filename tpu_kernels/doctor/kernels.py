"""The library's kernels, on a jax that they were not written for."""

from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.machine.finding import Finding
from tpu_kernels.phrases import phrase


def find(evidence: Evidence) -> list[Finding]:
    """jax works and the kernels cannot be loaded on it."""
    if evidence.sight is None or evidence.sight.kernels_failure is None:
        return []
    words = evidence.sight.kernels_failure
    return [
        Finding("kernels_fail", "error", phrase("doctor.kernels_fail", words=words), phrase("doctor.kernels_fail_cure"))
    ]
