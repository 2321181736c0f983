"""More simulated devices than threads: devices that wait for each other wait for ever."""

from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.machine.environment import forced_devices
from tpu_kernels.machine.finding import Finding
from tpu_kernels.phrases import phrase


def find(evidence: Evidence) -> list[Finding]:
    """A forced number of CPU devices above the machine's threads while ``NPROC`` does not widen XLA's pool."""
    asked = forced_devices(evidence.environ) or 0
    if evidence.sight and evidence.sight.here.platform == "cpu":
        asked = max(asked, evidence.sight.here.count)
    pool = evidence.environ.get("NPROC", "")
    width = int(pool) if pool.isdecimal() else evidence.threads
    if asked <= max(1, width):
        return []
    return [
        Finding(
            "threads",
            "warning",
            phrase("doctor.threads", asked=asked, threads=width),
            phrase("doctor.threads_cure"),
        )
    ]
