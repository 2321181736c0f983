"""Shapes of transformers: their parameters against published counts, their FLOP against the layers' own."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import hardware, roofline
from tpu_kernels.models.parallelism import transformer
from tpu_kernels.models.parallelism.transformer import Transformer

# NVIDIA/Megatron-LM at 00caa53a, megatron/training/theoretical_memory_usage.py, read 2026-11-30, in its own terms.


def megatron_parameters(model: Transformer) -> float:
    """Parameters as Megatron-LM counts them: another arrangement of the same sum, without the router of a mixture."""
    hidden = model.d_model
    projection_ratio = model.head_dim * model.heads / hidden
    gated = 3 / 2 if model.gated else 1
    attention = 2 * hidden * hidden * ((1 + model.kv_heads / model.heads) * projection_ratio)
    layer = 2 * hidden * (model.d_ff * model.experts * gated + model.norm_vectors) + attention
    tables = (1 if model.tied else 2) * hidden * model.vocabulary
    return layer * model.layers + model.norm_vectors * hidden + tables


@st.composite
def models(draw: st.DrawFn) -> Transformer:
    kv_heads, group, experts = draw(st.integers(1, 8)), draw(st.integers(1, 8)), draw(st.integers(1, 8))
    return transformer.define(
        layers=draw(st.integers(1, 50)),
        d_model=draw(st.integers(1, 100)) * 8,
        d_ff=draw(st.integers(1, 3000)),
        heads=kv_heads * group,
        kv_heads=kv_heads,
        head_dim=draw(st.integers(1, 256)),
        vocabulary=draw(st.integers(1, 10_000)),
        gated=draw(st.booleans()),
        tied=draw(st.booleans()),
        experts=experts,
        experts_per_token=draw(st.integers(1, experts)),
        norm_vectors=draw(st.sampled_from([1, 2])),
    )


@pytest.mark.parametrize("name", ["llama-2-7b", "llama-3-8b", "gemma-2b", "gemma-7b", "mixtral-8x7b"])
def test_the_count_is_the_published_one_to_the_last_parameter(name: str) -> None:
    assert transformer.published(name).parameters.total == transformer.published_parameters(name)


def test_the_count_of_llama_405b_is_the_one_in_its_name() -> None:
    total = transformer.published("llama-3-405b").parameters.total
    assert total == pytest.approx(transformer.published_parameters("llama-3-405b"), rel=0.003)


def test_mixtral_uses_13b_of_its_47b() -> None:
    count = transformer.published("mixtral-8x7b").parameters
    assert count.active == pytest.approx(12.9e9, rel=0.002)
    assert count.total - count.active == 32 * 6 * 3 * 4096 * 14336


@settings(deadline=None)
@given(models())
def test_the_count_agrees_with_megatrons(model: Transformer) -> None:
    assert model.parameters.total - model.parameters.router == pytest.approx(megatron_parameters(model), rel=1e-12)


@settings(deadline=None)
@given(models(), st.integers(1, 300), st.booleans())
def test_the_flops_are_those_of_the_layers(model: Transformer, sequence: int, causal: bool) -> None:
    d, heads_width, kv_width = model.d_model, model.heads * model.head_dim, model.kv_heads * model.head_dim
    layer = [
        roofline.matmul(sequence, d, heads_width),
        roofline.matmul(sequence, d, kv_width, count=2),
        roofline.prefill(
            1, sequence, heads=model.heads, kv_heads=model.kv_heads, head_dim=model.head_dim, causal=causal
        ),
        roofline.matmul(sequence, heads_width, d),
        roofline.moe(
            sequence, d, model.d_ff, experts=model.experts, experts_per_token=model.experts_per_token,
            gated=model.gated, router=model.experts > 1,
        ),
    ]  # fmt: skip
    forward = model.layers * sum(one.flops for one in layer) + roofline.matmul(sequence, d, model.vocabulary).flops
    assert sequence * model.flops_per_token(sequence, causal=causal) == pytest.approx(forward)
    training = model.flops_per_token(sequence, causal=causal, training=True)
    assert training == 3 * model.flops_per_token(sequence, causal=causal)


@settings(deadline=None)
@given(models())
def test_training_costs_six_flop_per_active_parameter_and_token(model: Transformer) -> None:
    count = model.parameters
    multiplied = count.active - count.embedding - count.norms + (count.embedding if model.tied else 0)
    attention = 3 * model.layers * model.attention_flops(1)
    assert model.flops_per_token(1, training=True) == pytest.approx(6 * multiplied + attention)


def test_the_cache_of_a_token() -> None:
    model = transformer.published("llama-3-8b")
    assert model.kv_bytes_per_token() == 2 * 32 * 8 * 128 * 2
    assert model.kv_bytes_per_token("int4") == model.kv_bytes_per_token() / 4
    assert model.kv_bytes_per_token().unit == "bytes"


def test_every_public_model_has_its_sources() -> None:
    for name in transformer.names():
        found = transformer.sources(name)
        assert found
        for source in found:
            assert source.title
            assert source.link.startswith("https://github.com/")
            assert source.date or source.note
    assert [source.key for source in transformer.sources("llama-3-8b")] == ["litgpt", "keras_llama3"]
    used = {source.key for name in transformer.names() for source in transformer.sources(name)}
    assert used == set(transformer._document()["sources"])


def test_a_count_that_no_source_gave_is_unknown() -> None:
    with pytest.raises(hardware.UnknownValueError, match="LLaMA 3 70B"):
        transformer.published_parameters("llama-3-70b")


def test_a_model_says_what_it_is() -> None:
    model = transformer.published("llama-3-70b")
    assert repr(model).replace("\N{NARROW NO-BREAK SPACE}", " ") == (
        "LLaMA 3 70B: 80 capas de 8192→28672, 70 553 706 496 parámetros"
    )
    table = model.parameters.table()
    assert [row[0].text for row in table.rows][:2] == ["Embeddings de entrada y salida", "Atención"]
    assert table.rows[-1][2].text == "100\N{NO-BREAK SPACE}%"
    messages.use("pt")
    assert "camadas" in repr(model)
    assert "<table" in model.parameters._repr_html_()
    own = transformer.define(layers=1, d_model=8, d_ff=8, heads=2, vocabulary=8)
    assert (own.name, own.kv_heads, own.head_dim) == ("Transformer próprio", 2, 4)


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "8"])
@pytest.mark.parametrize(
    "field", ["layers", "d_model", "d_ff", "heads", "vocabulary", "experts", "kv_heads", "head_dim"]
)
def test_sizes_that_are_not_sizes_are_refused(field: str, size: Any) -> None:
    shape: dict[str, Any] = {"layers": 1, "d_model": 8, "d_ff": 8, "heads": 2, "vocabulary": 8}
    with pytest.raises(ValueError, match=f"{field}: .*entero de 1 en adelante"):
        transformer.define(**(shape | {field: size}))


def test_shapes_that_do_not_go_together_are_refused() -> None:
    shape: dict[str, Any] = {"layers": 1, "d_model": 8, "d_ff": 8, "vocabulary": 8}
    with pytest.raises(ValueError, match="heads es 4 y kv_heads es 3"):
        transformer.define(**shape, heads=4, kv_heads=3)
    with pytest.raises(ValueError, match="d_model es 8 y heads es 3"):
        transformer.define(**shape, heads=3)
    with pytest.raises(ValueError, match="solo hay 2 expertos"):
        transformer.define(**shape, heads=2, experts=2, experts_per_token=3)
    with pytest.raises(ValueError, match=r"'gpt-5'.*llama-3-70b.*define"):
        transformer.published("gpt-5")
