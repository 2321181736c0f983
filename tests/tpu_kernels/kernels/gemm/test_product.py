"""What ``matmul`` takes and refuses, what it says, and that on a CPU it costs what ``jax.numpy.matmul`` does."""

import re
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tpu_kernels import backend, messages
from tpu_kernels.backend import BackendError, FallbackWarning
from tpu_kernels.kernels import Block, matmul, plan
from tpu_kernels.kernels.gemm import product

A, B = np.ones((4, 3), np.float32), np.ones((3, 2), np.float32)


@pytest.fixture
def unheard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has been announced yet."""
    monkeypatch.setattr(backend, "_announced", set())


@pytest.mark.parametrize("lang", messages.LANGUAGES)
@pytest.mark.parametrize(
    ("a", "b", "named"),
    [
        ([[1.0]], B, "list"),
        (A, 2.0, "float"),
        (None, B, "NoneType"),
        (np.float32(1), B, "float32"),
        (A, np.ones((3, 2), bool), "bool"),
        (A, np.ones((3, 2), np.complex64), "complex64"),
        (A.astype(object), B, "object"),
        (A, B.astype(np.int8), "float32, b: int8"),
        (A.astype(np.int32), B, "int32, b: float32"),
        (A, np.ones((3, 2), np.uint32), "uint32"),
        (A, np.array([["x"] * 2] * 3), "str"),
    ],
)
def test_operands_that_have_no_product_are_refused_by_name(a: Any, b: Any, named: str, lang: str) -> None:
    messages.use(lang)
    with pytest.raises(TypeError, match=re.escape(named)):
        matmul(a, b)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"backend": "cuda"}, ValueError, r"'cuda' no existe.*auto, reference, xla, pallas_tpu, pallas_gpu"),
        ({"activation": "tanh"}, ValueError, "'tanh'.*relu, gelu, silu"),
        ({"precision": "bf16"}, ValueError, "'bf16'.*default, high, highest"),
        ({"precision": 3}, ValueError, "3"),
        ({"interpret": "yes"}, ValueError, "'yes'.*True, False o None"),
        ({"interpret": True, "backend": "xla"}, ValueError, "xla no es un kernel de Pallas"),
        ({"interpret": False, "backend": "pallas_tpu"}, BackendError, "interpret=False.*cpu"),
        ({"block": (8, 128), "backend": "pallas_tpu"}, ValueError, r"\(8, 128\) no es un bloque"),
        ({"block": 128}, ValueError, "128 no es un bloque"),
        ({"block": (8, 128, 128), "backend": "xla"}, ValueError, "xla no usa bloques.*8x128x128"),
        ({"bias": np.ones(3, np.float32)}, ValueError, r"\(3,\) y se esperaba \(2,\)"),
        ({"bias": np.ones((1, 2), np.float32)}, ValueError, r"\(1, 2\) y se esperaba \(2,\)"),
        ({"bias": [0, 0]}, TypeError, "bias es list"),
        ({"bias": np.ones(2, np.complex64)}, TypeError, "bias es complex64"),
        ({"out_dtype": jnp.int32}, TypeError, "out_dtype=int32"),
        ({"out_dtype": "f3"}, TypeError, "out_dtype='f3'"),
        ({"out_dtype": jnp.float64}, TypeError, "out_dtype=float64.*jax_enable_x64"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], error: type[Exception], words: str) -> None:
    for act in (matmul, plan):
        with pytest.raises(error, match=words):
            act(A, B, **options)


def test_integers_are_not_rounded_in_silence() -> None:
    a, b = np.ones((2, 3), np.int8), np.ones((3, 2), np.int8)
    with pytest.raises(TypeError, match="gelu no da enteros y el resultado es int32"):
        matmul(a, b, activation="gelu")
    with pytest.raises(TypeError, match="bias es float32 y el resultado es int32"):
        matmul(a, b, bias=np.ones(2, np.float32))
    with pytest.raises(TypeError, match="out_dtype=int8 no sirve"):
        matmul(a, b, out_dtype=np.int8)
    rounded = matmul(a, b, bias=np.full(2, 0.5, np.float32), activation="relu", out_dtype=jnp.bfloat16)
    np.testing.assert_array_equal(rounded.astype(np.float32), np.full((2, 2), 3.5))


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (jnp.bfloat16, jnp.float32, jnp.float32),
        (jnp.float16, jnp.bfloat16, jnp.float32),
        (jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.bfloat16),
        (jnp.float8_e5m2, jnp.float32, jnp.float32),
        (jnp.float8_e4m3fn, jnp.bfloat16, jnp.bfloat16),
        (jnp.int8, jnp.uint8, jnp.int32),
        (jnp.int8, jnp.int32, jnp.int32),
        (jnp.float32, jnp.float32, jnp.float32),
    ],
)
def test_types_that_meet(left: Any, right: Any, result: Any) -> None:
    got = matmul(A.astype(left), B.astype(right))
    assert got.dtype == result
    np.testing.assert_array_equal(got.astype(jnp.float32), np.full((4, 2), 3))


@pytest.mark.parametrize("wanted", [jnp.float32, jnp.float16, jnp.bfloat16, jnp.float8_e4m3fn])
def test_the_result_is_rounded_once_to_the_type_asked_for(wanted: Any) -> None:
    a = np.full((1, 1), 1 + 2**-7, jnp.bfloat16)
    want = (a.astype(np.float64) ** 2).astype(np.float32).astype(wanted)
    got = matmul(a, a, out_dtype=wanted)
    assert got.dtype == wanted
    np.testing.assert_array_equal(np.asarray(got), want)


def test_numpy_s_doubles_are_lowered_with_one_notice(unheard: None) -> None:
    with pytest.warns(FallbackWarning, match="float64 se multiplican como float32") as heard:
        got = matmul(A.astype(np.float64), B.astype(np.float64), bias=np.ones(2))
        again = matmul(A.astype(np.float64), B.astype(np.float64))
    assert len(heard) == 1
    assert got.dtype == again.dtype == jnp.float32


def test_numpy_s_integers_are_lowered_with_one_notice_if_they_fit(unheard: None) -> None:
    a = np.arange(12).reshape(4, 3)
    with pytest.warns(FallbackWarning, match="int64 se multiplican y se suman como int32"):
        got = matmul(a, a.T)
    assert got.dtype == jnp.int32
    np.testing.assert_array_equal(got, a @ a.T)
    with pytest.raises(ValueError, match="a es int64 con valores que no caben en int32"):
        matmul(a * 2**40, a.T)


@pytest.mark.parametrize("at", ["a", "bias"])
def test_a_double_that_float32_cannot_hold_is_refused(at: str) -> None:
    far = {"a": A.astype(np.float64), "bias": np.zeros(2)}
    far[at][..., 0] = 1e300
    with pytest.raises(ValueError, match=f"{at} es float64"):
        matmul(far["a"] if at == "a" else A, B, bias=far["bias"] if at == "bias" else None)


@pytest.mark.parametrize(
    ("dtype", "k", "warned"),
    [
        ("int8", 131071, False),
        ("int8", 131072, True),
        ("uint8", 33025, False),
        ("uint8", 33026, True),
        ("int16", 1, False),
        ("int16", 2, True),
        ("int32", 9, False),
    ],
)
def test_sums_that_may_wrap_are_announced(unheard: None, dtype: str, k: int, warned: bool) -> None:
    """At the first length at which the largest operands of the type leave int32."""
    a = np.full((1, k), np.iinfo(dtype).min or np.iinfo(dtype).max, dtype)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        sums = matmul(a, a.T)
    assert ["dar la vuelta" in str(notice.message) for notice in heard] == [True] * warned
    if dtype != "int32":
        assert (int(sums[0, 0]) == k * int(a[0, 0]) ** 2) is not warned


def test_doubles_stay_doubles_where_jax_has_them() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((5, 40)), rng.standard_normal((40, 3))
    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("reference", "xla"):
            got = matmul(a, b, activation="gelu", backend=name)
            assert got.dtype == jnp.float64
        np.testing.assert_allclose(matmul(a, b), a @ b, rtol=1e-14)
        assert matmul(A.astype(jnp.bfloat16), B.astype(jnp.bfloat16), out_dtype=jnp.float64).dtype == jnp.float64
        whole = np.full((2, 2), 2**40)
        np.testing.assert_array_equal(matmul(whole, whole), whole @ whole)


def test_a_kernel_without_its_hardware_says_once_that_it_is_interpreted(unheard: None) -> None:
    with pytest.warns(FallbackWarning, match="pallas_tpu es para tpu y aquí se corre en cpu") as heard:
        for _ in range(2):
            np.testing.assert_array_equal(matmul(A, B, backend="pallas_tpu"), A @ B)
    assert len(heard) == 1
    assert heard[0].filename == __file__
    matmul(A, B, backend="pallas_tpu", interpret=True)  # who asks for it is not told


def test_who_asks_for_blocks_gets_a_kernel_that_has_them(unheard: None) -> None:
    with pytest.warns(FallbackWarning, match="pallas_tpu"):
        np.testing.assert_array_equal(matmul(A, B, block=(8, 128, 128)), A @ B)
    made = plan(A, B, block=Block(8, 128, 128))
    assert (made.implementation, made.block, made.interpret) == ("pallas_tpu", Block(4, 3, 2), True)


def test_a_block_larger_than_vmem_is_refused_before_compiling() -> None:
    """Four million elements by the two buffers of each operand and of the result, and the sums: 448 MiB of float32."""
    words = r"4096x4096x4096 pide 448\sMiB de VMEM: una Cloud TPU v5e tiene 128\sMiB.*102\sMiB\. Prueba block=\("
    with pytest.raises(ValueError, match=words) as refused:
        matmul(np.ones((8, 8), np.float32), np.ones((8, 8), np.float32), block=(4096, 4096, 4096))
    better = re.search(r"block=\((\d+), (\d+), (\d+)\)", str(refused.value))
    assert better is not None
    assert plan(A, B, block=tuple(map(int, better.groups())), interpret=True).implementation == "pallas_tpu"


def test_shapes_alone_are_enough_for_a_plan() -> None:
    a, b = jax.ShapeDtypeStruct((512, 4096), jnp.bfloat16), jax.ShapeDtypeStruct((4096, 512), jnp.bfloat16)
    assert plan(a, b).implementation == "xla"
    assert plan(a, b).why == "xla, elegido para cpu."
    assert plan(a, b, backend="reference").why == "reference, como pediste, en cpu."
    made = plan(a, b, backend="pallas_tpu")
    assert made.block is not None
    assert f"Bloque: {made.block}" in made.why
    assert "Cloud TPU v5e" in made.why
    messages.use("pt")
    assert "Bloco:" in plan(a, b, backend="pallas_tpu").why


def test_inside_jit_hardware_may_be_asked_for_that_is_not_here() -> None:
    """What is traced here may be compiled for another machine, as when a program is exported."""
    lowered = jax.jit(lambda a, b: matmul(a, b, backend="pallas_tpu", interpret=False)).trace(A, B)
    assert "tpu_custom_call" in lowered.lower(lowering_platforms=("tpu",)).as_text()


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
@pytest.mark.parametrize("size", [512, 2048])
def test_on_a_cpu_it_compiles_to_the_dot_of_jax(size: int, dtype: Any) -> None:
    """In float32 the same operations, one by one; in bfloat16, where jax rounds apart, no more of them."""

    def operations(multiply: Any) -> list[str]:
        spec = jax.ShapeDtypeStruct((size, size), dtype)
        text = jax.jit(multiply).lower(spec, spec).compile().as_text()
        return sorted(re.findall(r"= \S+ ([a-z-]+)\(", text[text.index("ENTRY") :]))

    ours, theirs = operations(matmul), operations(jnp.matmul)
    assert ours.count("dot") + ours.count("custom-call") >= 1 or "fusion" in ours
    assert ours == theirs or (dtype == jnp.bfloat16 and len(ours) < len(theirs))


def test_what_was_understood_once_is_not_judged_again() -> None:
    matmul(A, B)
    before = product._understand.cache_info().hits
    matmul(A, B)
    assert product._understand.cache_info().hits == before + 1
