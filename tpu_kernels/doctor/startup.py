"""jax does not start, and no other finder knows why: its own words."""

from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.machine.finding import Finding
from tpu_kernels.phrases import phrase


def find(evidence: Evidence) -> list[Finding]:
    """How jax ended, in its own words."""
    failure = evidence.failure
    if failure is None:
        return []
    match failure.how:
        case "timed_out":
            message, cure = phrase("doctor.jax_hangs", limit=failure.words), phrase("doctor.jax_hangs_cure")
            return [Finding("jax_hangs", "error", message, cure)]
        case "aborted":
            message, cure = phrase("doctor.jax_aborts", words=failure.words), phrase("doctor.jax_aborts_cure")
            return [Finding("jax_aborts", "error", message, cure)]
        case "raised":
            message, cure = phrase("doctor.jax_fails", words=failure.words), phrase("doctor.jax_fails_cure")
            return [Finding("jax_fails", "error", message, cure)]
