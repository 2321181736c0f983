"""Functions lowered for a TPU on a machine without one, and what is refused before any compiler sees it."""

import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tests.tpu_kernels.xray import kernels
from tpu_kernels.xray import targets
from tpu_kernels.xray.errors import CompileError, ProgramError
from tpu_kernels.xray.program import Program, lower

V5E = targets.target("v5e")
SQUARE = jax.ShapeDtypeStruct((64, 64), jnp.float32)


def lowered(function: Any, *specs: Any, chip: str = "v5e") -> Program:
    return lower(function, specs, targets.target(chip))


def test_only_shapes_and_types_of_arrays_count() -> None:
    like = lowered(jnp.dot, SQUARE, SQUARE)
    real = lowered(jnp.dot, np.ones((64, 64), np.float32), jnp.zeros((64, 64)))
    assert like.code == real.code
    assert like.flops == 2 * 64**3


def test_arrays_are_found_in_pytrees_and_the_rest_is_passed_on() -> None:
    def layer(params: dict[str, Any], x: Any, power: int, name: str) -> Any:
        assert (power, name) == (2, "relu")
        return {"y": (x @ params["w"]) ** power, "n": None}

    assert lowered(layer, {"w": SQUARE}, SQUARE, 2, "relu").flops == 2 * 64**3


def test_partials_and_jitted_functions_keep_their_name() -> None:
    @jax.jit
    def scale(x: Any, by: float) -> Any:
        return x * by

    assert lowered(functools.partial(scale, by=2.0), SQUARE).name == "scale"
    assert lowered(lambda x: x, SQUARE).name == "<lambda>"


def test_flops_of_kernels_and_of_the_rest_are_added() -> None:
    product, specs = kernels.matmul(256, 256, 256, (128, 128, 256))
    both = lowered(lambda a, b: product(a, b) @ b, *specs)
    assert both.flops == 2 * 2 * 256**3
    assert len(both.calls) == 1


def test_flops_in_a_loop_without_an_end_in_sight_are_not_known() -> None:
    looped = lowered(lambda x: lax.while_loop(lambda y: y.sum() < 3, lambda y: y @ y, x), SQUARE)
    assert looped.flops is None


def test_a_kernel_sees_the_chip_that_it_is_lowered_for() -> None:
    seen = []

    def body(x: Any, out: Any) -> None:
        seen.append(pltpu.get_tpu_info().generation)
        out[...] = x[...]

    def run(x: Any) -> Any:
        return pl.pallas_call(body, out_shape=SQUARE)(x)

    for chip in ("v4", "v5e", "v6e", "tpu7x"):
        lowered(run, SQUARE, chip=chip)
    assert seen == [4, 5, 6, 7]


def test_whole_division_of_a_program_id_is_lowered_as_on_a_tpu() -> None:
    """jax looks at the device for it, and the device here is none."""

    def body(x: Any, out: Any) -> None:
        out[...] = x[...] * (pl.program_id(0) // 2 + pl.program_id(0) % 3)

    spec = pl.BlockSpec((8, 128), lambda i: (i // 2 * 2 + i % 2, 0))
    shape = jax.ShapeDtypeStruct((64, 128), jnp.float32)
    run = functools.partial(pl.pallas_call, body, grid=(8,), in_specs=[spec], out_specs=spec, out_shape=shape)
    assert lowered(lambda x: run()(x), shape).calls[0].steps == 8


def test_an_operand_may_be_kept_in_vmem() -> None:
    def body(x: Any, out: Any) -> None:
        out[...] = x[...]

    kept = pl.BlockSpec(memory_space=pltpu.VMEM)
    run = functools.partial(pl.pallas_call, body, in_specs=[kept], out_shape=SQUARE)
    assert lowered(lambda x: run()(pltpu.with_memory_space_constraint(x, pltpu.VMEM)), SQUARE).calls


def test_what_calls_back_to_the_host_is_refused() -> None:
    def noisy(x: Any) -> Any:
        jax.debug.print("{}", x[0, 0])
        return x

    with pytest.raises(ProgramError, match="callbacks"):
        lowered(noisy, SQUARE)


def test_the_settings_of_jax_are_as_before() -> None:
    names = ("jax_hlo_source_file_canonicalization_regex", "jax_include_full_tracebacks_in_locations")
    before = [getattr(jax.config, name) for name in names]
    lowered(jnp.dot, SQUARE, SQUARE)
    with pytest.raises(ProgramError):
        lowered(jnp.dot, SQUARE, jax.ShapeDtypeStruct((3, 3), jnp.float32))
    assert [getattr(jax.config, name) for name in names] == before
    assert jax.sharding.get_abstract_mesh().empty


PRINT_DIGEST = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
import kernel
from tpu_kernels.xray import targets
from tpu_kernels.xray.program import lower
program = lower(*kernel.case, targets.target("v5e"))
assert sys.argv[1].encode() not in program.code
print(hashlib.sha256(program.code).hexdigest())
"""


def test_the_same_code_is_the_same_bytes_in_any_folder_and_process(tmp_path: Path) -> None:
    source = Path(kernels.__file__).read_text(encoding="utf-8")
    digests = set()
    for folder in (tmp_path / "here", tmp_path / "there" / "deeper"):
        folder.mkdir(parents=True)
        (folder / "kernel.py").write_text(f"{source}\ncase = CASES['matmul']\n", encoding="utf-8")
        run = subprocess.run(
            [sys.executable, "-c", PRINT_DIGEST, str(folder)], capture_output=True, text=True, check=True, timeout=120
        )
        digests.add(run.stdout)
    assert len(digests) == 1


def test_no_function_is_refused() -> None:
    with pytest.raises(ProgramError, match=r"42.*función"):
        lowered(42, SQUARE)


def test_shapes_that_do_not_fit_name_the_line() -> None:
    def wrong(a: Any, b: Any) -> Any:
        return a @ b

    with pytest.raises(ProgramError, match=r"test_program\.py:\d+: .*wrong") as caught:
        lowered(wrong, SQUARE, jax.ShapeDtypeStruct((3, 3), jnp.float32))
    assert "dot_general" in caught.value.original


def test_a_kernel_that_is_interpreted_is_refused() -> None:
    def body(x: Any, out: Any) -> None:
        out[...] = x[...]

    with pytest.raises(ProgramError, match="interpret=True"):
        lowered(lambda x: pl.pallas_call(body, out_shape=SQUARE, interpret=True)(x), SQUARE)


def test_an_empty_grid_is_refused() -> None:
    product, specs = kernels.elementwise(0, 8)
    with pytest.raises(ProgramError, match=r"grid \(0,\)"):
        lower(product, specs, V5E)


def test_blocks_that_are_no_tiles_are_refused_with_both_sizes() -> None:
    product, specs = kernels.matmul(512, 512, 512, (100, 100, 100))
    with pytest.raises(CompileError, match=r"kernels\.py:\d+: el bloque \(100, 100\) de args\[0\].* 8 y 128") as caught:
        lower(product, specs, V5E)
    assert caught.value.kind == "block"
    assert "divisible by 8 and 128" in caught.value.original
