"""What the bit explorer shows: fields that add up to the number, its digits in full, and words in both languages."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import numerics
from tpu_kernels.models.numerics.scientific_notation import scientific

NO_BREAK = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize("dtype", [one.name for one in numerics.float_formats()])
def test_the_fields_add_up_to_the_number(dtype: str) -> None:
    chosen = numerics.float_format(dtype)

    @settings(deadline=None)
    @given(st.integers(0, (1 << chosen.bits) - 1))
    def check(code: int) -> None:
        fields = numerics.explore_code(code, dtype)
        sign, exponent, fraction = fields.pattern.split(" ")
        assert [len(part) for part in (sign, exponent, fraction)] == [1, chosen.exponent_bits, chosen.fraction_bits]
        assert int(sign + exponent + fraction, 2) == code
        assert (fields.sign, fields.exponent_field, fields.fraction_field) == (
            int(sign),
            int(exponent, 2),
            int(fraction, 2),
        )
        if fields.exact is None:
            assert fields.kind in ("infinity", "nan")
            assert {fields.exponent, fields.significand, fields.spacing} == {None}
            assert fields.decimal == str(fields.value)
            return
        assert fields.exponent is not None
        assert fields.significand is not None
        assert fields.exact == (-1) ** fields.sign * fields.significand * Fraction(2) ** fields.exponent
        assert fields.exact == Fraction(fields.value)
        assert (fields.significand >= 1) == (fields.kind == "normal")
        with localcontext() as context:
            context.prec = 1200
            assert Decimal(fields.decimal) == Decimal(fields.value)  # Decimal takes a float exactly, all its digits
        assert fields.decimal.startswith("-") == bool(fields.sign)
        for near in (fields.above, fields.below):
            if near is not None and math.isfinite(near):
                assert abs(near - fields.value) in (fields.spacing, (fields.spacing or 0) / 2)

    check()


def test_a_tenth_in_bf16() -> None:
    fields = numerics.explore(0.1, "bf16")
    assert (fields.code, fields.pattern) == (0x3DCD, "0 01111011 1001101")
    assert (fields.exponent, fields.significand) == (-4, 1 + Fraction(77, 128))
    assert (fields.exact, fields.decimal) == (Fraction(205, 2048), "0.10009765625")
    assert (fields.below, fields.above, fields.spacing) == (0.099609375, 0.1005859375, 2**-11)
    assert numerics.explore(0.1, "bf16", rounding=numerics.toward_zero).value == 0.099609375


def test_the_least_fp32_in_full() -> None:
    # All 149 decimals of 2**-149, as numpy prints them.
    expected = np.format_float_positional(np.float32(1e-45), unique=False, precision=149)
    assert numerics.explore_code(1, "fp32").decimal == expected


def test_exact_decimals() -> None:
    assert numerics.exact_decimal(Fraction(-5, 32)) == "-0.15625"
    assert numerics.exact_decimal(Fraction(12)) == "12"
    assert numerics.exact_decimal(Fraction(0), negative=True) == "-0"
    with pytest.raises(ValueError, match="1/3 no termina en binario"):
        numerics.exact_decimal(Fraction(1, 3))


def rows(value: float, dtype: str, **choices: Any) -> dict[str, str]:
    table = numerics.explore(value, dtype, **choices).table()
    return {row[0].text: row[1].text.replace(NO_BREAK, " ") for row in table.rows}


def test_the_table_speaks_the_language_in_force() -> None:
    shown = rows(-0.1, "fp16")
    assert shown["Bits (signo, exponente, fracción)"] == "1 01011 1001100110"
    assert shown["Código"] == "0xAE66"
    assert shown["Exponente"] == "11 → 2⁻⁴"
    assert shown["Fracción"] == "614/1024"
    assert shown["Valor"] == "−0,0999755859375"
    assert shown["Distancia entre vecinos (ulp)"] == "6,10351562 × 10⁻⁵" or shown[
        "Distancia entre vecinos (ulp)"
    ].startswith("6,1035156")
    messages.use("pt")
    assert rows(-0.1, "fp16")["Distância entre vizinhos (ulp)"].startswith("6,1035156")
    assert "Os bits de −0,0999755859375 em fp16" in repr(numerics.explore(-0.1, "fp16"))


def test_specials_in_words() -> None:
    kinds = {
        "cero": rows(-0.0, "fp16"),
        "subnormal": rows(1e-7, "fp16"),
        "normal": rows(1, "fp16"),
        "infinito": rows(math.inf, "fp16"),
        "NaN (no es un número)": rows(math.nan, "fp16"),
    }
    assert {kind: shown["Clase"] for kind, shown in kinds.items()} == {kind: kind for kind in kinds}
    assert kinds["cero"]["Valor"] == "−0"
    assert kinds["infinito"]["Valor"] == "∞"
    assert kinds["infinito"]["Vecino superior"] == "no hay"
    assert kinds["infinito"]["Vecino inferior"] == "65 504".replace(" ", "\N{NARROW NO-BREAK SPACE}")
    assert kinds["infinito"]["Distancia entre vecinos (ulp)"] == "no hay"
    assert rows(500, "e4m3")["Clase"] == "NaN (no es un número)"
    assert rows(500, "e4m3", overflow="saturate")["Valor"] == "448"


def test_the_page_gets_a_table() -> None:
    html = numerics.explore(0.1, "bf16")._repr_html_()
    assert "<caption" in html
    assert "0 01111011 1001101" in html


@pytest.mark.parametrize("code", [-1, 1 << 16, True, None, 0.5])
def test_what_is_not_a_code_is_refused(code: Any) -> None:
    with pytest.raises(ValueError, match=r"code: se recibió|van de 0 a 0xffff"):
        numerics.explore_code(code, "bf16")


@pytest.mark.parametrize(
    ("value", "spanish"),
    [
        (3.4028234663852886e38, "3,403 × 10³⁸"),
        (-(2.0**-149), "−1,401 × 10⁻⁴⁵"),
        (9.99996e-5, "1 × 10⁻⁴"),
        (0.25, "0,25"),
        (65504, "65 504"),
        (0, "0"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (Fraction(1, 3 * 10**9), "3,333 × 10⁻¹⁰"),
        (1e7, "1 × 10⁷"),
    ],
)
def test_scientific_notation(value: float | Fraction, spanish: str) -> None:
    got = scientific(value, "es").replace(NO_BREAK, " ").replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert got == spanish
    assert scientific(12345, "pt") == "12.345"


@settings(deadline=None)
@given(st.floats(min_value=1e-300, max_value=1e300))
def test_scientific_notation_is_the_number_to_as_many_figures(value: float) -> None:
    text = scientific(value, "pt", digits=6)
    mantissa, _, power = text.replace(NO_BREAK, "").replace(".", "").replace(",", ".").partition("×10")
    exponent = int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)
    assert abs(Fraction(mantissa) * Fraction(10) ** exponent / Fraction(value) - 1) <= Fraction(1, 2 * 10**5)
    assert power == "" or 1 <= float(mantissa) < 10
