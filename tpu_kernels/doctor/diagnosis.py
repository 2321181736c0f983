"""From evidence to a report: every finder asked, worst first, and what the machine is in plain words."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tpu_kernels.doctor import (
    devices,
    flags,
    gpu_memory,
    kernels,
    libtpu,
    precision,
    startup,
    threads,
    torch_xla,
    versions,
)
from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.doctor.gather import gather
from tpu_kernels.doctor.text import facts, plain
from tpu_kernels.machine.distributions import SHOWN
from tpu_kernels.machine.environment import read_by_jax
from tpu_kernels.machine.finding import Finding
from tpu_kernels.messages import language

SCHEMA = 1  # of to_dict: grows when a key goes or changes its meaning

CAUSES = (flags, versions, devices, libtpu)  # whose errors say why jax does not start
OTHERS = (kernels, torch_xla, gpu_memory, threads, precision)
SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Report:
    """What was found. Shows itself as text in a notebook; ``exit_status`` is 1 when something must be put right."""

    evidence: Evidence
    findings: tuple[Finding, ...]
    language: str

    @property
    def exit_status(self) -> int:
        """1 when there is an error, 0 otherwise."""
        return int(any(finding.severity == "error" for finding in self.findings))

    def to_dict(self) -> dict[str, Any]:
        """As plain data. Keys and kinds are stable within a ``schema``; messages and cures are text for people."""
        seen = self.evidence
        return {
            "schema": SCHEMA,
            "language": self.language,
            "exit_status": self.exit_status,
            "place": seen.place,
            "attached": vars(seen.attached),
            "python": seen.python,
            "versions": {name: seen.installed.get(name) for name in SHOWN},
            "environment": read_by_jax(seen.environ),
            "jax": seen.sight.to_dict() if seen.sight else None,
            "findings": [vars(finding) for finding in self.findings],
        }

    def facts(self) -> list[tuple[str, str]]:
        """What the machine is: a label and a value each."""
        return facts(self.evidence)

    def __repr__(self) -> str:
        return plain(self.facts(), self.findings)


def diagnose(evidence: Evidence) -> Report:
    """Ask every finder; the worst first, and in the order of the finders among equals."""
    found = sorted(_found(evidence), key=lambda finding: SEVERITIES.index(finding.severity))
    return Report(evidence, tuple(found), language())


def report(expect_devices: int | None = None, time_limit: float = 120) -> Report:
    """Look at this machine; takes no device and changes nothing.

    ``expect_devices``: fewer are an error. ``time_limit``: seconds that jax may take to start, in another process.
    """
    return diagnose(gather(expect_devices, time_limit))


def _found(evidence: Evidence) -> Iterator[Finding]:
    explained = False
    for finder in CAUSES:
        for finding in finder.find(evidence):
            explained = explained or finding.severity == "error"
            yield finding
    if not explained:
        yield from startup.find(evidence)
    for finder in OTHERS:
        yield from finder.find(evidence)
