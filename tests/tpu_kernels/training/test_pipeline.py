"""Batches: what an epoch holds, what a state brings back, and what the thread behind them may do."""

import subprocess
import sys
import threading
from collections import Counter

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import NamedSharding, PartitionSpec

from tpu_kernels.training import pipeline
from tpu_kernels.training.mesh import data_mesh, split_rows
from tpu_kernels.training.order import shuffled
from tpu_kernels.training.pipeline import Batches, Position

COUNTS = st.integers(1, 20)


def numbered(count: int) -> dict[str, np.ndarray]:
    """Examples that can be told apart: number ``i`` in one array, ``[i, -i]`` in another."""
    numbers = np.arange(count)
    return {"number": numbers.astype(np.int32), "pair": np.stack([numbers, -numbers], axis=1).astype(np.float32)}


def taken(batches: Batches, count: int) -> list[tuple[list[int], list[float]]]:
    """Numbers and weights of the next ``count`` batches."""
    found = (next(batches) for _ in range(count))
    return [(np.asarray(batch["number"]).tolist(), np.asarray(batch["weight"]).tolist()) for batch in found]


@settings(deadline=None, max_examples=50)
@given(COUNTS, COUNTS, st.booleans(), st.integers(0, 3))
def test_an_epoch_has_each_example_once_in_batches_of_one_shape(
    count: int, batch_size: int, drop_last: bool, seed: int
) -> None:
    if drop_last and batch_size > count:
        with pytest.raises(ValueError, match=f"{batch_size}.*{count}"):
            Batches(numbered(count), batch_size, seed=seed, drop_last=True)
        return
    with Batches(numbered(count), batch_size, seed=seed, drop_last=drop_last) as batches:
        for epoch in range(2):
            real = []
            for _ in range(batches.steps_per_epoch):
                assert batches.state()["epoch"] == epoch
                batch = next(batches)
                assert {name: (array.shape, array.dtype) for name, array in batch.items()} == {
                    "number": ((batch_size,), np.int32),
                    "pair": ((batch_size, 2), np.float32),
                    "weight": ((batch_size,), np.float32),
                }
                assert (batch["pair"] == np.stack([batch["number"], -batch["number"]], axis=1)).all()
                assert set(batch["number"]) <= set(range(count))  # also where the weight is 0
                real += batch["number"][batch["weight"] == 1].tolist()
            assert real == shuffled(count, seed, epoch)[: len(real)].tolist()
            assert len(real) == (count - count % batch_size if drop_last else count)
        assert batches.state() == {"epoch": 2, "position": 0, "seed": seed, "examples": count}


@settings(deadline=None, max_examples=25)
@given(COUNTS, COUNTS, st.integers(0, 12), st.integers(1, 6), st.booleans())
def test_a_state_brings_back_what_came_next_then(
    count: int, batch_size: int, before: int, prefetch: int, drop_last: bool
) -> None:
    drop_last = drop_last and batch_size <= count
    with Batches(numbered(count), batch_size, seed=3, prefetch=prefetch, drop_last=drop_last) as first:
        taken(first, before)
        state = first.state()
        expected = taken(first, 5)
        with Batches(numbered(count), batch_size, seed=3, drop_last=drop_last) as second:
            taken(second, 2)  # which must leave nothing behind
            second.restore(state)
            assert taken(second, 5) == expected
        first.restore(state)
        assert taken(first, 5) == expected


def test_what_was_made_ahead_does_not_move_the_state() -> None:
    with Batches(numbered(100), 10, seed=0, prefetch=5) as batches:
        assert batches.state()["position"] == 0
        next(batches)
        while len(batches._ahead) < 5 or not all(made.done() for made, _ in batches._ahead):
            pass
        assert batches.state()["position"] == 10


def test_a_run_goes_on_in_the_same_order_with_another_batch_size() -> None:
    with Batches(numbered(30), 6, seed=0) as small, Batches(numbered(30), 12, seed=0) as large:
        seen = [number for numbers, _ in taken(small, 2) for number in numbers]
        large.restore(small.state())
        for numbers, weights in taken(large, 2):
            seen += [number for number, weight in zip(numbers, weights, strict=True) if weight]
    assert seen == shuffled(30, 0, 0).tolist()


def test_the_weights_of_the_examples_are_kept_and_those_that_fill_up_are_zero() -> None:
    examples = {**numbered(3), "weight": np.array([0.5, 1.5, 2.5])}
    with Batches(examples, 2, seed=0) as batches:
        found = Counter()
        for numbers, weights in taken(batches, 2):
            found.update(
                dict(zip(numbers, weights, strict=True)) if len(set(numbers)) == 2 else {numbers[0]: weights[0]}
            )
            assert len(set(numbers)) == 2 or weights[1] == 0
        assert found == {0: 0.5, 1: 1.5, 2: 2.5}


@pytest.mark.parametrize("devices", [1, 4, 8])
def test_on_devices_a_batch_holds_the_same_rows_laid_out_as_asked(devices: int) -> None:
    sharding = split_rows(data_mesh(devices))
    with Batches(numbered(19), 8, seed=0) as plain, Batches(numbered(19), 8, seed=0, sharding=sharding) as placed:
        for _ in range(4):
            expected, got = next(plain), next(placed)
            assert got.keys() == expected.keys()
            for name, array in got.items():
                assert isinstance(array, jax.Array) and array.sharding == sharding
                assert array.dtype == expected[name].dtype
                np.testing.assert_array_equal(np.asarray(array), expected[name])


def test_devices_that_share_rows_get_copies_of_them() -> None:
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    sharding = NamedSharding(mesh, PartitionSpec("data"))
    with Batches(numbered(9), 4, seed=0) as plain, Batches(numbered(9), 4, seed=0, sharding=sharding) as placed:
        expected, got = next(plain)["pair"], next(placed)["pair"]
    assert len(got.addressable_shards) == 8
    for shard in got.addressable_shards:
        np.testing.assert_array_equal(shard.data, expected[shard.index])


def test_an_array_everywhere_needs_no_batch_that_divides() -> None:
    sharding = NamedSharding(data_mesh(8), PartitionSpec())
    with Batches(numbered(9), 3, seed=0) as plain, Batches(numbered(9), 3, seed=0, sharding=sharding) as placed:
        np.testing.assert_array_equal(np.asarray(next(placed)["pair"]), next(plain)["pair"])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_processes_share_each_batch_without_overlap(count: int) -> None:
    parts = [Batches(numbered(20), 6, seed=0, process=(index, count)) for index in range(count)]
    with Batches(numbered(20), 6, seed=0) as whole:
        for _ in range(8):
            expected = next(whole)
            got = [next(part) for part in parts]
            for name, array in expected.items():
                np.testing.assert_array_equal(np.concatenate([part[name] for part in got]), array)
    for part in parts:
        part.close()


def test_an_error_in_the_thread_is_raised_where_the_batch_was_due_and_skips_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failures = ["the disk is gone"]  # once: the batches after that one would come

    def broken(count: int, seed: int, epoch: int) -> np.ndarray:
        if epoch == 1 and failures:
            raise OSError(failures.pop())
        return shuffled(count, seed, epoch)

    monkeypatch.setattr(pipeline, "shuffled", broken)
    with Batches(numbered(4), 2, seed=0, prefetch=4) as batches:
        taken(batches, 2)
        for _ in range(2):
            with pytest.raises(OSError, match="the disk is gone"):
                next(batches)
        monkeypatch.undo()
        batches.restore(batches.state())
        assert [number for numbers, _ in taken(batches, 2) for number in numbers] == shuffled(4, 0, 1).tolist()


def test_the_thread_ends_with_the_batches() -> None:
    with Batches(numbered(50), 2, seed=0) as batches:
        next(batches)
        assert any(thread.name.startswith("batches") for thread in threading.enumerate())
    assert not any(thread.name.startswith("batches") for thread in threading.enumerate())


def test_a_program_that_forgets_to_close_ends_all_the_same() -> None:
    program = """
import numpy as np
from tpu_kernels.training.pipeline import Batches
batches = Batches({"x": np.arange(10)}, 2, seed=0)
next(batches)
"""
    run = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 9}, "seed = 9"),
        ({"examples": 4}, "examples = 4"),
        ({"epoch": -1}, "epoch = -1"),
        ({"position": 5}, "position = 5"),
        ({"position": -1}, "position = -1"),
    ],
)
def test_a_state_of_other_data_is_refused(change: Position, named: str) -> None:
    with Batches(numbered(5), 2, seed=1) as batches:
        next(batches)
        before = batches.state()
        with pytest.raises(ValueError, match=named):
            batches.restore({**before, **change})
        assert batches.state() == before


@pytest.mark.parametrize(
    ("examples", "options", "named"),
    [
        ({}, {}, "{}"),
        ({"x": np.zeros(3), "y": np.zeros(4)}, {}, "x: 3, y: 4"),
        ({"x": np.zeros((0, 2))}, {}, "x: 0"),
        (numbered(9), {"batch_size": 0}, "batch_size = 0"),
        (numbered(9), {"prefetch": 0}, "prefetch = 0"),
        (numbered(9), {"process": (0, 4), "batch_size": 10}, "10 .* 4 .*8 o 12"),
        (numbered(9), {"process": (4, 4), "batch_size": 8}, r"\(4, 4\)"),
        (numbered(9), {"process": (0, 1), "sharding": True, "batch_size": 8}, "sharding"),
        (numbered(9), {"sharding": True, "batch_size": 10}, "10 .* 8 .*8 o 16"),
        (numbered(9), {"sharding": True, "batch_size": 3}, "3 .* 8 .*8 o 8"),
    ],
)
def test_what_makes_no_batches_is_refused_at_once(examples: dict, options: dict, named: str) -> None:
    if options.get("sharding"):
        options = {**options, "sharding": split_rows(data_mesh(8))}
    with pytest.raises(ValueError, match=named):
        Batches(examples, **{"batch_size": 2, "seed": 0, **options})


def test_batches_without_devices_need_no_jax() -> None:
    program = """
import sys
import numpy as np
from tpu_kernels.training.pipeline import Batches
with Batches({"x": np.arange(10)}, 2, seed=0) as batches:
    next(batches)
sys.exit("jax" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
