"""A report as text: what the machine is, then what was found, each with its cure."""

import textwrap
from collections.abc import Sequence

from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.machine.distributions import SHOWN
from tpu_kernels.machine.finding import Finding
from tpu_kernels.machine.place import Place
from tpu_kernels.phrases import phrase

WIDTH = 88


def facts(seen: Evidence) -> list[tuple[str, str]]:
    """A label and a value for each thing that a helper would ask first."""
    installed = (f"{name} {seen.installed[name]}" for name in SHOWN if name in seen.installed)
    versions = ", ".join([f"Python {seen.python}", *installed])
    rows = [(phrase("doctor.place"), place_name(seen.place))]
    rows.append((phrase("doctor.runs_on"), seen.sight.described if seen.sight else phrase("doctor.not_started")))
    if seen.sight and seen.sight.matmul:
        rows.append((phrase("doctor.matmul"), seen.sight.matmul[1]))
    return [*rows, (phrase("doctor.versions"), versions)]


def place_name(place: Place) -> str:
    """Where this runs, in words."""
    match place:
        case "colab":
            return "Google Colab"
        case "kaggle":
            return "Kaggle"
        case "tpu_vm":
            return phrase("doctor.tpu_vm")
        case "gpu_machine":
            return phrase("doctor.gpu_machine")
        case "machine":
            return phrase("doctor.machine")


def paragraphs(finding: Finding) -> list[tuple[str, str]]:
    """The finding under its severity, and what to do under a heading of its own; a note is all in one."""
    if finding.severity == "note":
        return [(phrase("doctor.note"), finding.line)]
    heading = phrase("doctor.error") if finding.severity == "error" else phrase("doctor.warning")
    return [(heading, finding.message), (phrase("doctor.cure"), finding.cure)]


def summary(findings: Sequence[Finding]) -> str:
    """How many of each severity, and whether all is well."""
    counts = {severity: sum(finding.severity == severity for finding in findings) for severity in ("error", "warning")}
    if not any(counts.values()):
        return phrase("doctor.sound")
    return phrase("doctor.summary", errors=counts["error"], warnings=counts["warning"])


def plain(rows: Sequence[tuple[str, str]], findings: Sequence[Finding]) -> str:
    """The report in lines of at most :data:`WIDTH` characters, for a notebook."""
    margin = max(len(label) for label, _ in rows) + 2
    lines = [_hanging(label.ljust(margin), value, margin) for label, value in rows]
    for finding in findings:
        lines += ["", *(_hanging(f"{heading}: ", text, 2) for heading, text in paragraphs(finding))]
    return "\n".join([*lines, "", summary(findings)])


def _hanging(head: str, text: str, margin: int) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=head,
        subsequent_indent=" " * margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
