"""Bytes that a training step sends, against rings that pass blocks on and count them; and the time of a step."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import parallelism, roofline
from tpu_kernels.models.parallelism import AXES, TrainingStep, mesh_machine, plan, training_step, transformer
from tpu_kernels.models.parallelism.activations import BLOCK, SELECTIVE
from tpu_kernels.models.parallelism.collective_bytes import all_gather, all_reduce, all_to_all, reduce_scatter

Blocks = list[dict[int, set[int]]]  # device -> block -> devices whose contribution it holds


# Collectives


def ring(state: Blocks, first: Callable[[int], int], steps: int, merge: bool) -> list[int]:
    """Passes a block to the next device ``steps`` times, starting with block ``first(device)``; blocks sent by each."""
    devices = len(state)
    sent = [0] * devices
    for step in range(steps):
        moves = [(device, (first(device) - step) % devices) for device in range(devices)]
        payloads = [set(state[device][block]) for device, block in moves]
        for (device, block), payload in zip(moves, payloads, strict=True):
            target = state[(device + 1) % devices]
            target[block] = target.get(block, set()) | payload if merge else payload
            sent[device] += 1
    return sent


@pytest.mark.parametrize("devices", range(1, 9))
def test_a_ring_sends_what_the_formulas_say_and_does_the_job(devices: int) -> None:
    everyone = set(range(devices))
    gathered: Blocks = [{device: {device}} for device in range(devices)]
    sent = ring(gathered, lambda device: device, devices - 1, merge=False)
    assert all(set(held) == everyone for held in gathered)
    assert [all_gather(devices, devices)] * devices == pytest.approx(sent)  # a block is a byte
    scattered: Blocks = [{block: {device} for block in range(devices)} for device in range(devices)]
    sent = ring(scattered, lambda device: device, devices - 1, merge=True)
    assert all(held[(device + 1) % devices] == everyone for device, held in enumerate(scattered))
    assert [reduce_scatter(devices, devices)] * devices == pytest.approx(sent)
    again = ring(scattered, lambda device: device + 1, devices - 1, merge=False)
    assert all(held[block] == everyone for held in scattered for block in range(devices))
    assert [all_reduce(devices, devices)] * devices == pytest.approx([a + b for a, b in zip(sent, again, strict=True)])


@settings(deadline=None)
@given(st.integers(1, 64), st.floats(0, 1e12))
def test_no_algorithm_sends_less(devices: int, total: float) -> None:
    # To hold an array of which it has a part, a device must receive the rest; all that is received is sent by someone.
    part = total / devices
    received = devices * (total - part)
    assert devices * all_gather(total, devices) == pytest.approx(received)
    assert devices * reduce_scatter(total, devices) == pytest.approx(received)
    assert all_reduce(total, devices) == pytest.approx(all_gather(total, devices) + reduce_scatter(total, devices))
    assert devices * all_to_all(total, devices) == pytest.approx(devices * (devices - 1) * total / devices)
    assert all_gather(total, 1) == all_reduce(total, 1) == all_to_all(total, 1) == 0


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf"), True, "1"])
def test_bytes_and_devices_that_are_not_such_are_refused(wrong: Any) -> None:
    for collective in (all_gather, reduce_scatter, all_reduce, all_to_all):
        with pytest.raises(ValueError, match=r"de cero en adelante|número (real|finito)"):
            collective(wrong, 4)
        with pytest.raises(ValueError, match="entero de 1 en adelante"):
            collective(4.0, wrong)


# Traffic of a step


def step(name: str = "llama-3-8b", *, tokens: int = 2**20, **options: Any) -> TrainingStep:
    policy = options.pop("policy", SELECTIVE)
    return training_step(transformer.published(name), plan(**options), tokens=tokens, sequence=8192, policy=policy)


def test_each_kind_of_data_parallelism_sends_its_multiple_of_the_model() -> None:
    parameters = transformer.published("llama-3-8b").parameters.total
    once = 2 * parameters * 63 / 64  # bf16, to or from 64 devices
    for zero, multiple in ((0, 2), (1, 2), (2, 2), (3, 3)):  # the ZeRO paper: 2, 2, 2 and 3 times the model
        assert step(fsdp=64, zero=zero).traffic() == pytest.approx({"fsdp": multiple * once})
    assert step(data=64).traffic() == pytest.approx({"data": 2 * once})
    assert step().traffic() == {}


def test_microbatches_repeat_what_zero_does_not_keep() -> None:
    parameters = transformer.published("llama-3-8b").parameters.total
    once = 2 * parameters * 63 / 64
    for zero, multiple in ((0, 2), (1, 2), (2, 4 + 1), (3, 4 + 8)):
        assert step(fsdp=64, zero=zero, microbatches=4).traffic() == pytest.approx({"fsdp": multiple * once})


def test_replicas_of_a_sharded_model_reduce_their_shards() -> None:
    parameters = transformer.published("llama-3-8b").parameters.total
    sent = step(fsdp=64, data=4).traffic()
    assert sent["data"] == pytest.approx(2 * 2 * parameters / 64 * 3 / 4)
    assert sent["fsdp"] == step(fsdp=64).traffic()["fsdp"]


def test_tensor_parallelism_gathers_and_scatters_every_block() -> None:
    tokens, layers, width = 2**20, 32, 4096
    array = 2 * tokens * width
    # Forward and backward, attention and feed-forward: gather what enters, scatter what leaves.
    expected = layers * 2 * 2 * (all_gather(array, 8) + reduce_scatter(array, 8))
    assert step(tensor=8).traffic() == pytest.approx({"tensor": expected})
    # Without sequence parallelism the same bytes are an all-reduce after each block (Megatron-LM).
    assert step(tensor=8, sequence_parallel=False).traffic() == pytest.approx(
        {"tensor": layers * 4 * all_reduce(array, 8)}
    )
    assert step(tensor=8, fsdp=4).traffic()["tensor"] == pytest.approx(expected / 4)
    assert step(tensor=8, policy=BLOCK).traffic()["tensor"] == pytest.approx(expected * 3 / 2)


def test_a_pipeline_sends_activations_and_gradients_at_its_ends() -> None:
    array = 2 * 2**20 * 4096
    assert step(pipeline=2, microbatches=4).traffic() == {"pipeline": array}  # one way each
    assert step(pipeline=4, microbatches=4).traffic() == {"pipeline": 2 * array}  # a middle stage sends both
    cut = step(pipeline=4, microbatches=4, schedule_kind="interleaved", chunks=2)
    assert cut.traffic() == {"pipeline": 4 * array}
    assert step(pipeline=2, microbatches=4, tensor=8).traffic()["pipeline"] == array / 8
    whole = step(pipeline=2, microbatches=4, tensor=8, sequence_parallel=False)
    assert whole.traffic()["pipeline"] == array


def test_experts_receive_their_tokens_and_send_them_back() -> None:
    model = transformer.published("mixtral-8x7b")
    tokens = 2**20 / 8
    routed = 2 * 2 * tokens * 4096  # bf16, two experts a token
    dense = 2 * (model.parameters.total - model.parameters.mlp)
    expected = 32 * 4 * all_to_all(routed, 8) + all_reduce(dense, 8)
    assert step("mixtral-8x7b", expert=8).traffic() == pytest.approx({"expert": expected})
    both = step("mixtral-8x7b", expert=8, fsdp=4).traffic()["expert"]  # a quarter of the tokens, and of the gradients
    assert both == pytest.approx(expected / 4)
    spread = step("mixtral-8x7b", expert=8, data=4).traffic()
    # Every replica reduces the gradients of its own expert and of everything dense.
    assert spread["data"] == pytest.approx(all_reduce(dense + 2 * model.parameters.mlp / 8, 4))


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([1, 2, 16]), st.sampled_from([1, 2, 64]), st.sampled_from([1, 2, 8]), st.sampled_from([1, 2, 4]),
    st.sampled_from([0, 1, 2, 3]), st.sampled_from([1, 4]),
)  # fmt: skip
def test_the_axes_of_one_device_are_silent_and_the_others_are_not(
    data: int, fsdp: int, tensor: int, pipeline: int, zero: int, microbatches: int
) -> None:
    made = step(
        tokens=2**24, data=data, fsdp=fsdp, tensor=tensor, pipeline=pipeline, zero=zero, microbatches=microbatches
    )
    sent = made.traffic()
    assert set(sent) == {axis for axis in AXES if getattr(made.plan, axis) > 1}
    assert all(amount > 0 for amount in sent.values())
    assert made.plan.devices == data * fsdp * tensor * pipeline


# FLOP and time


@settings(deadline=None, max_examples=40)
@given(st.sampled_from([1, 2, 16]), st.sampled_from([1, 8]), st.sampled_from([1, 2, 4, 5]))
def test_the_stages_share_the_flops_of_the_model(shards: int, tensor: int, pipeline: int) -> None:
    made = step(fsdp=shards, tensor=tensor, pipeline=pipeline, microbatches=pipeline, policy="everything")
    whole = 2**20 * made.model.flops_per_token(8192, training=True)
    share = sum(made.flops(stage) for stage in range(pipeline))
    assert share * shards * tensor == pytest.approx(whole)
    assert made.flops() == max(made.flops(stage) for stage in range(pipeline))


def test_keeping_only_the_inputs_of_layers_costs_a_third_more() -> None:
    # Scaling book, chapter 4: "we increase our FLOPs from 6ND to roughly 8ND".
    everything, block = step(policy="everything").flops(), step(policy=BLOCK).flops()
    table = 6 * 128_256 * 4096 * 2**20
    assert (block - table) / (everything - table) == pytest.approx(8 / 6)


def test_the_bound_of_a_step_is_the_slowest_axis() -> None:
    made = step("llama-3-70b", tokens=2**22, fsdp=512, tensor=8)
    on = mesh_machine("v5p", {"fsdp": 2, "tensor": 1})
    found = made.roofline(on)
    link = 2 * 100e9  # both links of an axis
    sent = made.traffic()
    assert found.time_of("fsdp") == pytest.approx(sent["fsdp"] / (2 * link))
    assert found.time_of("tensor") == pytest.approx(sent["tensor"] / link)
    assert found.time_of("compute") == pytest.approx(made.flops() / 459e12)
    assert found.lower == max(found.time_of(name) for name in ("fsdp", "tensor", "compute"))
    assert made.time(on) == found.lower
    assert made.time(on, overlap=False) == found.upper
    assert "4096 dispositivos" in made.workload().name


def test_a_pipeline_adds_its_bubble() -> None:
    made = step(pipeline=4, microbatches=12)
    on = mesh_machine("v5p", {"pipeline": 1})
    assert made.time(on) == pytest.approx(made.roofline(on).lower * (1 + 3 / 12))


def test_an_axis_may_be_any_level_of_the_machine() -> None:
    on = mesh_machine("v5p", {"fsdp": 3, "data": "dcn"})
    assert on.level("data").bandwidth == roofline.machine("v5p").level("dcn").bandwidth
    assert on.level("fsdp").bandwidth == pytest.approx(3 * roofline.machine("v5p").level("ici").bandwidth)
    assert mesh_machine("H100", {"tensor": "interconnect"}).level("tensor").bandwidth == 450e9
    with pytest.raises(ValueError, match=r"'model'.*data, fsdp, tensor, pipeline, expert"):
        mesh_machine("v5p", {"model": 1})
    with pytest.raises(ValueError, match=r"mayor que cero|número (real|finito)"):
        mesh_machine("v5p", {"fsdp": 0})
    with pytest.raises(ValueError, match="no tiene el nivel 'pcie'"):
        mesh_machine("v5p", {"data": "pcie"})
    with pytest.raises(ValueError, match="no tiene el nivel 'tensor'"):
        step(tensor=8).roofline(on)


@settings(deadline=None, max_examples=40)
@given(st.floats(0.1, 3.0), st.floats(1.0, 4.0))
def test_more_bandwidth_is_never_slower(axes: float, factor: float) -> None:
    made = step("llama-3-70b", tokens=2**21, fsdp=512, tensor=8)
    slow = made.time(mesh_machine("v5p", {"fsdp": axes, "tensor": 1}))
    assert made.time(mesh_machine("v5p", {"fsdp": axes * factor, "tensor": 1})) <= slow


def test_plans_are_compared_side_by_side() -> None:
    steps = {
        "replicas": step("llama-3-70b", tokens=2**22, data=2048),
        "fsdp": step("llama-3-70b", tokens=2**22, fsdp=8192),
        "fsdp + tensor": step("llama-3-70b", tokens=2**22, fsdp=2048, tensor=4, policy=BLOCK),
        "pipeline": step("llama-3-70b", tokens=2**22, fsdp=512, zero=1, pipeline=4, tensor=4, microbatches=4),
    }
    mesh = mesh_machine("v5p", {"data": 3, "fsdp": 2, "tensor": 1, "pipeline": 1})
    table = parallelism.compare(steps, "v5p", mesh)
    assert [row[0].text for row in table.rows] == list(steps)
    assert [row[3].text for row in table.rows] == ["no", "sí", "sí", "sí"]
    assert [row[4].text for row in table.rows] == ["cálculo", "fsdp", "cálculo", "cálculo"]
    for (_, made), row in zip(steps.items(), table.rows, strict=True):
        assert row[2].text == made.memory().total.format()
        assert row[5].text == made.time(mesh).format()
    pipelined = steps["pipeline"]
    assert table.rows[3][6].text == "57,1\N{NO-BREAK SPACE}%"  # 4 microbatches of 4 + 3
    assert pipelined.plan.schedule.bubble_fraction == pytest.approx(3 / 7)
    assert repr(pipelined).replace("\N{NARROW NO-BREAK SPACE}", " ") == (
        "LLaMA 3 70B en 8192 dispositivos, 4 194 304 tokens por paso"
    )
    messages.use("pt")
    assert parallelism.compare(steps, "v5p", mesh).rows[0][3].text == "não"
    assert "por passo" in repr(pipelined)


def test_the_public_face_has_what_it_promises() -> None:
    assert all(hasattr(parallelism, name) for name in parallelism.__all__)
    assert all(hasattr(roofline, name) for name in roofline.__all__)
