"""GPU memory that is taken before jax asks for its share."""

from collections.abc import Mapping

from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.machine.finding import Finding
from tpu_kernels.machine.nvidia_smi import GpuMemory
from tpu_kernels.messages import decimal
from tpu_kernels.phrases import phrase

SHARE = 0.75  # of a GPU's whole memory that jax takes at once: docs.jax.dev, "GPU memory allocation"
NEEDED = 0.10  # of it that should be free where jax takes what it needs as it goes
GIBIBYTE = 2**30


def find(evidence: Evidence) -> list[Finding]:
    """Each GPU on which less is free than jax asks for when it starts; a note where this process itself holds it."""
    share = _share(evidence.environ)
    return [_taken(evidence, gpu, share) for gpu in evidence.gpus if gpu.free < share * gpu.total]


def _taken(evidence: Evidence, gpu: GpuMemory, share: float) -> Finding:
    on_gpu = evidence.sight is not None and evidence.sight.here.platform == "gpu"
    own = evidence.pid in gpu.holders or (evidence.jax_started and on_gpu)  # a container hides who holds what
    if own:
        holders = phrase("doctor.gpu_own")
    else:
        holders = ", ".join(phrase("doctor.gpu_holder", pid=pid) for pid in gpu.holders) or phrase("doctor.gpu_unknown")
    return Finding(
        "gpu_memory",
        "note" if own else "warning",
        phrase(
            "doctor.gpu_memory",
            index=gpu.index,
            name=gpu.name,
            free=_gibibytes(gpu.free),
            total=_gibibytes(gpu.total),
            asked=_gibibytes(share * gpu.total),
            holders=holders,
        ),
        phrase("doctor.gpu_memory_cure"),
    )


def _share(environ: Mapping[str, str]) -> float:
    if environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", "").lower() in {"false", "0"}:
        return NEEDED
    if environ.get("XLA_PYTHON_CLIENT_ALLOCATOR", "").lower() == "platform":
        return NEEDED
    for name in ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"):
        try:
            return float(environ[name])
        except (KeyError, ValueError):  # not set, or not a number: jax says so itself
            continue
    return SHARE


def _gibibytes(count: float) -> str:
    return decimal(f"{count / GIBIBYTE:.1f}")
