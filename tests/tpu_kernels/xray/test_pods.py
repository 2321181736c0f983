"""Training steps of this project for many chips: what devices exchange is counted by hand from the shapes."""

import json
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest

from tpu_kernels import messages
from tpu_kernels.training import data_parallel, fsdp
from tpu_kernels.training.batch import Batch
from tpu_kernels.training.state import Params, TrainState
from tpu_kernels.xray import Report, slice_mesh, xray
from tpu_kernels.xray.errors import ProgramError
from tpu_kernels.xray.libtpu import Libtpu

WIDTH, LAYERS, ROWS = 256, 2, 8
GRADIENT = LAYERS * WIDTH * WIDTH * 4  # bytes, float32


def losses(params: Params, batch: Batch, keys: jax.Array) -> jax.Array:
    hidden = batch["x"]
    for weight in params:
        hidden = jnp.tanh(hidden @ weight)
    return jnp.sum((hidden - batch["y"]) ** 2, axis=-1)


def examined(make_step: Callable[..., Any], topology: str, **options: Any) -> Report:
    mesh = slice_mesh(topology)
    optimizer = optax.sgd(0.1)
    params = [jax.ShapeDtypeStruct((WIDTH, WIDTH), jnp.float32)] * LAYERS
    state = jax.eval_shape(lambda params: TrainState.create(params, optimizer, 0), params)
    batch = {name: jax.ShapeDtypeStruct((mesh.size * ROWS, WIDTH), jnp.float32) for name in "xy"}
    step = make_step(losses, optimizer, mesh=mesh, donate=True, **options)
    return xray(step, state, batch, chip=topology.partition(":")[0], topology=topology)


@pytest.fixture(scope="module")
def pod(compiler: Libtpu, tmp_path_factory: pytest.TempPathFactory) -> Report:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SISTOLICA_CACHE", str(tmp_path_factory.mktemp("cache")))
        return examined(data_parallel.make_step, "v5e:16x16")


def test_data_parallelism_sums_each_gradient_once_over_all_chips(pod: Report) -> None:
    assert (pod.devices, pod.chips, pod.mesh) == (256, 256, {"data": 256})
    assert {one.operation for one in pod.collectives} == {"all-reduce"}
    assert all(one.extents == {"x": 16, "y": 16} for one in pod.collectives)
    assert sum(one.bytes * (one.runs or 0) for one in pod.collectives) == GRADIENT + 2 * 4  # and the loss and weight
    assert all(one.seconds is not None for one in pod.collectives)


def test_figures_are_of_one_device(pod: Report) -> None:
    assert pod.flops == LAYERS * 2 * ROWS * WIDTH * WIDTH * 3 - 2 * ROWS * WIDTH * WIDTH  # none for the first input
    assert pod.memory["argument"] < 2 * GRADIENT
    assert pod.memory["alias"] >= GRADIENT
    assert pod.hbm_used is not None and 0 < pod.hbm_used < pod.hbm == 16 * 2**30
    assert not any("all-reduce" in kernel.name for kernel in pod.kernels)
    assert (pod.cycles.label, pod.cycles.reason) == ("modelled", "devices")


def test_the_report_comes_back_from_json_equal_and_holds_no_list_of_devices(pod: Report) -> None:
    written = json.dumps(pod.to_dict())
    assert Report.from_dict(json.loads(written)) == pod
    assert len(json.dumps(pod.to_dict()["collectives"])) < 2000


@pytest.mark.parametrize(("lang", "words"), [("es", "no incluyen el tiempo"), ("pt", "não incluem o tempo")])
def test_the_text_tells_devices_memory_and_collectives(pod: Report, lang: str, words: str) -> None:
    messages.use(lang)
    written = str(pod)
    assert all(word in written for word in ("256", "data=256", "all-reduce", "x=16 y=16", "HBM", words))
    assert "{" not in written and "None" not in written


def test_sharded_parameters_are_gathered_and_their_gradients_scattered(compiler: Libtpu) -> None:
    report = examined(fsdp.make_step, "v5e:4x4")
    moved: dict[str, int] = {}
    for one in report.collectives:
        size = max(one.bytes, one.result_bytes) * (one.runs or 0)
        moved[one.operation] = moved.get(one.operation, 0) + size
    assert moved.pop("all-gather") == GRADIENT // 2  # in bfloat16, as they are multiplied
    # Whether each gradient is scattered, or summed everywhere and cut, is the compiler's choice.
    assert set(moved) <= {"all-reduce", "reduce-scatter"}
    assert GRADIENT < sum(moved.values()) < 1.1 * GRADIENT
    assert report.memory["argument"] < GRADIENT // 2


def test_another_number_of_devices_than_the_slice_has_is_refused_with_both(compiler: Libtpu) -> None:
    def product(a: jax.Array) -> jax.Array:
        return a @ a

    spread = jax.sharding.NamedSharding(slice_mesh("v5e:4x4"), jax.sharding.PartitionSpec("data"))
    spec = jax.ShapeDtypeStruct((256, 256), jnp.float32, sharding=spread)
    with pytest.raises(ProgramError, match=r"16 dispositivos y v5e:2x2 tiene 4"):
        xray(product, spec)
