"""A mesh of data: so many devices under one name, which plain arrays may enter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec

from tpu_kernels.training.mesh import data_axis, data_mesh, replicated, split_rows


@pytest.mark.parametrize("n", [1, 3, 8])
def test_a_mesh_has_the_first_devices_in_a_row(n):
    mesh = data_mesh(n)
    assert list(mesh.devices) == jax.devices()[:n]
    assert data_axis(mesh) == "data"
    assert data_axis(data_mesh(n, "rows")) == "rows"


def test_by_default_every_device_is_used():
    assert data_mesh().size == len(jax.devices())


def test_more_devices_than_there_are_is_an_error_that_says_both_numbers():
    with pytest.raises(ValueError, match=r"9.*8"):
        data_mesh(9)


def test_a_plain_array_enters_a_program_over_the_mesh():
    mesh = data_mesh(2)
    double = jax.shard_map(lambda x: x * 2, mesh=mesh, in_specs=PartitionSpec("data"), out_specs=PartitionSpec("data"))
    np.testing.assert_array_equal(double(jnp.arange(4.0)), [0, 2, 4, 6])


def test_rows_are_split_in_runs_and_replicas_are_whole():
    mesh = data_mesh(4)
    rows = jax.device_put(np.arange(8), split_rows(mesh))
    assert [shard.data.tolist() for shard in rows.addressable_shards] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    whole = jax.device_put(np.arange(2), replicated(mesh))
    assert [shard.data.tolist() for shard in whole.addressable_shards] == [[0, 1]] * 4
