"""``vmap`` over a collective, which jax takes from 0.10 on: before, it loses the effects of what it batches."""

import jax
import numpy as np
import pytest

from tests.tpu_kernels.kernels.collectives import oracle
from tpu_kernels.kernels import collectives


@pytest.mark.parametrize(
    ("collective", "shape"), [("all_gather", (2,)), ("reduce_scatter", (6, 2)), ("all_reduce", ())]
)
def test_a_batch_is_one_larger_array(
    collective: str, shape: tuple[int, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """``vmap`` on each device, over every place that the batch may have, and twice."""
    act = getattr(collectives, collective)
    held = np.random.default_rng(6).integers(-9, 9, (3, 4, *shape)).astype(np.int32)
    got = oracle.program(jax.vmap(lambda x: act(x, "x", impl="bidirectional")), {"x": 3})(held)
    want = np.stack([oracle.COLLECTIVES[collective](held[:, one]) for one in range(4)], axis=1)
    np.testing.assert_array_equal(got, want)
    twice = oracle.program(jax.vmap(jax.vmap(lambda x: act(x, "x"), in_axes=-1, out_axes=-1)), {"x": 3})
    got = twice(np.stack([held, -held], axis=-1))[..., 0]
    np.testing.assert_array_equal(got, want)
    assert capsys.readouterr().out == ""
