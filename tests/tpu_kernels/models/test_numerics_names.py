"""Integer formats, the names and sources of all formats, their table, and what is refused."""

import copy
import math
import pickle
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tpu_kernels.models import numerics
from tpu_kernels.models.catalogue import Source
from tpu_kernels.models.numerics.number_formats import cited, document

FLOATS = [one.name for one in numerics.float_formats()]


@pytest.mark.parametrize(("dtype", "kind"), [("int8", np.int8), ("int4", ml_dtypes.int4)])
def test_every_integer_code(dtype: str, kind: Any) -> None:
    chosen, info = numerics.integer_format(dtype), ml_dtypes.iinfo(kind)  # type: ignore[no-untyped-call]
    assert (chosen.bits, chosen.min, chosen.max) == (info.bits, int(info.min), int(info.max))
    codes = np.arange(1 << chosen.bits, dtype=np.uint8)
    for code, value in enumerate(codes.view(kind).astype(int).tolist()):
        assert chosen.decode(code) == value
        assert chosen.encode(value) == code
        digits = chosen.pattern(code).replace(" ", "")
        assert sum(w for w, digit in zip(chosen.weights, digits, strict=True) if digit == "1") == value


def test_integers_saturate_or_wrap() -> None:
    for value in range(-1000, 1000):
        assert numerics.rounded(value, "int8") == np.clip(value, -128, 127)
        assert numerics.rounded(value, "int8", overflow="wrap") == np.array(value).astype(np.int8)
        assert numerics.rounded(value, "int4", overflow="wrap") == np.array(value).astype(ml_dtypes.int4).astype(int)
    assert [numerics.rounded(x, "int8") for x in (0.5, 1.5, 2.5, -0.5, -1.5, 127.5, -128.6)] == [
        0,
        2,
        2,
        0,
        -2,
        127,
        -128,
    ]
    assert numerics.rounded(-1.9, "int8", rounding=numerics.toward_zero) == -1
    assert (numerics.rounded(math.inf, "int4"), numerics.rounded(-math.inf, "int4")) == (7, -8)
    assert numerics.rounded(Fraction(-17, 2), "int4") == -8
    assert numerics.encode(-1, "int4") == 15


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("float32", "fp32"),
        ("bfloat16", "bf16"),
        ("half", "fp16"),
        ("e4m3fn", "fp8_e4m3fn"),
        ("float8_e5m2", "fp8_e5m2"),
        ("BF16", "bf16"),
        ("s8", "int8"),
    ],
)
def test_common_names_are_known(alias: str, name: str) -> None:
    assert numerics.number_format(alias).name == name
    assert numerics.number_format(numerics.number_format(alias)).name == name


def test_every_format_and_precision_is_sourced_and_every_source_used() -> None:
    used = set()
    for one in (*FLOATS, *(integer.name for integer in numerics.integer_formats())):
        assert numerics.format_sources(one)
        used |= {source.key for source in numerics.format_sources(one)}
    for recipe in document()["precisions"].values():
        used |= {source.key for source in cited(recipe["sources"])}
    assert used == set(document()["sources"])
    assert all(
        isinstance(source, Source) and source.title and source.link.startswith("https://") for source in cited(used)
    )


def test_a_format_does_not_change_and_survives_pickling() -> None:
    bf16 = numerics.float_format("bf16")
    with pytest.raises(AttributeError, match="bf16 no cambia"):
        bf16.bias = 15
    with pytest.raises(AttributeError, match="bf16 no cambia"):
        del bf16.bias
    assert pickle.loads(pickle.dumps(bf16)) is bf16
    assert copy.deepcopy(bf16) is bf16
    assert pickle.loads(pickle.dumps(numerics.integer_format("int4"))).max == 7
    assert repr(bf16) == "numerics.float_format('bf16')"
    assert repr(numerics.integer_format("int4")) == "numerics.integer_format('int4')"


def test_the_table_of_formats() -> None:
    table = numerics.format_table(["bf16", "fp8_e4m3fn"])
    texts = [[cell.text.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in table.rows]
    assert texts == [
        ["bf16", "16", "8", "7", "3,39 × 10³⁸", "2⁻¹²⁶", "2⁻¹³³", "2⁻⁷"],
        ["fp8_e4m3fn", "8", "4", "3", "448", "2⁻⁶", "2⁻⁹", "2⁻³"],
    ]
    assert [row[0].text for row in numerics.format_table().rows] == FLOATS
    assert "Improve your model" in (table.rows[0][0].title or "")


@pytest.mark.parametrize("dtype", ["fp8", "", "int16", None, 16, np.float32, [1]])
def test_an_unknown_format_is_refused_with_those_that_are_known(dtype: Any) -> None:
    asks = (numerics.float_format, numerics.integer_format, numerics.number_format)
    for ask in asks:
        with pytest.raises(ValueError, match=r"desconocido: .*int8|desconocido: .*bf16"):
            ask(dtype)
    with pytest.raises(ValueError, match=r"'int8'.*bf16"):
        numerics.float_format("int8")
    with pytest.raises(ValueError, match=r"'bf16'.*int4"):
        numerics.integer_format("bf16")


@pytest.mark.parametrize("value", [True, "1", None, 1j, [1.0], b"1"])
def test_what_is_not_a_real_number_is_refused(value: Any) -> None:
    for dtype in ("bf16", "int8"):
        for ask in (numerics.encode, numerics.rounded):
            with pytest.raises(ValueError, match=r"value: se recibió .* float\(\.\.\.\)"):
                ask(value, dtype)


@pytest.mark.parametrize("code", [-1, 256, True, 1.0, None, "7"])
def test_what_is_not_a_code_is_refused(code: Any) -> None:
    for dtype in ("fp8_e5m2", "int8"):
        with pytest.raises(ValueError, match=r"code: se recibió|Código fuera de rango"):
            numerics.decode(code, dtype)


def test_overflow_choices_are_checked() -> None:
    with pytest.raises(ValueError, match=r"'wrap'.*saturate"):
        numerics.encode(1.0, "fp16", overflow="wrap")
    with pytest.raises(ValueError, match=r'fp8_e4m3fn no tiene infinitos.*overflow="nan"'):
        numerics.encode(1.0, "fp8_e4m3fn", overflow="infinity")
    with pytest.raises(ValueError, match=r"'nan'.*wrap"):
        numerics.encode(1.0, "int8", overflow="nan")
    for value, overflow in ((math.nan, "saturate"), (math.inf, "wrap")):
        with pytest.raises(ValueError, match="no tiene un entero de int8"):
            numerics.encode(value, "int8", overflow=overflow)
    for value in (math.inf, math.nan, 1e6):
        with pytest.raises(ValueError, match="no es un número finito de fp16"):
            numerics.float_format("fp16").spacing(value)
