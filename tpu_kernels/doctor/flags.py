"""Flags in the environment: characters and names that abort jax, and settings that came too late to count."""

import re
from collections.abc import Iterator

from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.machine import platforms
from tpu_kernels.machine.environment import forced_devices, odd_characters
from tpu_kernels.machine.finding import Finding
from tpu_kernels.phrases import phrase

UNKNOWN = re.compile(r"Unknown flags? in XLA_FLAGS: (.+)")


def find(evidence: Evidence) -> list[Finding]:
    """Odd characters, unknown flags, a number of devices or a platform that jax does not obey."""
    return [*odd_characters(evidence.environ), *_unknown(evidence), *_not_obeyed(evidence), *_platform_late(evidence)]


def _unknown(evidence: Evidence) -> Iterator[Finding]:
    named = UNKNOWN.search(evidence.failure.words) if evidence.failure else None
    if named:
        yield Finding(
            "flag_unknown",
            "error",
            phrase("doctor.flag_unknown", flags=named[1]),
            phrase("doctor.flag_unknown_cure"),
        )


def _not_obeyed(evidence: Evidence) -> Iterator[Finding]:
    asked, seen = forced_devices(evidence.environ), evidence.sight
    if asked is None or seen is None:
        return
    if seen.here.platform != "cpu":
        yield Finding(
            "devices_not_cpu",
            "warning",
            phrase("doctor.devices_not_cpu", asked=asked, platform=seen.here.platform),
            phrase("doctor.devices_not_cpu_cure", asked=asked),
        )
    elif evidence.jax_started and seen.here.count != asked:
        yield Finding(
            "devices_late",
            "error",
            phrase("doctor.devices_late", asked=asked, found=seen.here.count),
            phrase("doctor.first_cell_cure"),
        )


def _platform_late(evidence: Evidence) -> Iterator[Finding]:
    if evidence.jax_started and evidence.sight:
        late = platforms.late(evidence.environ, evidence.jax_platforms, evidence.sight.here.platform)
        if late:
            yield late
