"""The kernel for Hopper as its caller sees it: what it refuses and why, how it cuts, what it lowers to with no GPU."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec

from tpu_kernels import messages
from tpu_kernels.backend import BackendError, Here
from tpu_kernels.kernels.gemm import gpu_hopper, pallas_gpu
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.gpu_tile import choose_tile
from tpu_kernels.kernels.gemm.problem import Problem

H200 = Here("gpu", 1, "NVIDIA H200", "nvidia_h200_sxm", "9.0")
HIGHEST = jax.lax.Precision.HIGHEST


def problem(dtype="bfloat16", out_dtype=None, *, g=1, m=256, k=256, n=256):
    sums = "int32" if dtype == "int8" else "float32"
    return Problem(g, m, k, n, *(jnp.dtype(name) for name in (dtype, sums, out_dtype or dtype)))


def lowered(of, *, bias=None, block=None, precision=None, activation=None, interpret=False):
    """The module for an NVIDIA GPU, and the shape and type of its result."""
    multiply = partial(
        pallas_gpu.multiply,
        problem=of, block=block, precision=precision, activation=activation, interpret=interpret,
    )  # fmt: skip
    a = jax.ShapeDtypeStruct((of.g, of.k, of.m) if of.a_transposed else (of.g, of.m, of.k), of.dtype)
    b = jax.ShapeDtypeStruct((of.g, of.n, of.k) if of.b_transposed else (of.g, of.k, of.n), of.dtype)
    bias = None if bias is None else jax.ShapeDtypeStruct((of.n,), jnp.dtype(bias))
    return export(multiply, a, b, bias)


def export(function, *arguments):
    unchecked = [jax.export.DisabledSafetyCheck.custom_call("mosaic_gpu_v2")]
    exported = jax.export.export(jax.jit(function), platforms=["cuda"], disabled_checks=unchecked)(*arguments)
    (result,) = exported.out_avals
    return exported.mlir_module(), result


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "int8"])
def test_does_what_wgmma_takes(dtype):
    assert pallas_gpu.refusal(problem(dtype), H200) is None


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int16", "int32"])
def test_other_types_are_refused_by_name(dtype):
    reason = pallas_gpu.refusal(problem(dtype), H200)
    assert dtype in reason
    assert "bfloat16" in reason


@pytest.mark.parametrize("capability", ["8.0", "8.9", "10.0", "12.0", None])
def test_other_generations_are_refused_by_name(capability):
    reason = pallas_gpu.refusal(problem(), replace(H200, kind="NVIDIA X", compute_capability=capability))
    assert f"NVIDIA X es {capability or '?'}" in reason
    assert "9.0" in reason


def test_an_interpreter_does_not_ask_for_a_gpu():
    assert pallas_gpu.refusal(problem(), None) is None


def test_a_jax_without_its_gpu_compiler_is_told_what_is_missing(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError("No module named 'absl'", name="absl")

    monkeypatch.setattr(pallas_gpu, "import_module", absent)
    pallas_gpu._missing.cache_clear()
    try:
        assert "absl" in pallas_gpu.refusal(problem(), H200)
        assert not pallas_gpu.can_interpret()
    finally:
        pallas_gpu._missing.cache_clear()


def test_a_jax_whose_interpreter_does_not_know_wgmma_says_so(monkeypatch):
    monkeypatch.setattr(jax, "__version_info__", (0, 8, 0))
    assert not pallas_gpu.can_interpret()
    with pytest.raises(BackendError, match=r"0\.10\.2"):
        lowered(problem(), interpret=True)


def test_the_block_is_the_tile():
    of = problem(m=4096, n=4096, k=4096)
    assert pallas_gpu.block_for(of, None, "tpu_v5e", None) == Block(128, 64, 256)
    assert pallas_gpu.block_for(of, Block(64, 128, 64), "tpu_v5e", None) == Block(64, 128, 64)
    with pytest.raises(ValueError, match=r"block=\(128, 64, 256\)"):
        pallas_gpu.block_for(of, Block(100, 64, 256), "tpu_v5e", None)


def test_the_description_names_the_tile_in_each_language():
    of = problem(m=4096, n=4096, k=4096)
    assert "512 de 128x64x256" in pallas_gpu.describe(of, None, "tpu_v5e", None)
    messages.use("pt")
    assert "Blocos: 512 de 128x64x256" in pallas_gpu.describe(of, None, "tpu_v5e", None)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_8_bit_floats_are_widened_for_exact_sums(dtype):
    of = problem(dtype, "bfloat16", m=4096, n=4096, k=4096)
    assert pallas_gpu.block_for(of, None, "", None) == Block(128, 128, 256)
    assert pallas_gpu.block_for(of, None, "", HIGHEST) == Block(128, 64, 256)
    module, _ = lowered(of, precision=HIGHEST)
    assert module.count("stablehlo.convert") == 2
    assert "tensor<1x4096x4096xf16>" in module


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_float16_holds_every_8_bit_float(dtype):
    every = jnp.arange(256, dtype=jnp.uint8).view(jnp.dtype(dtype))
    np.testing.assert_array_equal(every.astype(jnp.float16).astype(jnp.float32), every.astype(jnp.float32))


LOWERED = [
    (problem("bfloat16", m=4096, n=4096, k=4096), {}),
    (problem("float16", "float32", m=4096, n=4096, k=4096), {"bias": "float32", "activation": "silu"}),
    (problem("bfloat16", g=2, m=301, k=203, n=77), {"bias": "bfloat16", "activation": "gelu"}),
    (problem("bfloat16", g=3, m=1, k=1, n=1), {"bias": "float32", "activation": "relu"}),
    (problem("bfloat16", "float8_e4m3fn", m=130), {"block": Block(256, 64, 128)}),
    (problem("bfloat16", m=130), {"block": Block(64, 128, 192), "activation": "gelu"}),
    (problem("int8", "int32", g=2, m=300, n=260, k=130), {"bias": "int32", "activation": "relu"}),
    (problem("int8", "bfloat16", m=5, n=3, k=2), {"bias": "int8", "activation": "gelu"}),
    (problem("float8_e4m3fn", "bfloat16", m=300, n=260, k=130), {"bias": "float32"}),
    (problem("float8_e5m2", "float32", g=2), {"precision": HIGHEST}),
]


@pytest.mark.parametrize(("of", "options"), LOWERED, ids=range(len(LOWERED)))
def test_lowers_for_an_nvidia_gpu_without_one(of, options):
    module, result = lowered(of, **options)
    assert "mosaic_gpu" in module
    assert (result.shape, result.dtype) == ((of.g, of.m, of.n), of.out_dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
@pytest.mark.parametrize("a_transposed", [False, True])
@pytest.mark.parametrize("b_transposed", [False, True])
def test_16_bit_operands_are_read_as_they_lie_and_8_bit_ones_with_k_innermost(dtype, a_transposed, b_transposed):
    of = replace(problem(dtype, "float32"), a_transposed=a_transposed, b_transposed=b_transposed)
    module, _ = lowered(of)
    turned = module.count("stablehlo.transpose")
    assert turned == (0 if dtype == "bfloat16" else a_transposed + (not b_transposed))


def test_only_what_tma_cannot_take_is_copied():
    aligned, _ = lowered(problem(m=8, k=64, n=64), bias="float32", block=Block(64, 64, 64))
    assert "stablehlo.pad" not in aligned
    assert "stablehlo.slice" not in aligned
    ragged, _ = lowered(problem(m=9, k=65, n=65))
    assert ragged.count("stablehlo.pad") == 2
    assert "tensor<1x16x128xbf16>" in ragged
    assert "tensor<1x72x128xbf16>" in ragged


def test_batches_of_a_batch_lower():
    multiply = partial(
        pallas_gpu.multiply, problem=problem(g=2), bias=None, block=None, precision=None, activation=None,
        interpret=False,
    )  # fmt: skip
    a = jax.ShapeDtypeStruct((3, 2, 256, 256), jnp.bfloat16)
    _, result = export(jax.vmap(multiply), a, a)
    assert result.shape == (3, 2, 256, 256)


def test_a_sharded_product_lowers():
    multiply = partial(
        pallas_gpu.multiply, problem=problem(), bias=None, block=None, precision=None, activation=None,
        interpret=False,
    )  # fmt: skip
    rows = PartitionSpec(None, "d", None)
    mesh = Mesh(np.array(jax.devices()[:4]), ("d",))
    checked = {} if gpu_hopper.LAYOUTS_ARE_INFERRED else {"check_vma": False}  # before, a kernel could not say so
    sharded = jax.shard_map(multiply, mesh=mesh, in_specs=(rows, PartitionSpec()), out_specs=rows, **checked)
    a = jax.ShapeDtypeStruct((1, 1024, 256), jnp.bfloat16)
    b = jax.ShapeDtypeStruct((1, 256, 256), jnp.bfloat16)
    _, result = export(sharded, a, b)
    assert result.shape == (1, 1024, 256)


@pytest.mark.parametrize(("g", "m", "n"), [(1, 4096, 4096), (2, 300, 2000), (3, 129, 257), (1, 1, 1)])
def test_every_tile_is_made_once(g, m, n):
    of = problem(g=g, m=m, n=n)
    tile = choose_tile(of)
    work = gpu_hopper.Work(of, tile, None, 132, False, False)
    places = np.stack(jax.vmap(work.place)(jnp.arange(tile.count(of), dtype=jnp.int32)), axis=-1)
    expected = [(i, j, k) for i in range(g) for j in range(0, m, tile.m) for k in range(0, n, tile.n)]
    assert sorted(map(tuple, places.tolist())) == expected


def test_tiles_of_a_wave_share_their_operands():
    of = problem(m=8192, n=8192, k=8192)
    work = gpu_hopper.Work(of, choose_tile(of), None, 132, False, False)
    _, rows, columns = jax.vmap(work.place)(jnp.arange(132, dtype=jnp.int32))
    fetched = len(set(rows.tolist())) * 128 + len(set(columns.tolist())) * 256
    one_after_another = len({i // 32 for i in range(132)}) * 128 + 32 * 256
    assert fetched < one_after_another / 2
