"""PyTorch/XLA: built for another PyTorch, or with its devices taken before its processes start."""

from collections.abc import Iterator

from packaging.version import Version

from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.machine.finding import Finding
from tpu_kernels.phrases import phrase


def find(evidence: Evidence) -> list[Finding]:
    """A torch and a torch_xla that do not match, and devices that this process holds."""
    return [*_pair(evidence), *_claimed(evidence)]


def _pair(evidence: Evidence) -> Iterator[Finding]:
    torch, torch_xla = (evidence.installed.get(name) for name in ("torch", "torch_xla"))
    differ = torch is not None and torch_xla is not None and _series(torch) != _series(torch_xla)
    failure = evidence.torch_xla_failure
    if not differ and (failure is None or failure.how == "timed_out"):
        return
    # torch_xla's own number says which torch it was built for, so the pair of that number exists.
    known = torch_xla or torch
    pair = [f"'{name}=={_series(known)}.*'" if known else name for name in ("torch", "torch_xla")]
    yield Finding(
        "torch_pair",
        "error",
        phrase(
            "doctor.torch_pair",
            torch=torch or phrase("doctor.not_installed"),
            torch_xla=torch_xla or phrase("doctor.unknown_version"),
            words=failure.words if failure else phrase("doctor.torch_series"),
        ),
        phrase("doctor.torch_pair_cure", pair=" ".join(pair)),
    )


def _claimed(evidence: Evidence) -> Iterator[Finding]:
    seen = evidence.sight
    jax_claims = evidence.jax_started and seen is not None and seen.here.platform == "tpu"
    uses_torch_xla = "torch_xla" in evidence.installed or "torch_xla" in evidence.imported
    if evidence.torch_xla_started or (jax_claims and uses_torch_xla):
        message, cure = phrase("doctor.device_claimed"), phrase("doctor.device_claimed_cure")
        yield Finding("device_claimed", "warning", message, cure)


def _series(version: str) -> str:
    return f"{Version(version).major}.{Version(version).minor}"
