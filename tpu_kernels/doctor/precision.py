"""Numbers that lose half their bits without a word."""

from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.machine.finding import Finding
from tpu_kernels.phrases import phrase


def find(evidence: Evidence) -> list[Finding]:
    """jax's rule for 64-bit numbers, where it is in force: nobody is told when it is applied."""
    if evidence.sight is None or evidence.sight.x64:
        return []
    return [Finding("x64_off", "note", phrase("doctor.double_off"), phrase("doctor.double_off_cure"))]
