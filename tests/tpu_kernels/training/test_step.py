"""A step takes arrays from anywhere, compiles once, says what is wrong with what it is given, and donates when told."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tpu_kernels import messages
from tpu_kernels.training import data_parallel, fsdp
from tpu_kernels.training.batch import shard_batch
from tpu_kernels.training.mesh import data_mesh, replicated
from tpu_kernels.training.state import TrainState

PARAMS = {"w": np.arange(8, dtype=np.float32)}
MODULES = [data_parallel, fsdp]
FORMS = ["shard_map", "jit"]
BOTH = pytest.mark.parametrize("module", MODULES, ids=["data_parallel", "fsdp"])
EACH_FORM = pytest.mark.parametrize("form", FORMS)
adam = optax.adam(0.1)


def losses(params, batch, keys):
    return (batch["x"] @ params["w"] - 1.0) ** 2


def batch_of(rows):
    return {"x": np.linspace(-1, 1, rows * 8, dtype=np.float32).reshape(rows, 8)}


@BOTH
@EACH_FORM
def test_plain_arrays_and_arrays_from_other_meshes_work_and_nothing_is_compiled_twice(module, form):
    traced = []

    def counted(params, batch, keys):
        traced.append(batch["x"].shape)
        return losses(params, batch, keys)

    mesh = data_mesh(4)
    step = module.make_step(counted, adam, mesh=mesh, form=form)
    state = TrainState.create(PARAMS, adam, 0)
    expected, _ = step(state, batch_of(8))
    once = len(traced)
    step(expected, jax.device_put(batch_of(8), replicated(data_mesh(2))))
    for elsewhere in (replicated(data_mesh(8)), jax.devices()[5]):
        after, _ = step(jax.device_put(state, elsewhere), batch_of(8))
        np.testing.assert_array_equal(after.params["w"], expected.params["w"])
    assert len(traced) == once
    assert after.params["w"].sharding.device_set == set(jax.devices()[:4])


def test_a_step_can_be_compiled_ahead_of_time():
    step = data_parallel.make_step(losses, adam, mesh=data_mesh(2))
    state = TrainState.create(PARAMS, adam, 0)
    compiled = jax.jit(step).lower(state, batch_of(4)).compile()
    after, _ = compiled(state, batch_of(4))
    np.testing.assert_allclose(after.params["w"], step(state, batch_of(4))[0].params["w"], rtol=1e-6)


@BOTH
@EACH_FORM
def test_a_donated_state_is_named_when_it_is_used_again(module, form):
    mesh = data_mesh(4)
    step = module.make_step(losses, adam, mesh=mesh, form=form, donate=True)
    given = {"w": jnp.arange(8, dtype=jnp.float32)}
    state, batch = TrainState.create(given, adam, 0), shard_batch(batch_of(8), mesh)
    middle, _ = step(state, batch)
    last, _ = step(middle, batch)
    assert int(last.step) == 2
    for used in (state, middle):
        with pytest.raises(RuntimeError, match=r"argumento state .*Usa el valor devuelto: state, metrics = step"):
            step(used, batch)
    messages.use("pt")
    with pytest.raises(RuntimeError, match=r"argumento state .*Use o valor devolvido"):
        module.make_step(losses, adam, mesh=mesh, form=form)(middle, batch)
    np.testing.assert_array_equal(given["w"], PARAMS["w"])  # the caller's arrays were copied
    step(last, batch)


@BOTH
@EACH_FORM
def test_a_donated_state_that_already_lies_on_the_mesh_really_is_given_up(module, form):
    mesh = data_mesh(4)
    state = TrainState.create(PARAMS, adam, 0)
    placed, _ = module.make_step(losses, adam, mesh=mesh, form=form)(state, batch_of(8))
    module.make_step(losses, adam, mesh=mesh, form=form, donate=True)(placed, batch_of(8))
    assert placed.params["w"].is_deleted()


def test_without_donation_a_state_can_be_used_again():
    step = data_parallel.make_step(losses, adam)
    state = TrainState.create(PARAMS, adam, 0)
    first, _ = step(state, batch_of(4))
    second, _ = step(state, batch_of(4))
    np.testing.assert_array_equal(first.params["w"], second.params["w"])


def test_an_optimiser_that_keeps_the_parameters_themselves_can_be_donated():
    keeping = optax.GradientTransformation(
        lambda params: params, lambda gradient, state, params=None: (gradient, state)
    )
    step = data_parallel.make_step(losses, keeping, donate=True)
    state = TrainState.create(PARAMS, keeping, 0)
    for _ in range(2):
        state, _ = step(state, batch_of(4))
    np.testing.assert_array_equal(state.opt_state["w"], PARAMS["w"])


@BOTH
def test_a_batch_that_does_not_divide_is_refused_in_one_line(module):
    step = module.make_step(losses, adam, mesh=data_mesh(4))
    with pytest.raises(ValueError, match=r"10 ejemplos .* 4 dispositivos .*8/12 ejemplos, o shard_batch") as caught:
        step(TrainState.create(PARAMS, adam, 0), batch_of(10))
    assert "\n" not in str(caught.value)


def test_microbatches_count_when_a_batch_is_divided():
    step = data_parallel.make_step(losses, adam, mesh=data_mesh(2), accumulate=4)
    with pytest.raises(ValueError, match=r"4 ejemplos .* 2 dispositivos \(microlotes en cada uno: 4\). Usa 8 ejemplos"):
        step(TrainState.create(PARAMS, adam, 0), batch_of(4))


@BOTH
@pytest.mark.parametrize(
    ("argument", "got", "known"), [("form", "pmap", "shard_map, jit"), ("reduction", "median", "sum, mean")]
)
def test_an_unknown_name_is_answered_with_the_known_ones(module, argument, got, known):
    with pytest.raises(ValueError, match=f"{argument} = '{got}': se esperaba uno de estos: {known}"):
        module.make_step(losses, adam, **{argument: got})


@BOTH
def test_there_is_at_least_one_microbatch(module):
    with pytest.raises(ValueError, match="accumulate = 0"):
        module.make_step(losses, adam, accumulate=0)


def test_a_model_that_averages_by_itself_is_refused():
    step = data_parallel.make_step(lambda *given: jnp.mean(losses(*given)), adam)
    with pytest.raises(ValueError, match=r"forma \(\) y se esperaba \(4,\): una pérdida por ejemplo"):
        step(TrainState.create(PARAMS, adam, 0), batch_of(4))


@BOTH
def test_a_mesh_with_explicit_axes_is_refused_with_the_cure(module):
    mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Explicit,))
    with pytest.raises(ValueError, match=r"\(Explicit\) .*data_mesh\(n\)"):
        module.make_step(losses, adam, mesh=mesh)


@BOTH
def test_a_mesh_of_two_axes_is_refused(module):
    mesh = jax.make_mesh((2, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    with pytest.raises(ValueError, match=r"\(data, model\)"):
        module.make_step(losses, adam, mesh=mesh)
