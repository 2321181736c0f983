"""Our rows of the benchmark of collectives: every implementation right in both forms, and seen when it is wrong."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpu_kernels.bench import collective_chunks, collectives
from tpu_kernels.bench.collective_case import cases
from tpu_kernels.bench.collective_chunks import in_chunks
from tpu_kernels.bench.collectives import bench_collective, implementations

ALL = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "permute")
ELEMENTWISE = ("all-reduce", "broadcast", "permute")


def measured(collective, names, *, ranks=4, size=192, dtype="float32", **options):
    of = cases(collective, [size], ranks=ranks, dtype=dtype, **options)
    return list(bench_collective(of, names, warmup=0, repeats=2))


@pytest.mark.parametrize("collective", ALL)
def test_xla_is_right_and_timed_wherever_it_has_a_form(collective):
    (row,) = measured(collective, ["xla"])
    assert row.right
    assert [len(calls) for one in row.outcomes for calls in one.samples] == [2] * len(row.outcomes)
    assert (row.in_place is None) == (collective in ("all-gather", "reduce-scatter"))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int32", "int8"])
def test_sums_are_exact_in_every_dtype(dtype):
    (row,) = measured("all-reduce", ["xla"], ranks=8, dtype=dtype)
    assert row.right


def test_an_interpreted_kernel_has_values_and_no_speed():
    (row,) = measured("all-reduce", ["ring"], ranks=2)
    assert row.right
    assert row.interpreted
    assert row.seconds is None
    assert row.to_dict()["out_of_place"]["busbw"] is None
    assert row.to_dict()["label"] == "interpreted"


@pytest.mark.parametrize(("devices", "shape"), [(8, {"x": 4, "y": 2}), (4, {"x": 2, "y": 2}), (3, {"x": 3, "y": 1})])
def test_a_torus_is_as_square_as_it_can_be(devices, shape):
    assert dict(collectives._mesh(jax.devices()[:devices], "torus").shape) == shape
    assert dict(collectives._mesh(jax.devices()[:devices], "ring").shape) == {"x": devices}


@pytest.mark.parametrize("collective", ELEMENTWISE)
def test_chunks_of_any_length_give_the_whole(collective, monkeypatch):
    """48 elements in chunks of 20: two whole ones and a rest."""
    monkeypatch.setattr(collective_chunks, "CHUNK", 80)
    (row,) = measured(collective, ["chunked"])
    assert row.right
    assert not row.interpreted


def test_chunks_are_written_over_what_was_sent(monkeypatch):
    """The whole array is never copied: beside its argument the program needs memory for less than half of it."""
    monkeypatch.setattr(collective_chunks, "CHUNK", 1 << 10)
    mesh = Mesh(np.array(jax.devices()[:2]), ("x",))

    def temporary(body):
        over = jax.shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)
        x = jax.ShapeDtypeStruct((2 << 14,), jnp.float32)
        return jax.jit(over, donate_argnums=0).lower(x).compile().memory_analysis().temp_size_in_bytes

    def summed(x):
        return jax.lax.psum(x, "x")

    size = 4 << 14
    assert temporary(lambda x: in_chunks(summed, x, x)) < size / 2
    assert temporary(summed) >= size


def test_a_result_out_of_place_takes_the_memory_of_the_one_before():
    of = cases("all-reduce", [4096], ranks=2, dtype="float32")[0]
    mesh = Mesh(np.array(jax.devices()[:2]), ("x",))
    program = collectives._program(of, "xla", mesh, in_place=False)
    sharding = jax.sharding.NamedSharding(mesh, P("x"))
    x, room = (jnp.zeros(2 * of.total, device=sharding) for _ in range(2))
    before = [shard.data.unsafe_buffer_pointer() for shard in room.addressable_shards]
    result = program(x, room)
    assert [shard.data.unsafe_buffer_pointer() for shard in result.addressable_shards] == before
    assert not x.is_deleted()


def test_a_wrong_element_is_counted_on_every_rank(monkeypatch):
    def off_by_one(x, axis_name, op, impl):
        return jax.lax.psum(x, axis_name).at[0].add(1)

    monkeypatch.setattr(collectives.collectives, "all_reduce", off_by_one)
    (row,) = measured("all-reduce", ["xla"])
    assert (row.out_of_place.wrong, row.in_place.wrong) == (4, 4)
    assert not row.right


def test_the_root_and_the_operation_reach_the_collective():
    assert measured("broadcast", ["xla"], root=3)[0].right
    assert measured("reduce-scatter", ["xla"], op="max")[0].right


def test_kernels_are_timed_on_a_tpu_and_only_there():
    assert implementations("all-reduce", "tpu") == ("ring", "bidirectional", "xla")
    assert implementations("all-reduce", "cpu") == ("xla", "chunked")
    assert implementations("all-gather", "cpu") == implementations("all-gather", "gpu") == ("xla",)


@pytest.mark.parametrize(
    ("collective", "name", "known"), [("all-reduce", "nccl", "bidirectional"), ("all-gather", "chunked", "permute")]
)
def test_an_implementation_that_does_not_do_it_is_refused(collective, name, known):
    with pytest.raises(ValueError, match=known):
        measured(collective, [name])


def test_more_devices_than_there_are_are_refused():
    with pytest.raises(ValueError, match="64"):
        measured("all-reduce", ["xla"], ranks=64)
