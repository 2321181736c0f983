"""Memory of a training step: against Megatron-LM's own estimate, published formulas, and a plain count of tensors."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import parallelism, roofline
from tpu_kernels.models.parallelism import States, Transformer, plan, training_step, transformer
from tpu_kernels.models.parallelism.activations import (
    BLOCK,
    EVERYTHING,
    MATMULS,
    MLP,
    POLICIES,
    SELECTIVE,
    bytes_per_token,
    recomputed_flops,
    stored,
)

MEGATRON = States(gradients="fp32", master="fp32")  # 2 + 4 + 12 bytes
ZERO_PAPER = States(master="fp32")  # 2 + 2 + 12 bytes


def gpt(hidden: int, heads: int, layers: int = 1) -> Transformer:
    """GPT as the papers on activations have it: two matrices, four times as wide, as many key-value heads as heads."""
    return transformer.define(
        layers=layers, d_model=hidden, d_ff=4 * hidden, heads=heads, vocabulary=51_200, gated=False, norm_vectors=2
    )


# Activations


@settings(deadline=None)
@given(st.integers(1, 64), st.integers(1, 128), st.integers(1, 4096), st.sampled_from([1, 2, 4, 8]))
def test_activations_of_gpt_are_those_of_the_paper(heads: int, head_dim: int, sequence: int, tensor: int) -> None:
    # Korthikanti et al., 2022 (arXiv 2205.05198), equations 1, 2, 4 and 6, as public notes and NVIDIA/Megatron-LM at
    # 00caa53a cite them. Bytes per token: h (34 + 5 a s / h); h (10 + 24 / t + 5 a s / (h t)); h / t (34 + 5 a s / h);
    # 34 h / t; 2 h.
    model, hidden = gpt(heads * head_dim, heads), heads * head_dim
    every = stored(model, sequence, fused_attention=False, dropout=True)
    scores = 5 * heads * sequence / hidden
    assert bytes_per_token(every) == pytest.approx(hidden * (34 + scores))
    plain = bytes_per_token(every, tensor=tensor, sequence_parallel=False)
    assert plain == pytest.approx(hidden * (10 + 24 / tensor + scores / tensor))
    assert bytes_per_token(every, tensor=tensor) == pytest.approx(hidden / tensor * (34 + scores))
    selective = stored(model, sequence, policy=SELECTIVE, fused_attention=False, dropout=True)
    assert bytes_per_token(selective, tensor=tensor) == pytest.approx(34 * hidden / tensor)
    assert bytes_per_token(stored(model, sequence, policy=BLOCK)) == 2 * hidden


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(1, 64), st.integers(1, 20_000))
def test_without_scores_megatrons_formula_for_any_width(heads: int, head_dim: int, d_ff: int) -> None:
    # compute_activation_memory: seq * batch * hidden * (18 + 4 * ffn / hidden).
    model = gpt(heads * head_dim, heads)._replace(d_ff=d_ff)
    arrays = stored(model, 128, policy=SELECTIVE, fused_attention=False, dropout=True)
    assert bytes_per_token(arrays) == pytest.approx(model.d_model * (18 + 4 * d_ff / model.d_model))


def test_the_share_of_the_scores_in_gpt_3() -> None:
    # Korthikanti et al., section 5: 5 a s / h is 80 for GPT-3 (a 96, s 2048, h 12288) and 64 for MT-NLG (128, 20480).
    for heads, hidden, expected in ((96, 12288, 80), (128, 20480, 64)):
        model = gpt(hidden, heads)
        every = bytes_per_token(stored(model, 2048, fused_attention=False, dropout=True))
        rest = bytes_per_token(stored(model, 2048, policy=SELECTIVE, fused_attention=False, dropout=True))
        assert (every - rest) / hidden == expected
        assert rest / hidden == 34


def test_a_gated_layer_with_grouped_heads_array_by_array() -> None:
    model = transformer.published("llama-3-70b")
    d, f, q, kv, heads = 8192, 28672, 64 * 128, 8 * 128, 64
    every = stored(model, 4096)
    # Two norm inputs, two block inputs, q, k, v, the heads' output, gate, up and their product; softmax statistics.
    assert bytes_per_token(every) == 2 * (4 * d + q + 2 * kv + q + 3 * f) + 4 * heads
    naive = stored(model, 4096, fused_attention=False)
    assert bytes_per_token(naive) == 2 * (4 * d + q + 2 * kv + q + 3 * f) + 2 * heads * 4096
    assert bytes_per_token(stored(model, 4096, policy=MATMULS)) == 2 * (q + 2 * kv + d + 2 * f + d)
    assert bytes_per_token(stored(model, 4096, policy=MLP)) == 2 * (2 * f + d)
    assert bytes_per_token(stored(model, 4096, policy=BLOCK)) == 2 * d
    assert bytes_per_token(stored(model, 4096, dtype="fp32", policy=BLOCK)) == 4 * d


def test_a_mixture_keeps_what_each_chosen_expert_needs() -> None:
    mixtral = transformer.published("mixtral-8x7b")
    dense = mixtral._replace(experts=1, experts_per_token=1)
    more = bytes_per_token(stored(mixtral, 512)) - bytes_per_token(stored(dense, 512))
    assert more == 2 * (4096 + 3 * 14336)  # the input and the three hidden arrays, once more


@pytest.mark.parametrize("causal", [True, False])
def test_keeping_less_computes_more(causal: bool) -> None:
    model = transformer.published("llama-3-8b")
    held = [bytes_per_token(stored(model, 4096, policy=policy, fused_attention=False)) for policy in POLICIES]
    again = [recomputed_flops(model, 4096, policy, causal=causal) for policy in POLICIES]
    assert held == sorted(held, reverse=True)
    assert again == sorted(again)
    assert again[0] == 0
    assert again[-1] == model.layer_flops(4096, causal=causal)


# Parameters, gradients, optimiser


@pytest.mark.parametrize(
    ("zero", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.9)], ids=["none", "os", "os+g", "os+g+p"]
)
def test_zero_on_a_model_of_7_5b_over_64_devices(zero: int, gigabytes: float) -> None:
    # Rajbhandari et al., "ZeRO", 2020 (arXiv 1910.02054), figure 1, as public notes transcribe it: 7.5B parameters,
    # K = 12, 64 devices.
    model = transformer.define(layers=1, d_model=1000, d_ff=1, heads=1, vocabulary=1)
    layers = round(7.5e9 / (model.parameters.total - 2 * 1000))
    step = training_step(
        model._replace(layers=layers), plan(fsdp=64, zero=zero), tokens=2**20, sequence=1024, states=ZERO_PAPER
    )
    use = step.memory()
    assert step.model.parameters.total == pytest.approx(7.5e9, rel=1e-3)
    assert use.parameters + use.gradients + use.optimiser == pytest.approx(gigabytes * 1e9, rel=0.02)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["llama-2-7b", "llama-3-8b", "llama-3-70b", "gemma-7b"]),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([1, 2, 16]),
    st.booleans(),
)
def test_states_are_those_that_megatron_estimates(
    name: str, tensor: int, pipeline: int, data: int, distributed: bool
) -> None:
    """compute_weight_and_optimizer_memory: the most loaded shard, 18 bytes a parameter, or 6 and 12 / data."""
    model = transformer.published(name)
    table = model.vocabulary * model.d_model
    block = model.parameters.total - model.parameters.embedding - model.parameters.unembedding
    shard = (block / pipeline + table) / tensor
    if not model.tied and pipeline == 1:
        shard += table / tensor
    expected = shard * (6 + 12 / data if distributed else 18)
    made = plan(tensor=tensor, pipeline=pipeline, fsdp=data, zero=1 if distributed else 0)
    use = training_step(model, made, tokens=2**20, sequence=1024, states=MEGATRON).memory(0)
    ours = use.parameters + use.gradients + use.optimiser
    # Megatron divides the normalisations too and gives every stage the mean number of layers.
    uneven = 1 + 2 * pipeline / model.layers if model.layers % pipeline else 1 + 1e-3
    assert expected * (1 - 1e-3) <= ours <= expected * uneven


@settings(deadline=None)
@given(
    st.integers(1, 3), st.integers(1, 3), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 3, 5]),
    st.sampled_from([1, 2, 4]), st.sampled_from([0, 1, 2, 3]), st.booleans(),
)  # fmt: skip
def test_splitting_everything_loses_and_repeats_nothing(
    data: int, fsdp: int, tensor: int, pipeline: int, expert: int, zero: int, tied: bool
) -> None:
    model = transformer.define(
        layers=7, d_model=32, d_ff=64, heads=8, kv_heads=4, vocabulary=96, experts=4, experts_per_token=2, tied=tied
    )
    made = plan(data=data, fsdp=fsdp, tensor=tensor, pipeline=pipeline, expert=expert, zero=zero)
    step = training_step(model, made, tokens=960, sequence=48, states=ZERO_PAPER)
    uses = [step.memory(stage) for stage in range(pipeline)]
    count = model.parameters
    replicated = count.norms + count.router  # whole on every device of tensor and expert
    experts = count.mlp
    dense = count.total - replicated - experts
    copies = dense * expert + replicated * tensor * expert + experts
    if tied and pipeline > 1:
        copies += count.embedding * expert  # a tied table lies at both ends
    for held, size, stage in (("parameters", 2, 3), ("gradients", 2, 2), ("optimiser", 12, 1)):
        ways = fsdp if zero >= stage else 1
        held_bytes = sum(getattr(use, held) for use in uses) * tensor * expert * ways
        assert held_bytes == pytest.approx(copies * size)
    assert sum(step.parameters(stage).layers for stage in range(pipeline)) == 7


def test_a_key_head_that_cannot_be_divided_is_repeated() -> None:
    model = transformer.define(layers=1, d_model=64, d_ff=64, heads=16, kv_heads=2, vocabulary=1)
    one, eight = (training_step(model, plan(tensor=t), tokens=8, sequence=8).parameters(0) for t in (1, 8))
    head = 2 * 64 * 4  # keys and values of one head
    matrices = model.attention_parameters + model.expert_parameters + 2 * 64
    assert one.dense == matrices + 3 * 64
    assert eight.dense == (matrices - 2 * head) / 8 + head + 3 * 64


def test_activations_follow_the_schedule() -> None:
    model = transformer.published("llama-3-8b")

    def activations(stage: int, **options: Any) -> float:
        made = plan(pipeline=4, microbatches=8, **options)
        return training_step(model, made, tokens=2**20, sequence=8192, policy=SELECTIVE).memory(stage).activations

    whole = training_step(model, plan(), tokens=2**20, sequence=8192, policy=SELECTIVE).memory().activations
    assert activations(0, schedule_kind="gpipe") == pytest.approx(whole / 4)  # a quarter of the layers, every token
    assert [activations(stage) for stage in range(4)] == pytest.approx([whole / 32 * (4 - s) for s in range(4)])
    cut = activations(0, schedule_kind="interleaved", chunks=2)
    assert cut == pytest.approx(whole / 32 * (4 + 3 / 2))


def test_what_exists_for_one_layer_at_a_time() -> None:
    model = transformer.published("llama-3-8b")
    layer = model.attention_parameters + model.expert_parameters + 2 * 4096
    sharded = training_step(model, plan(fsdp=64), tokens=2**20, sequence=8192, policy=SELECTIVE).memory()
    assert sharded.working == layer * (2 + 2)
    replicated = training_step(model, plan(fsdp=64, zero=2), tokens=2**20, sequence=8192, policy=SELECTIVE).memory()
    assert replicated.working == layer * 2
    for zero in (0, 1):
        assert training_step(model, plan(fsdp=64, zero=zero), tokens=2**20, sequence=8192).memory().working == 0
    again = training_step(model, plan(fsdp=64, zero=1), tokens=2**20, sequence=8192, policy=BLOCK).memory()
    everything, block = (bytes_per_token(stored(model, 8192, policy=policy)) for policy in (EVERYTHING, BLOCK))
    assert again.working == 2**20 / 64 * (everything - block)
    assert again.activations == 32 * 2**20 / 64 * block
    assert again.logits == 2**20 / 64 * 128_256 * 4


def test_what_fits() -> None:
    model = transformer.published("llama-3-8b")
    small = training_step(model, plan(), tokens=2**13, sequence=8192, policy=BLOCK)
    assert not small.memory().fits("v5e")
    spread = training_step(model, plan(fsdp=256), tokens=2**20, sequence=8192, policy=BLOCK)
    assert spread.memory().fits("v5e")
    assert spread.memory().total == pytest.approx(sum(spread.memory()[1:]))
    exact = roofline.custom("m", rates={}, levels={"hbm": 1.0}, capacities={"hbm": float(spread.memory().total)})
    assert spread.memory().fits(exact)
    assert not spread.memory().fits(exact, reserved=0.01)
    with pytest.raises(ValueError, match="no dice cuánto cabe en hbm"):
        spread.memory().fits(roofline.custom("m", rates={}, levels={"hbm": 1.0}))
    for reserved in (-0.1, 1, math.nan, True):
        with pytest.raises(ValueError, match="proporción"):
            spread.memory().fits("v5e", reserved=reserved)


def test_the_memory_is_that_of_the_fullest_stage() -> None:
    step = training_step(
        transformer.published("gemma-7b"), plan(pipeline=4, microbatches=4), tokens=2**16, sequence=8192
    )
    uses = [step.memory(stage) for stage in range(4)]
    assert step.memory() == max(uses, key=lambda use: use.total)
    assert [use.logits > 0 for use in uses] == [False, False, False, True]


def test_a_memory_use_says_what_it_is() -> None:
    use = parallelism.MemoryUse(2, 1e9, 2e9, 3e9, 4e9, 5e9, 6e9)
    assert repr(use) == "Memoria por dispositivo en la etapa 2: 21\N{NO-BREAK SPACE}GB"
    assert [row[1].text for row in use.table().rows][-1] == "21\N{NO-BREAK SPACE}GB"
    messages.use("pt")
    assert use.table().rows[2][0].text == "Estado do otimizador"
    assert "<table" in use._repr_html_()


# Wrong inputs


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "2", None])
@pytest.mark.parametrize("axis", ["data", "fsdp", "tensor", "pipeline", "expert", "microbatches", "chunks"])
def test_axes_that_are_not_sizes_are_refused(axis: str, size: Any) -> None:
    with pytest.raises(ValueError, match="entero de 1 en adelante"):
        plan(**{axis: size})


@pytest.mark.parametrize("zero", [-1, 4, True, "3", None])
def test_zero_stages_that_do_not_exist_are_refused(zero: Any) -> None:
    with pytest.raises(ValueError, match=r"zero: .*0, 1, 2, 3"):
        plan(zero=zero)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tensor": 3}, "heads es 64 y tensor es 3"),
        ({"tensor": 64}, "d_ff es 28672 y tensor es 64|múltiplo"),
        ({"expert": 2}, "experts es 1 y expert es 2"),
        ({"pipeline": 81}, "80 capas y el plan lo corta en 81"),
        ({"pipeline": 20, "chunks": 5, "microbatches": 20, "schedule_kind": "interleaved"}, "corta en 100"),
    ],
)
def test_plans_that_cannot_split_the_model_are_refused(options: dict[str, Any], message: str) -> None:
    model = transformer.published("llama-3-70b")._replace(d_ff=28_673 if options.get("tensor") == 64 else 28_672)
    with pytest.raises(ValueError, match=message):
        training_step(model, plan(**options), tokens=2**20, sequence=4096)


def test_key_heads_that_neither_divide_nor_repeat_are_refused() -> None:
    model = transformer.define(layers=1, d_model=64, d_ff=48, heads=12, kv_heads=6, head_dim=4, vocabulary=1)
    with pytest.raises(ValueError, match="kv_heads es 6 y tensor es 4"):
        training_step(model, plan(tensor=4), tokens=8, sequence=8)
    assert training_step(model, plan(tensor=12), tokens=8, sequence=8).parameters(0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": 0}, "tokens"),
        ({"sequence": -1}, "sequence"),
        ({"policy": "some"}, r"'some'.*everything, selective"),
        ({"activations": "bfloat16"}, "Formato numérico desconocido"),
        ({"states": States(parameters="half")}, "Formato numérico desconocido"),
        ({"states": States(master="half")}, "Formato numérico desconocido"),
        ({"states": States(optimiser="lion")}, "'lion'"),
    ],
)
def test_steps_that_do_not_exist_are_refused(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"tokens": 1024, "sequence": 128} | options
    with pytest.raises(ValueError, match=message):
        training_step(transformer.published("llama-3-8b"), plan(), **arguments)


def test_everything_is_a_policy() -> None:
    assert training_step(transformer.published("llama-3-8b"), plan(), tokens=8, sequence=8).policy == EVERYTHING
