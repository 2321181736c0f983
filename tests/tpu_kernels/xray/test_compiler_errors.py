"""What jax and the compiler say when they refuse a program, as a learner reads it.

The kernels are refused for real: by jax's own lowering in the first tests, by the compiler in the last ones.
"""

import fractions
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tests.tpu_kernels.xray import kernels
from tpu_kernels import messages
from tpu_kernels.xray import targets, xray
from tpu_kernels.xray.compiler_errors import learners_line, refused
from tpu_kernels.xray.errors import CompileError
from tpu_kernels.xray.libtpu import Libtpu
from tpu_kernels.xray.program import lower
from tpu_kernels.xray.sizes import parsed, readable

Spec = jax.ShapeDtypeStruct
F32 = Spec((8, 128), jnp.float32)


def kernel(compute: Callable[..., Any], *specs: Spec, out: Spec = F32, **ask: Any) -> kernels.Program:
    """A kernel that stores what ``compute`` makes of its operands."""

    def body(*refs: Any) -> None:
        refs[len(specs)][...] = compute(*(ref[...] for ref in refs[: len(specs)]))

    return lambda *operands: pl.pallas_call(body, out_shape=out, **ask)(*operands), specs


def product(dtype: Any, sums: Any) -> kernels.Program:
    square = Spec((128, 128), dtype)
    return kernel(lambda a, b: jnp.dot(a, b, preferred_element_type=sums), square, square, out=Spec((128, 128), sums))


def scratch(what: Any) -> kernels.Program:
    return kernel(lambda x: x, F32, scratch_shapes=[what])


def whole(body: Callable[..., None], space: Any, *scratched: Any, out: Spec = F32) -> kernels.Program:
    """A kernel whose operand, 64 rows, stays in ``space``."""
    place = pl.BlockSpec(memory_space=space)
    call = pl.pallas_call(body, out_shape=out, in_specs=[place], scratch_shapes=scratched)
    return call, (Spec((64, 128), jnp.float32),)


def copied(start: int, rows: int) -> kernels.Program:
    """A kernel that copies this slice of its operand to 8 rows in VMEM."""

    def body(x_ref: Any, o_ref: Any, rows_ref: Any, arrived: Any) -> None:
        pltpu.make_async_copy(x_ref.at[pl.ds(start, rows)], rows_ref, arrived).start()

    return whole(body, pl.ANY, pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA)


def stored_as_read(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = x_ref[:8]


def in_blocks(block: tuple[int, ...], array: tuple[int, ...], **ask: Any) -> kernels.Program:
    spec = pl.BlockSpec(block, lambda *indices: indices)
    shape = Spec(array, jnp.float32)
    grid = tuple(-(-size // side) for size, side in zip(array, block, strict=False))
    return kernel(lambda x: x, shape, out=shape, grid=grid, in_specs=[spec], out_specs=spec, **ask)


BY_JAX: dict[str, tuple[kernels.Program, str, str]] = {
    "a tile that is none": (
        in_blocks((7, 100), (70, 1000)),
        "block",
        r"\(7, 100\) de args\[0\].*8 y 128.*\(70, 1000\)",
    ),
    "a row that is none": (in_blocks((100,), (1000,)), "block", r"\(100,\) de args\[0\].*1024.*desde 128,.*\(1000,\)"),
    "a dimension too few": (in_blocks((8,), (64, 128)), "block", r"\(8,\) de args\[0\].*\(64, 128\)"),
    "narrow sums": (product(jnp.bfloat16, jnp.bfloat16), "dtype", r"32 bits.*preferred_element_type.*jnp\.int32"),
    "a product of float16": (product(jnp.float16, jnp.float16), "dtype", "no carga float16"),
    "complex numbers": (
        kernel(lambda x: x, Spec((8, 128), "complex64"), out=Spec((8, 128), "complex64")),
        "dtype",
        "complejos",
    ),
    "an operation that Pallas lacks": (kernel(jnp.sort, F32), "operation", "no sabe hacer sort"),
    "an index map that returns too little": (
        kernel(
            lambda x: x,
            Spec((64, 128), jnp.float32),
            grid=(8,),
            in_specs=[pl.BlockSpec((8, 128), lambda i: (i,))],
        ),
        "block",
        r"args\[0\] devuelve 1 valores y el bloque \(8, 128\) pide 2",
    ),
    "an operand left in HBM": (whole(stored_as_read, pl.ANY), "operation", "sigue en la HBM"),
    "a vector from SMEM": (whole(stored_as_read, pltpu.SMEM), "operation", "de la SMEM solo se leen"),
    "a copy between two shapes": (copied(0, 16), "operation", "trozo de forma 16x128 a otro de forma 8x128"),
    "a copy from beyond the end": (copied(60, 8), "operation", "va de 60 a 67 en una dimensión de tamaño 64"),
    "semantics for other axes": (
        in_blocks((8, 128), (64, 128), compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",) * 3)),
        "grid",
        r"3 entradas y la grid, 2 ejes",
    ),
}


@pytest.mark.parametrize("case", BY_JAX)
def test_jax_refuses_it_and_the_learner_reads_why(case: str) -> None:
    (function, specs), kind, says = BY_JAX[case]
    with pytest.raises(CompileError, match=says) as caught:
        lower(function, specs, targets.target("v5e"))
    assert caught.value.kind == kind
    assert caught.value.original
    if kind != "block" or "dimension" not in case:
        assert (caught.value.where or "").startswith("test_compiler_errors.py:")


@pytest.mark.parametrize("case", ["a tile that is none", "a row that is none", "a dimension too few"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_block_at_fault_is_where_the_pallas_call_is(case: str, times: int) -> None:
    """Also with several kernels, of which any may be the one."""
    (function, specs), _, _ = BY_JAX[case]

    def program(x: Any) -> Any:
        for _ in range(times):
            x = function(x)
        return x

    with pytest.raises(CompileError) as caught:
        lower(program, specs, targets.target("v5e"))
    called = kernel.__code__.co_firstlineno + 6
    assert caught.value.where == f"test_compiler_errors.py:{called}"


def test_arrays_from_outside_are_named() -> None:
    outside = np.random.default_rng(0).random((8, 128), np.float32)
    function, specs = kernel(lambda x: x + jnp.asarray(outside), F32)
    with pytest.raises(CompileError, match=r"body usa arreglos de fuera: f32\[8,128\]\. Pás") as caught:
        lower(function, specs, targets.target("v5e"))
    assert caught.value.kind == "operation"


def test_the_place_is_in_no_library_and_in_no_code_that_python_wrote() -> None:
    def fails() -> None:
        exec(compile("np.zeros((2, 2)).reshape(3)", "<string>", "exec"), {"np": np})

    def divides() -> None:
        fractions.Fraction(1, 0)

    for wrong in (fails, divides):
        with pytest.raises((ValueError, ZeroDivisionError)) as caught:
            wrong()
        line = wrong.__code__.co_firstlineno + 1
        assert learners_line(caught.value) == f"test_compiler_errors.py:{line}"


BY_THE_COMPILER: dict[str, tuple[kernels.Program, str, str]] = {
    "too much VMEM": (
        kernels.matmul(4096, 4096, 4096, (1024, 1024, 1024)),
        "vmem",
        r"piden 18,\d.MiB de VMEM.* 16.MiB",
    ),
    "too much SMEM": (scratch(pltpu.SMEM((1024, 1024), jnp.int32)), "smem", r"4.MiB de SMEM.* 1.MiB"),
    "too many semaphores": (scratch(pltpu.SemaphoreType.DMA((600,))), "semaphores", r"600 semáforos.*512"),
    "a type that is not multiplied": (product(jnp.int32, jnp.int32), "dtype", "no multiplica int32"),
    "a type that is not loaded": (
        kernel(lambda x: x, Spec((16, 128), "float16"), out=Spec((16, 128), "float16")),
        "dtype",
        "no carga float16",
    ),
    "a shape that cannot be changed": (
        kernel(lambda x: x.reshape(24, 56), Spec((8, 168), "float32"), out=Spec((24, 56), "float32")),
        "operation",
        "de la forma 8x168 a 24x56",
    ),
}


@pytest.mark.parametrize("case", BY_THE_COMPILER)
def test_the_compiler_refuses_it_and_the_learner_reads_why(compiler: Libtpu, case: str) -> None:
    (function, specs), kind, says = BY_THE_COMPILER[case]
    with pytest.raises(CompileError, match=says) as caught:
        xray(function, *specs, simulate=False)
    error = caught.value
    assert error.kind == kind
    assert (error.where or "").partition(":")[0] in {"test_compiler_errors.py", "kernels.py"}
    assert "RESOURCE_EXHAUSTED" in error.original or "Mosaic failed" in error.original
    assert (error.got is None) == (kind in {"dtype", "operation"})


# What needs minutes, or another chip, to be said again: the words are those of libtpu 0.0.42.1.
SAID: dict[str, tuple[str, str, int | None, int | None]] = {
    "vmem, on v4": (
        "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem. Used 18.46M of 16.00M vmem.",
        "vmem",
        19356713,
        16777216,
    ),
    "vmem, a single window": (
        "Allocation (size=33554432) would exceed memory (size=16777216) :: #allocation2 [shape = 'u8[9]', space=vmem]",
        "vmem",
        33554432,
        16777216,
    ),
    "hbm": (
        "Ran out of memory on HBM, the total memory required for (447.18G) exceeds available HBM (15.75G).",
        "hbm",
        480155868856,
        16911433728,
    ),
    "semaphores in all": (
        "RESOURCE_EXHAUSTED: Ran out of memory in memory space sflag. Used 2.1K of 2.0K sflag.",
        "semaphores",
        2150,
        2048,
    ),
    "int8 on v4": (
        "CompileTimeMosaicUnsupportedRhsType: Unsupported matmul RHS type on target: vector<128x128xi8>",
        "dtype",
        None,
        None,
    ),
    "an 8-bit float on TPU7x": ("Unsupported type for matmul: 'vector<256x256xf8E4M3B11FNUZ>'", "dtype", None, None),
    "int16 on TPU7x": (
        "Integer inputs with bitwidth 16 are not supported as matmul/accumulator inputs.",
        "dtype",
        None,
        None,
    ),
    "a slice that may not be aligned": (
        "E2003: cannot statically prove that index in dimension 0 is a multiple of 8",
        "operation",
        None,
        None,
    ),
    "a grid that is too long": ("Iteration bounds are too large: (70000, 70000)", "grid", None, None),
    "anything else": ("JaxRuntimeError: INVALID_ARGUMENT: Invalid memory space: 1", "other", None, None),
}


@pytest.mark.parametrize("case", SAID)
@pytest.mark.parametrize("lang", ["es", "pt"])
def test_other_refusals_are_told_too(case: str, lang: str) -> None:
    text, kind, got, limit = SAID[case]
    messages.use(lang)
    error = refused(text)
    assert (error.kind, error.got, error.limit, error.original) == (kind, got, limit, text)
    assert str(error)
    assert "{" not in str(error)


def test_nobody_is_told_to_ask_for_more_vmem_than_there_is() -> None:
    text = "Scoped allocation with size 384.00M and limit 128.00M exceeded scoped vmem limit by 256.00M."
    assert "vmem_limit_bytes" in str(refused(text, vmem=256 << 20))
    all_of_it = refused(text, vmem=128 << 20)
    assert "vmem_limit_bytes" not in str(all_of_it)
    assert (all_of_it.got, all_of_it.limit) == (384 << 20, 128 << 20)


def test_types_are_named_as_jax_names_them() -> None:
    assert "float8_e4m3b11fnuz" in str(refused(SAID["an 8-bit float on TPU7x"][0]))
    assert "int16" in str(refused(SAID["int16 on TPU7x"][0]))
    assert "int8" in str(refused(SAID["int8 on v4"][0]))


def test_a_place_in_the_compilers_words_is_the_learners() -> None:
    said = (
        'Bad lhs/rhs type: \'vector<8x8xi16>\'\n\nat location: loc("dot_general:"(callsite("dot"("flash.py":20:24))))'
    )
    assert refused(said).where == "flash.py:20"


def test_with_one_kernel_the_place_is_known_anyhow() -> None:
    (call,) = lower(*kernels.CASES["elementwise"], targets.target("v5e")).calls
    assert refused("no place here", [call]).where == call.where
    assert refused("no place here", [call, call]).where is None


SIZES = [
    ("18.36M", 19251855, "18,4 MiB"),
    ("2.1K", 2150, "2,1 KiB"),
    ("2400", 2400, "2,34 KiB"),
    ("447.18G", 480155868856, "447 GiB"),
    ("16.00M", 16 << 20, "16 MiB"),
]


@pytest.mark.parametrize(("written", "amount", "read"), SIZES)
def test_sizes_are_read_and_written(written: str, amount: int, read: str) -> None:
    assert parsed(written) == amount
    assert readable(amount).replace("\N{NO-BREAK SPACE}", " ") == read


def test_what_is_no_size_is_refused() -> None:
    with pytest.raises(ValueError, match="no size"):
        parsed("many")
