"""A batch is one table: its columns are equally long, and it is filled up so that the devices divide it."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.training.batch import shard_batch
from tpu_kernels.training.examples import rows
from tpu_kernels.training.mesh import data_mesh


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.integers(1, 20), st.integers(1, 3), st.booleans())
def test_a_batch_is_filled_with_copies_of_its_last_row_that_weigh_nothing(devices, count, accumulate, weighted):
    tokens = np.arange(count * 3, dtype=np.uint8).reshape(count, 3)
    weight = np.linspace(0.5, 2, count).astype(np.float32)
    batch = {"tokens": tokens} | ({"weight": weight} if weighted else {})
    full = shard_batch(batch, data_mesh(devices), accumulate=accumulate)
    size = len(full["tokens"])
    assert size % (devices * accumulate) == 0
    assert count <= size < count + devices * accumulate
    got = {name: np.asarray(leaf) for name, leaf in full.items()}
    assert {name: leaf.dtype for name, leaf in got.items()} == {"tokens": np.uint8, "weight": np.float32}
    np.testing.assert_array_equal(got["tokens"][:count], tokens)
    np.testing.assert_array_equal(got["tokens"][count:], np.repeat(tokens[-1:], size - count, axis=0))
    np.testing.assert_array_equal(got["weight"][:count], weight if weighted else np.ones(count))
    np.testing.assert_array_equal(got["weight"][count:], np.zeros(size - count))
    for leaf in full.values():
        assert [len(shard.data) for shard in leaf.addressable_shards] == [size // devices] * devices


def test_a_batch_that_is_on_its_devices_already_stays_there():
    mesh = data_mesh(2)
    once = shard_batch({"x": np.ones((4, 2), np.float32)}, mesh)
    again = shard_batch(once, mesh)

    def places(batch):
        return [shard.data.unsafe_buffer_pointer() for shard in batch["x"].addressable_shards]

    assert places(once) == places(again)


def test_columns_of_different_length_are_both_named():
    with pytest.raises(ValueError, match=r"'label' tiene 3 ejemplos y 'pixels' tiene 4"):
        shard_batch({"pixels": np.ones((4, 2)), "label": np.ones(3)}, data_mesh(1))


def test_a_scalar_is_no_column():
    with pytest.raises(ValueError, match=r"'rate' tiene 0 ejemplos y 'x' tiene 4"):
        rows({"x": np.ones(4), "rate": 0.5})


@pytest.mark.parametrize("batch", [{}, {"x": np.ones((0, 3))}, {"x": np.float32(1)}])
def test_a_batch_without_rows_is_refused(batch):
    with pytest.raises(ValueError, match="no tiene ejemplos"):
        shard_batch(batch, data_mesh(2))


def test_a_traced_batch_has_rows_too():
    assert jax.eval_shape(lambda x: x * rows({"x": x}), np.ones(5, np.float32)).shape == (5,)
