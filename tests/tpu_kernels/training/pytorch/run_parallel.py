"""The gradients of one step on several simulated devices, to a file: ``python run_parallel.py spmd|processes FILE``.

As a program of its own because what torch_xla's devices are is settled once a process.
"""

import sys

import numpy as np
import torch

from tests.tpu_kernels.training.pytorch.examples import classifier_arrays, pixel_batch
from tpu_kernels.training.pytorch import processes, spmd
from tpu_kernels.training.pytorch.classifier import Classifier
from tpu_kernels.training.pytorch.counters import count
from tpu_kernels.training.pytorch.simulation import simulate_devices
from tpu_kernels.training.pytorch.step import make_step

DEVICES = 4
ROWS = 10  # which neither the devices nor the microbatches divide
CASES = [(reduction, accumulate) for reduction in ("sum", "mean") for accumulate in (1, 3)]
STEPS = 3


def gradients(layout, reduction, accumulate):
    """After the last of :data:`STEPS` steps of gradient descent, with the metrics of that step."""
    model = Classifier.from_arrays(classifier_arrays()).to(layout.device)
    rule = torch.optim.SGD(model.parameters(), 0.01)
    step = make_step(model, rule, layout, reduction=reduction, accumulate=accumulate)
    for seed in range(STEPS):
        metrics = step(pixel_batch(ROWS, seed=seed))
    found = metrics | {name: parameter.grad for name, parameter in model.named_parameters()}
    return {name: tensor.cpu().numpy() for name, tensor in found.items()}


def all_cases(layout):
    found = {}
    for case in CASES:
        for name, array in gradients(layout, *case).items():
            found["-".join(map(str, (*case, name)))] = array
    return found


def on_each(replica, path):
    found = all_cases(replica)
    np.savez(f"{path}-{replica.index}.npz", **found)


def run_spmd(path):
    from torch_xla.distributed.spmd import XLAShardedTensor

    layout = spmd.Spmd()
    with count() as counts:
        found = all_cases(layout)
    np.savez(f"{path}-0.npz", **found)
    # Of the ten rows, filled up to twelve, a device holds three.
    placed = layout.place(pixel_batch(ROWS), accumulate=1)["pixels"]
    shards = [list(shard.data.shape) for shard in XLAShardedTensor(placed).local_shards]
    sys.stdout.write(f"{counts.compilations} {counts.executions} {shards}\n")


if __name__ == "__main__":
    simulate_devices(DEVICES)
    if sys.argv[1] == "spmd":
        run_spmd(sys.argv[2])
    else:
        processes.launch(on_each, sys.argv[2])
