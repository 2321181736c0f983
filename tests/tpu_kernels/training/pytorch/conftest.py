"""Where PyTorch is, its tests; where it is not, those of saying so. `make test-torch` has an environment with both.

torch_xla computes on one simulated device, which it takes before the first ``backward()`` of the process, since
afterwards autograd would not know it.
"""

import importlib.util
import os

import pytest

HERE = importlib.util.find_spec("torch") is not None

collect_ignore_glob = [] if HERE else ["test_[!a]*.py"]

if HERE:
    os.environ |= {"PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": "1"}
    # XLA's CPU compiler takes 4.6 s for a step of the tests' transformer, and so 1.2 s; it computes the same.
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0".strip()


@pytest.fixture(scope="session", autouse=HERE)
def xla():
    """torch_xla's device, simulated on the CPU."""
    import torch

    from tpu_kernels.training.pytorch.libraries import torch_xla

    torch.set_num_threads(1)  # models this small only lose by sharing their sums out
    return torch_xla().device()
