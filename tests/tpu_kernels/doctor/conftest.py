"""Evidence of a machine with nothing wrong, to be spoilt in one respect by each test."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tpu_kernels.backend import Here
from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.doctor.look import Sight
from tpu_kernels.machine.attached import Attached

CPU = Here("cpu", 1, "cpu", None, None)
V5E = Here("tpu", 1, "TPU v5 lite", "tpu_v5e", None)
H200 = Here("gpu", 1, "NVIDIA H200", "nvidia_h200_sxm", "9.0")
KINDS = {"cpu": CPU, "tpu": V5E, "gpu": H200}
HARDWARE = {"cpu": Attached(), "tpu": Attached(tpu_chips=1), "gpu": Attached(nvidia=True)}


@pytest.fixture
def seen() -> Callable[..., Sight]:
    """What jax computes on: a platform, with other values than its usual ones."""

    def build(platform: str = "cpu", **changed: object) -> Sight:
        here = replace(KINDS[platform], **changed)  # type: ignore[arg-type]
        return Sight(here, f"{platform} × {here.count}.", x64=True, matmul=("xla", "porque sí"))

    return build


@pytest.fixture
def evidence(seen: Callable[..., Sight]) -> Callable[..., Evidence]:
    """A sound machine of the given platform, with what is changed."""

    def build(platform: str = "cpu", **changed: object) -> Evidence:
        sound = Evidence(
            environ={"JAX_PLATFORMS": platform},
            pid=1000,
            attached=HARDWARE[platform],
            installed={"jax": "0.10.2", "jaxlib": "0.10.2", "numpy": "2.4.6"},
            asked_by_jax={"jaxlib": "<=0.10.2,>=0.10.1", "libtpu": "==0.0.42.*"},
            jax=seen(platform),
        )
        return replace(sound, **changed)  # type: ignore[arg-type]

    return build
