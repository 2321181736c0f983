"""The same models and the same step in PyTorch: eager on CPU and CUDA, compiled through torch_xla on TPU.

Import the modules: ``from tpu_kernels.training.pytorch import step, transformer``. Importing any of them raises
:class:`~tpu_kernels.training.pytorch.libraries.LibraryError`, with the cure, where PyTorch is not installed; torch_xla
is looked at only by what uses it.
"""

from tpu_kernels.training.pytorch.libraries import require_torch

require_torch()
