"""Where this runs, by the marks that each place documents."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from tpu_kernels.machine.attached import Attached

Place: TypeAlias = Literal["kaggle", "colab", "tpu_vm", "gpu_machine", "machine"]


def place(environ: Mapping[str, str], attached: Attached) -> Place:
    """A hosted notebook if its variable is there; else what the machine has."""
    if "KAGGLE_KERNEL_RUN_TYPE" in environ:
        return "kaggle"
    if "COLAB_RELEASE_TAG" in environ:
        return "colab"
    if attached.has("tpu"):
        return "tpu_vm"
    return "gpu_machine" if attached.has("gpu") else "machine"
