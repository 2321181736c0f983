"""What makes a loop under torch_xla slow can be counted, and this library's step has none of it."""

import numpy as np
import pytest
import torch

from tests.tpu_kernels.training.pytorch.examples import classifier_arrays, pixel_batch
from tpu_kernels.training.pytorch.classifier import Classifier
from tpu_kernels.training.pytorch.counters import Counts, count
from tpu_kernels.training.pytorch.layout import OneDevice
from tpu_kernels.training.pytorch.optimizer import adamw
from tpu_kernels.training.pytorch.step import make_step


def naive_step(device, *, read=False):
    """A step as a newcomer writes it: gradient descent on one matrix."""
    import torch_xla

    w = torch.ones(4, 4, requires_grad=True, device=device)
    rule = torch.optim.SGD([w], 0.1)

    def step(rows):
        x = torch.ones(rows, 4).to(device)
        rule.zero_grad()
        loss = (x @ w).square().mean()
        loss.backward()
        if read:
            loss.item()
        rule.step()
        torch_xla.sync()

    return step


def test_one_shape_is_compiled_once_and_run_once_a_step(xla):
    step = naive_step(xla)
    step(3)
    step(3)
    with count() as counts:
        for _ in range(6):
            step(3)
    assert counts == Counts(executions=6, to_device=counts.to_device)


def test_a_number_that_is_read_cuts_each_step_in_two(xla):
    step = naive_step(xla, read=True)
    step(3)
    step(3)
    with count() as counts:
        for _ in range(6):
            step(3)
    assert (counts.executions, counts.compilations, counts.to_host) == (12, 0, 6)
    assert counts.fallbacks == {"aten::_local_scalar_dense": 6}


def test_each_new_shape_is_compiled(xla):
    step = naive_step(xla)
    step(3)
    step(3)
    with count() as counts:
        for rows in (4, 5, 6, 5, 4):
            step(rows)
    assert (counts.executions, counts.compilations) == (5, 3)


def test_an_operation_that_torch_xla_leaves_to_the_cpu_is_named(xla):
    matrix = torch.eye(3).to(xla)
    with count() as counts:
        torch.linalg.eig(matrix)
    assert counts.fallbacks == {"aten::linalg_eig": 1}


def test_the_counts_are_there_at_the_end_and_not_before(xla):
    with count() as counts:
        torch.ones(3).to(xla)
        assert counts == Counts()
    assert counts.to_device == 1


@pytest.mark.parametrize("accumulate", [1, 2])
def test_our_step_compiles_once_runs_once_a_step_and_reads_nothing(xla, accumulate):
    # Sizes that no other test has, for a cache would hide that a program is compiled.
    model = Classifier.from_arrays(classifier_arrays(pixels=9, hidden=7, classes=4)).to(xla)
    rule = adamw(model.parameters(), 1e-3)
    step = make_step(model, rule, OneDevice(xla), accumulate=accumulate)
    batches = [pixel_batch(8, pixels=9, classes=4, seed=seed) for seed in range(5)]
    with count() as counts:
        for number, batch in enumerate(batches):
            # A rate that changes is no new program. (But 0.1, which is 1 - beta1 as well, would be one: torch_xla sends
            # equal numbers once, and a program with an input less is another.)
            rule.param_groups[0]["lr"] = 0.3 + 0.1 * number
            metrics = step(batch)
    assert (counts.executions, counts.compilations, counts.to_host, counts.fallbacks) == (5, 1, 0, {})
    with count() as counts:
        assert np.isfinite([value.item() for value in metrics.values()]).all()
    assert (counts.executions, counts.compilations, counts.to_host) == (0, 0, 3)
