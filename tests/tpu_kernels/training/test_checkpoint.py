"""What comes back from a checkpoint, what is refused, and what a full disk or a damaged file costs."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from tpu_kernels.training.checkpoint import (
    UNREADABLE,
    CheckpointError,
    Checkpoints,
    MismatchError,
    UnreadableCheckpointWarning,
)
from tpu_kernels.training.extra import MissingExtraError
from tpu_kernels.training.mesh import data_mesh
from tpu_kernels.training.pipeline import Position
from tpu_kernels.training.state import TrainState

ROOT = Path(__file__).resolve().parents[3]
PLACE: Position = {"epoch": 2, "position": 40, "seed": 7, "examples": 100}


def state_at(step: int, width: int = 24, optimizer: optax.GradientTransformation | None = None) -> TrainState:
    """A state whose numbers are all different, and different at each step."""
    rng = np.random.default_rng(step)
    params = {"up": rng.normal(size=(8, width)).astype(np.float32), "down": rng.normal(size=(3,)).astype(np.float32)}
    state = TrainState.create(params, optimizer or optax.adam(1e-3), seed=step)
    noise = jax.tree.map(lambda leaf: leaf + jnp.asarray(step, leaf.dtype), state.opt_state)
    return TrainState(jnp.int32(step), state.params, noise, state.key)


def assert_same(got: TrainState, expected: TrainState) -> None:
    """Bit for bit, the key and its kind included."""
    assert jax.tree.structure(got) == jax.tree.structure(expected)
    assert jax.random.key_impl(got.key) == jax.random.key_impl(expected.key)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype
        if jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
            one, other = jax.random.key_data(one), jax.random.key_data(other)
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def checkpoints(folder: Path) -> Iterator[Checkpoints]:
    with Checkpoints(folder, every=1, keep=3) as opened:
        yield opened


def test_all_of_it_comes_back_in_another_program_bit_for_bit(folder: Path) -> None:
    with Checkpoints(folder, every=1) as first:
        assert first.restore(state_at(0)) is None
        first.save(state_at(5), PLACE)
    with Checkpoints(folder, every=1) as second:
        restored = second.restore(state_at(0))
    assert restored is not None
    assert (restored.step, restored.batches) == (5, PLACE)
    assert_same(restored.state, state_at(5))


def test_a_run_without_a_place_in_its_data_has_none(checkpoints: Checkpoints) -> None:
    checkpoints.save(state_at(1))
    restored = checkpoints.restore(state_at(0))
    assert restored is not None and restored.batches is None


@pytest.mark.parametrize("implementation", ["threefry2x32", "rbg"])
def test_the_kind_of_key_is_kept(checkpoints: Checkpoints, implementation: str) -> None:
    plain = state_at(1)
    state = TrainState(plain.step, plain.params, plain.opt_state, jax.random.key(3, impl=implementation))
    checkpoints.save(state)
    restored = checkpoints.restore(state)
    assert restored is not None
    assert_same(restored.state, state)


def test_a_state_comes_back_onto_the_devices_of_the_one_that_asks(checkpoints: Checkpoints) -> None:
    mesh = data_mesh(8)
    split, everywhere = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())

    def place(leaf: jax.Array) -> jax.Array:
        return jax.device_put(leaf, split if leaf.ndim == 2 else everywhere)

    spread = jax.tree.map(place, state_at(4))
    checkpoints.save(spread)
    for like in (state_at(0), jax.tree.map(place, state_at(0))):
        restored = checkpoints.restore(like)
        assert restored is not None
        assert_same(restored.state, state_at(4))
        assert restored.state.params["up"].sharding == like.params["up"].sharding


def test_the_last_ones_are_kept_and_the_newest_is_read(checkpoints: Checkpoints) -> None:
    for step in (1, 2, 10, 9, 11):  # steps, not texts: 9 comes before 10
        checkpoints.save(state_at(step))
    assert checkpoints.steps() == [9, 10, 11] or checkpoints.steps() == [2, 10, 11]
    restored = checkpoints.restore(state_at(0))
    assert restored is not None and restored.step == 11


def test_a_step_that_is_there_is_not_written_again(checkpoints: Checkpoints) -> None:
    checkpoints.save(state_at(3), PLACE)
    checkpoints.save(state_at(3), None)
    restored = checkpoints.restore(state_at(0))
    assert restored is not None and restored.batches == PLACE


def other_width(width: int) -> Callable[[], TrainState]:
    return lambda: state_at(0, width)


@pytest.mark.parametrize(
    ("like", "words"),
    [
        (other_width(25), r"\.params\['up'\], guardada como float32\[8, 24\] y aquí float32\[8, 25\]"),
        (lambda: state_at(0, optimizer=optax.sgd(0.1)), r"\.opt_state.*guardada como \w+\[.*\] y aquí —"),
        (lambda: state_at(0, optimizer=optax.chain(optax.adam(1e-3), optax.trace(0.9))), r"opt_state.* —.* y aquí"),
    ],
)
def test_a_checkpoint_of_another_model_is_refused_by_the_first_leaf(
    checkpoints: Checkpoints, like: Callable[[], TrainState], words: str
) -> None:
    checkpoints.save(state_at(2))
    with pytest.raises(MismatchError, match=words):
        checkpoints.restore(like())
    assert checkpoints.steps() == [2]


@pytest.mark.parametrize(
    ("then", "now", "words"),
    [
        ({"seed": 1, "lr": 0.1}, {"seed": 2, "lr": 0.2}, "seed era 1 y aquí es 2"),
        ({"lang": "es"}, {}, 'lang era "es" y aquí es null'),
        ({}, {"model": {"width": 8}}, r'model era null y aquí es \{"width": 8\}'),
    ],
)
def test_a_checkpoint_of_a_run_configured_otherwise_is_refused(
    folder: Path, then: dict[str, Any], now: dict[str, Any], words: str
) -> None:
    with Checkpoints(folder, every=1, configuration=then) as first:
        first.save(state_at(1))
    with Checkpoints(folder, every=1, configuration=now) as second, pytest.raises(MismatchError, match=words):
        second.restore(state_at(0))


def test_a_configuration_is_compared_as_it_is_read_back(folder: Path) -> None:
    for _ in range(2):
        with Checkpoints(folder, every=1, configuration={"shape": (1, 2), "text": "ñ"}) as opened:
            opened.restore(state_at(0))
            opened.save(state_at(1))


def files_of(folder: Path, step: int) -> list[Path]:
    return [path for path in (folder / str(step)).rglob("*") if path.is_file()]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x40
    path.write_bytes(data)


DAMAGES = {
    "cut short": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "one bit changed": flip,
    "gone": Path.unlink,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_moved_aside_and_the_one_before_is_read(folder: Path, damage: str) -> None:
    with Checkpoints(folder, every=1) as opened:
        for step in (1, 2):
            opened.save(state_at(step), PLACE)
    DAMAGES[damage](max(files_of(folder, 2), key=lambda path: path.stat().st_size))  # the file with the numbers
    with Checkpoints(folder, every=1) as opened:
        with pytest.warns(UnreadableCheckpointWarning, match=r"paso 2 está dañado \(el archivo .*desde el paso 1"):
            restored = opened.restore(state_at(0))
        assert restored is not None and restored.step == 1
        assert_same(restored.state, state_at(1))
        assert opened.steps() == [1] and (folder / UNREADABLE / "2").is_dir()
        opened.save(state_at(2), PLACE)  # the run comes to that step again
    with Checkpoints(folder, every=1) as opened:
        restored = opened.restore(state_at(0))
    assert restored is not None
    assert_same(restored.state, state_at(2))


def test_whatever_file_is_damaged_no_wrong_number_comes_back(folder: Path) -> None:
    with Checkpoints(folder, every=1) as opened:
        opened.save(state_at(1), PLACE)
    for path in files_of(folder, 1):
        good = path.read_bytes()
        for damage in DAMAGES.values():
            damage(path)
            with Checkpoints(folder, every=1) as opened:
                try:
                    restored = opened.restore(state_at(0))
                except CheckpointError as refused:
                    assert "ninguno se puede leer" in str(refused)
                else:
                    assert restored is None or (restored.step, restored.batches) == (1, PLACE)
                    if restored:
                        assert_same(restored.state, state_at(1))
            path.parent.mkdir(parents=True, exist_ok=True)  # orbax clears away what has lost its mark of completeness
            path.write_bytes(good)


def test_when_all_are_damaged_no_run_starts_from_zero_unasked(folder: Path) -> None:
    with Checkpoints(folder, every=1) as opened:
        for step in (1, 2):
            opened.save(state_at(step))
    for step in (1, 2):
        for path in files_of(folder, step):
            path.write_bytes(b"")
    with Checkpoints(folder, every=1) as opened:
        with pytest.raises(CheckpointError, match=r"pasos 2, 1\) y ninguno"):
            opened.restore(state_at(0))
        assert opened.steps() == [1, 2]


def test_what_a_kill_left_unfinished_is_no_checkpoint_and_goes_away(folder: Path) -> None:
    with Checkpoints(folder, every=1) as opened:
        opened.save(state_at(1))
    unfinished = folder / "2.orbax-checkpoint-tmp"
    shutil.copytree(folder / "1", unfinished)
    with Checkpoints(folder, every=1) as opened:
        assert opened.steps() == [1]
        restored = opened.restore(state_at(0))
    assert restored is not None and restored.step == 1
    assert not unfinished.exists()


FULL_DISK = """
import pathlib, resource, signal, sys
from tests.tpu_kernels.training.test_checkpoint import *

folder = pathlib.Path(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
for most in map(int, sys.argv[2:]):
    with Checkpoints(folder, every=1) as checkpoints:
        checkpoints.save(state_at(1), PLACE)
        state = state_at(2)
        limit(most)
        try:
            checkpoints.save(state, PLACE)
        except CheckpointError as failed:
            limit(resource.RLIM_INFINITY)
            assert os.strerror(27) in str(failed) and "paso 2" in str(failed), failed
            assert failed.state is state
        else:
            raise AssertionError(f"{most} bytes were enough")
        left = [path.name for path in folder.iterdir()]
        assert left == ["1"], left  # and nothing that keeps the disk full
        checkpoints.save(state, PLACE)
        assert_same(checkpoints.restore(state_at(0)).state, state)
    shutil.rmtree(folder)
"""


def test_a_full_disk_costs_neither_the_state_nor_the_checkpoints_before(folder: Path) -> None:
    """In a program of its own, where no file may grow beyond a size: a full disk, without filling one."""
    command = [sys.executable, "-W", "error", "-c", FULL_DISK, str(folder), "0", "100", "300", "1000"]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "SISTOLICA_LANG": "es"}, cwd=ROOT)
    assert run.returncode == 0, run.stderr


def test_a_folder_that_cannot_be_written_is_refused_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match=f"{tmp_path / 'file' / 'run'}: {os.strerror(20)}"):
        Checkpoints(tmp_path / "file" / "run", every=1)


def test_a_folder_without_leave_to_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *_: object, **__: object) -> None:  # whoever runs the tests may be allowed everything
        raise PermissionError(13, os.strerror(13), str(self))

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(CheckpointError, match=os.strerror(13)):
        Checkpoints(tmp_path / "run", every=1)


@pytest.mark.parametrize("options", [{"every": 0}, {"every": 1, "keep": 0}])
def test_a_number_below_one_is_named(folder: Path, options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=" = 0"):
        Checkpoints(folder, **options)


def test_without_orbax_it_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "orbax.checkpoint", None)
    with pytest.raises(MissingExtraError, match=r"orbax-checkpoint.*sistolica\[train\]"):
        Checkpoints(folder, every=1)


def test_only_a_run_that_saves_imports_orbax_and_it_warns_of_nothing(folder: Path) -> None:
    program = f"""
import sys
import tpu_kernels.training.fit
from tpu_kernels.training.checkpoint import Checkpoints
assert "orbax" not in sys.modules
Checkpoints({str(folder)!r}, every=1).close()
assert "orbax.checkpoint" in sys.modules
"""
    run = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
