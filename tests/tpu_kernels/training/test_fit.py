"""The loop: when it looks, what it saves, how it stops. Its steps are real ones of a model with two parameters."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tpu_kernels.training import fit as fit_module
from tpu_kernels.training.checkpoint import CheckpointError, Checkpoints, MismatchError
from tpu_kernels.training.data_parallel import make_step
from tpu_kernels.training.fit import DivergedError, Interrupted, SaveFailedWarning, fit
from tpu_kernels.training.log import Log
from tpu_kernels.training.metrics import Work
from tpu_kernels.training.pipeline import Batches
from tpu_kernels.training.report import Report
from tpu_kernels.training.state import TrainState

RULE = optax.adam(0.05)
EXAMPLES = {"x": np.linspace(-1, 1, 20, dtype=np.float32), "y": 3 * np.linspace(-1, 1, 20, dtype=np.float32) + 1}


def losses(params: Mapping[str, jax.Array], batch: Mapping[str, jax.Array], keys: jax.Array) -> jax.Array:
    return (params["a"] * batch["x"] + params["b"] - batch["y"]) ** 2


STEP = make_step(losses, RULE)


def fresh(rule: optax.GradientTransformation = RULE) -> TrainState:
    return TrainState.create({"a": np.float32(0), "b": np.float32(0)}, rule, seed=0)


@pytest.fixture
def batches() -> Iterator[Batches]:
    with Batches(EXAMPLES, 8, seed=0) as opened:
        yield opened


class Fetched:
    """A number on a device, which counts how often the host asks for it."""

    def __init__(self, value: float, asked: list[int], step: int) -> None:
        self.value, self.asked, self.step = value, asked, step

    def block_until_ready(self) -> "Fetched":
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self.asked.append(self.step)
        return np.asarray(self.value, dtype)


def watched(asked: list[int], change: Callable[[int, float], float] = lambda step, loss: loss) -> Callable:
    """A real step whose metrics say when they are asked for; ``change`` gives the loss of a step."""
    steps = [0]

    def step(state: TrainState, batch: dict) -> tuple[TrainState, dict]:
        after, metrics = STEP(state, batch)
        steps[0] += 1
        value = change(steps[0], float(metrics["loss"]))
        return after, {"loss": Fetched(value, asked, steps[0]), "grad_norm": 1.0, "weight": 8.0}

    return step


def numbers(state: TrainState) -> tuple[int, bytes]:
    return int(state.step), b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state.params))


def test_it_trains_until_the_step_and_reports_on_the_way(batches: Batches) -> None:
    shown: list[Report] = []
    run = fit(fresh(), STEP, batches, steps=250, every=100, progress=shown.append)
    assert int(run.state.step) == 250
    assert [float(run.state.params[name]) for name in "ab"] == pytest.approx([3, 1], abs=0.01)
    assert [report.step for report in run.reports] == [100, 200, 250]
    assert run.reports[0].loss > run.reports[1].loss > run.reports[2].loss
    assert shown == run.reports


def test_a_reports_loss_is_the_mean_since_the_one_before(batches: Batches) -> None:
    step = watched([], lambda number, _: float(number))
    run = fit(fresh(), step, batches, steps=7, every=3, progress=False)
    assert [(report.step, report.loss) for report in run.reports] == [(3, 2.0), (6, 5.0), (7, 7.0)]


@pytest.mark.parametrize(("steps", "every", "looks"), [(100, 20, 5), (100, 30, 4), (5, 20, 1), (20, 1, 20)])
def test_the_host_asks_for_numbers_once_in_so_many_steps(
    batches: Batches, monkeypatch: pytest.MonkeyPatch, steps: int, every: int, looks: int
) -> None:
    calls = []
    get = jax.device_get
    monkeypatch.setattr(fit_module.jax, "device_get", lambda tree: calls.append(len(tree)) or get(tree))
    asked: list[int] = []
    at: list[int] = []
    inner = watched(asked)

    def step(state: TrainState, batch: dict) -> tuple[TrainState, dict]:
        at.append(len(asked))  # how many numbers were asked for before this step
        return inner(state, batch)

    fit(fresh(), step, batches, steps=steps, every=every, progress=False)
    assert len(calls) == looks and sum(calls) == steps
    assert asked == list(range(1, steps + 1))  # each once
    assert [count % every for count in at] == [0] * steps  # and none between two looks


def test_nothing_is_left_to_do_in_a_run_that_is_done(batches: Batches) -> None:
    done = fit(fresh(), STEP, batches, steps=3, every=1, progress=False).state
    run = fit(done, STEP, batches, steps=3, every=1, progress=False)
    assert run.state is done and run.reports == []


def test_it_resumes_where_the_checkpoint_is_as_if_nothing_had_happened(tmp_path: Path) -> None:
    def run(folder: Path, steps: int) -> tuple[TrainState, list[Any]]:
        with Batches(EXAMPLES, 8, seed=0) as batches, Checkpoints(folder, every=4) as checkpoints:
            log = Log(folder / "log.jsonl")
            state = fit(fresh(), STEP, batches, steps=steps, every=3, checkpoints=checkpoints, log=log).state
        return state, [(record["step"], record["loss"]) for record in log.records()]

    whole, lines = run(tmp_path / "whole", 14)
    assert [step for step, _ in lines] == [3, 4, 6, 8, 9, 12, 14]
    run(tmp_path / "parts", 8)
    with (tmp_path / "parts" / "log.jsonl").open("a") as file:
        file.write('{"step": 9, "loss": 0.5}\n{"ste')  # of steps that a kill undid
    parts, again = run(tmp_path / "parts", 14)
    assert numbers(parts) == numbers(whole)
    assert again == lines


def test_another_runs_checkpoint_is_refused_and_its_log_left_alone(tmp_path: Path, batches: Batches) -> None:
    with Checkpoints(tmp_path, every=2) as checkpoints:
        fit(fresh(), STEP, batches, steps=2, every=1, checkpoints=checkpoints, log=Log(tmp_path / "log.jsonl"))
        before = (tmp_path / "log.jsonl").read_bytes()
        other = fresh(optax.sgd(0.1))
        with pytest.raises(MismatchError, match="opt_state"):
            fit(other, STEP, batches, steps=2, every=1, checkpoints=checkpoints, log=Log(tmp_path / "log.jsonl"))
    assert (tmp_path / "log.jsonl").read_bytes() == before


def test_it_validates_when_it_is_time_and_at_the_end(batches: Batches) -> None:
    seen = []

    def validate(params: Mapping[str, jax.Array]) -> dict[str, float]:
        seen.append(float(params["a"]))
        return {"slope": seen[-1]}

    run = fit(fresh(), STEP, batches, steps=10, every=5, validate=validate, validate_every=4, progress=False)
    assert [(report.step, dict(report.validation)) for report in run.reports] == [
        (4, {"slope": seen[0]}),
        (5, {}),
        (8, {"slope": seen[1]}),
        (10, {"slope": seen[2]}),
    ]
    seen.clear()
    fit(fresh(), STEP, batches, steps=10, every=5, validate=validate, progress=False)
    assert len(seen) == 1


def test_speeds_are_in_the_log_and_what_is_not_known_is_null(tmp_path: Path, batches: Batches) -> None:
    log = Log(tmp_path / "log.jsonl")
    fit(fresh(), STEP, batches, steps=20, every=10, log=log, progress=False, work=Work(tokens=5, flops=10.0))
    first, second = log.records()
    assert (
        first.keys()
        == second.keys()
        == {
            *("step", "loss", "grad_norm", "mfu", "steps_per_second"),
            *("examples_per_second", "tokens_per_second", "flops_per_second"),
        }
    )
    assert second["steps_per_second"] > 0
    assert second["examples_per_second"] == pytest.approx(8 * second["steps_per_second"])
    assert second["tokens_per_second"] == pytest.approx(40 * second["steps_per_second"])
    assert second["mfu"] is None  # of a CPU whose peak nobody states


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_loss_that_is_no_number_stops_the_run_at_its_step(tmp_path: Path, batches: Batches, bad: float) -> None:
    step = watched([], lambda number, loss: bad if number == 7 else loss)
    with Checkpoints(tmp_path, every=5) as checkpoints:
        with pytest.raises(DivergedError, match=rf"paso 7: loss = {bad}.*paso 5, en {tmp_path}") as stopped:
            fit(fresh(), step, batches, steps=50, every=5, checkpoints=checkpoints, progress=False)
        assert stopped.value.step == 7
        assert checkpoints.steps() == [5]


def test_without_a_checkpoint_the_message_says_so(batches: Batches) -> None:
    with pytest.raises(DivergedError, match="paso 2: loss = nan no es finito, y no hay ningún punto de control"):
        fit(fresh(), watched([], lambda number, _: float("nan") if number == 2 else 1.0), batches, steps=9, every=4)


def test_parameters_that_are_no_numbers_are_never_saved(tmp_path: Path, batches: Batches) -> None:
    """The loss of a step is that of the parameters before it."""

    def step(state: TrainState, batch: dict) -> tuple[TrainState, dict]:
        after, metrics = STEP(state, batch)
        if int(state.step) == 3:
            after = TrainState(after.step, {**after.params, "b": jnp.float32("nan")}, after.opt_state, after.key)
        return after, metrics

    with Checkpoints(tmp_path, every=2) as checkpoints:
        with pytest.raises(DivergedError, match=r"paso 4: params.*paso 2, en"):
            fit(fresh(), step, batches, steps=8, every=8, checkpoints=checkpoints, progress=False)
        assert checkpoints.steps() == [2]


def interrupting(at: int, number: int = signal.SIGINT) -> Callable:
    count = [0]

    def step(state: TrainState, batch: dict) -> tuple[TrainState, dict]:
        count[0] += 1
        if count[0] == at:
            os.kill(os.getpid(), number)
        return STEP(state, batch)

    return step


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_between_two_steps_having_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    before = signal.getsignal(number)
    with Batches(EXAMPLES, 8, seed=0) as batches, Checkpoints(tmp_path, every=100) as checkpoints:
        with pytest.raises(Interrupted, match=f"paso 6, que quedó guardado en {tmp_path}") as stopped:
            fit(fresh(), interrupting(6, number), batches, steps=20, every=50, checkpoints=checkpoints, progress=False)
        assert (stopped.value.signal, int(stopped.value.state.step)) == (number, 6)
        assert checkpoints.steps() == [6]
    assert "Repite la señal" in capsys.readouterr().err
    assert signal.getsignal(number) == before
    with Batches(EXAMPLES, 8, seed=0) as batches, Checkpoints(tmp_path, every=100) as checkpoints:
        resumed = fit(fresh(), STEP, batches, steps=20, every=50, checkpoints=checkpoints, progress=False).state
    with Batches(EXAMPLES, 8, seed=0) as batches:
        assert numbers(resumed) == numbers(fit(fresh(), STEP, batches, steps=20, every=50, progress=False).state)


def test_an_interrupted_run_without_a_folder_hands_over_its_state(batches: Batches) -> None:
    with pytest.raises(Interrupted, match="sin guardar") as stopped:
        fit(fresh(), interrupting(3), batches, steps=20, every=50, progress=False)
    run = fit(stopped.value.state, STEP, batches, steps=20, every=50, progress=False)
    assert int(run.state.step) == 20


def test_a_signal_in_the_last_step_is_not_swallowed(tmp_path: Path, batches: Batches) -> None:
    with Checkpoints(tmp_path, every=100) as checkpoints, pytest.raises(Interrupted):
        fit(fresh(), interrupting(4), batches, steps=4, every=4, checkpoints=checkpoints, progress=False)
    assert (tmp_path / "4").is_dir()


def test_a_second_signal_does_what_signals_do(batches: Batches) -> None:
    def step(state: TrainState, batch: dict) -> tuple[TrainState, dict]:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
        return STEP(state, batch)

    with pytest.raises(KeyboardInterrupt) as stopped:
        fit(fresh(), step, batches, steps=4, every=4, progress=False)
    assert not isinstance(stopped.value, Interrupted)


def test_it_runs_in_a_thread_which_gets_no_signals() -> None:
    found = []

    def work() -> None:
        with Batches(EXAMPLES, 8, seed=0) as batches:
            found.append(fit(fresh(), STEP, batches, steps=3, every=1, progress=False))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [int(run.state.step) for run in found] == [3]


def test_a_save_that_fails_on_the_way_is_told_and_tried_again(
    tmp_path: Path, batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = Checkpoints.save

    def fails_once(self: Checkpoints, state: TrainState, place: Any = None) -> None:
        if int(state.step) == 2:
            raise CheckpointError("disco lleno.", state)
        save(self, state, place)

    monkeypatch.setattr(Checkpoints, "save", fails_once)
    with Checkpoints(tmp_path, every=2) as checkpoints:
        with pytest.warns(SaveFailedWarning, match=r"disco lleno\. El entrenamiento sigue"):
            run = fit(fresh(), STEP, batches, steps=5, every=5, checkpoints=checkpoints, progress=False)
        assert int(run.state.step) == 5 and checkpoints.steps() == [4, 5]


def test_a_last_save_that_fails_hands_over_the_state(
    tmp_path: Path, batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: Checkpoints, state: TrainState, place: Any = None) -> None:
        raise CheckpointError("disco lleno.", state)

    monkeypatch.setattr(Checkpoints, "save", fails)
    with Checkpoints(tmp_path, every=50) as checkpoints, pytest.raises(CheckpointError) as failed:
        fit(fresh(), STEP, batches, steps=5, every=5, checkpoints=checkpoints, progress=False)
    assert failed.value.state is not None and int(failed.value.state.step) == 5


@pytest.mark.parametrize(
    ("options", "named"), [({"every": 0}, "every = 0"), ({"validate_every": 0}, "validate_every = 0")]
)
def test_a_number_below_one_is_named(batches: Batches, options: dict[str, int], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        fit(fresh(), STEP, batches, **{"steps": 3, "every": 1, **options})
