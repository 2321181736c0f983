"""A function and its arguments, as a command line names them."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tpu_kernels.xray.errors import ProgramError
from tpu_kernels.xray.named_function import load, parsed, specs_of

MODULE = """
from functools import partial
def scaled(x, *, by=1): return x * by
twice = partial(scaled, by=2)
class Layer:
    @staticmethod
    def forward(x): return x
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a module of the learner's, which the next test does not see."""
    (tmp_path / "learners_module.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "broken_module.py").write_text("1 / 0", encoding="utf-8")
    (tmp_path / "leaving_module.py").write_text("raise SystemExit(3)", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("learners_module", "broken_module", "leaving_module"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


@pytest.mark.parametrize("place", ["learners_module", "learners_module.py", "./learners_module.py"])
def test_a_module_and_a_file_give_the_same(folder: Path, place: str) -> None:
    assert load(f"{place}:scaled")(3, by=2) == 6
    assert load(f"{place}:twice")(3) == 6
    assert load(f"{place}:Layer.forward")(3) == 3


def test_what_is_installed_is_found_too() -> None:
    assert load("jax.numpy:matmul") is jnp.matmul


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("learners_module", "no nombra una función"),
        (":f", "no nombra una función"),
        ("learners_module:", "no nombra una función"),
        ("learners_module:missing", "no tiene missing"),
        ("learners_module:Layer.missing", "no tiene Layer.missing"),
        ("missing_module:f", "No module named 'missing_module'"),
        ("missing.py:f", "missing.py"),
        ("broken_module:f", "ZeroDivisionError"),
        ("leaving_module:f", "SystemExit: 3"),
    ],
)
def test_what_is_not_there_is_named(folder: Path, name: str, reason: str) -> None:
    with pytest.raises(ProgramError, match=reason):
        load(name)


@pytest.mark.parametrize(
    ("written", "shape", "dtype"),
    [
        ("bf16[4096,4096]", (4096, 4096), "bfloat16"),
        ("f32[8, 128]", (8, 128), "float32"),
        ("float32[8]", (8,), "float32"),
        ("int8[256,128]", (256, 128), "int8"),
        ("s8[2]", (2,), "int8"),
        ("i32[2]", (2,), "int32"),
        ("u8[2]", (2,), "uint8"),
        ("pred[1]", (1,), "bool"),
        ("f8e4m3fn[4]", (4,), "float8_e4m3fn"),
        ("int4[4]", (4,), "int4"),
        ("f32[]", (), "float32"),
    ],
)
def test_a_shape_and_a_type(written: str, shape: tuple[int, ...], dtype: str) -> None:
    found = parsed(written)
    assert (found.shape, found.dtype) == (shape, jnp.dtype(dtype))


@pytest.mark.parametrize(
    "written",
    [
        "f32", "f33[2]", "q[3]", "f32[2", "f32[-2]", "f32[2,]", "[2]", "f32[2.5]", "", "str[2]", "object[2]",
        "float64[2]", f"f32[{2**31}]",
    ],
)  # fmt: skip
def test_another_form_is_refused(written: str) -> None:
    with pytest.raises(ProgramError, match="no describe un arreglo"):
        parsed(written)


def needs(x: Any) -> Any:
    return x


def test_arguments_are_those_written_or_the_functions_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert specs_of(needs, ["f32[2]"])[0].shape == (2,)
    with pytest.raises(ProgramError, match="--spec"):
        specs_of(needs, [])
    own = partial(needs)
    own.specs = (jax.ShapeDtypeStruct((3,), jnp.float32),)  # type: ignore[attr-defined]
    assert specs_of(own, [])[0].shape == (3,)
    assert specs_of(own, ["f32[2]"])[0].shape == (2,)


def test_own_arguments_that_are_no_sequence_are_refused() -> None:
    own = partial(needs)
    own.specs = jax.ShapeDtypeStruct((3,), jnp.float32)  # type: ignore[attr-defined]
    with pytest.raises(ProgramError, match=r"f\.specs = \(a, b\)"):
        specs_of(own, [])


def test_a_function_that_needs_nothing_gets_nothing() -> None:
    assert specs_of(lambda: 1, []) == ()
    assert specs_of(lambda x=1, *, y=2: x, []) == ()
