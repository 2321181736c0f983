"""The devices that jax sees, beside those that were asked for and those that are attached."""

from collections.abc import Iterator

from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.machine import platforms
from tpu_kernels.machine.finding import Finding
from tpu_kernels.phrases import phrase


def find(evidence: Evidence) -> list[Finding]:
    """A platform that is not here, hardware that lies idle, fewer devices than expected, or plainly a CPU."""
    return [*_refused(evidence), *_too_few(evidence), *_on_the_cpu(evidence)]


def _refused(evidence: Evidence) -> Iterator[Finding]:
    if evidence.failure and evidence.failure.how == "raised":
        refused = platforms.refusal(_asked(evidence), evidence.attached, evidence.failure.words)
        if refused:
            yield refused


def _too_few(evidence: Evidence) -> Iterator[Finding]:
    expected, seen = evidence.expected_devices, evidence.sight
    if expected is not None and seen is not None and seen.here.count < expected:
        cure = phrase("doctor.devices_few_cure", expected=expected)
        yield Finding(
            "devices_few",
            "error",
            phrase("doctor.devices_few", expected=expected, found=seen.here.count, kind=seen.here.kind),
            f"{cure} {phrase('doctor.devices_few_colab')}" if evidence.place == "colab" else cure,
        )


def _on_the_cpu(evidence: Evidence) -> Iterator[Finding]:
    seen = evidence.sight
    if seen is None or seen.here.platform != "cpu" or "cpu" in platforms.wanted_platforms(_asked(evidence)):
        return
    best = evidence.attached.platforms[0]
    if best != "cpu":
        yield platforms.undriven("rocm" if best == "gpu" and not evidence.attached.nvidia else best, "warning")
    elif evidence.place in {"colab", "kaggle"}:
        yield Finding("cpu_only", "note", phrase("doctor.cpu_only"), phrase("doctor.cpu_only_hosted_cure"))
    else:
        yield Finding("cpu_only", "note", phrase("doctor.cpu_only"), phrase("doctor.cpu_only_cure"))


def _asked(evidence: Evidence) -> str | None:
    return evidence.jax_platforms or evidence.environ.get("JAX_PLATFORMS")
