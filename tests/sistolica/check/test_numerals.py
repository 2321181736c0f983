"""Numbers in prose are read as both languages write them."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sistolica.check.numerals import numerals

SEPARATORS = ["", ".", " ", "\u00a0", "\u202f"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,5 y 1.5", ["1.5", "1.5"]),
        ("0,125 y 0.125", ["0.125", "0.125"]),
        ("8.960 chips, 8 960 chips y 8960 chips", ["8960", "8960", "8960"]),
        ("1,024 veces", ["1.024"]),
        ("1,000,000 y 1.000.000", ["1000000", "1000000"]),
        ("1.234,5 y 1,234.5", ["1234.5", "1234.5"]),
        ("1.234.567,5 y 1,234.56,7", ["1234567.5", "1,234.56,7"]),
        ("la versión 1.0.4", ["1.0.4"]),
        ("de 2 a 4, o sea 2-4 o 2–4", ["2", "4", "2", "4", "2", "4"]),
        ("-3 y −3", ["-3", "-3"]),
        ("el 2026-11-30", ["2026", "11", "30"]),
        ("10⁹ y 10⁻³", ["10^9", "10^-3"]),
        ("128 × 128", ["128", "128"]),
        ("bf16, v5e, H100 y TPU7x", []),
        ("16 GiB, 16GiB, 50 %, 3.º", ["16", "16", "50", "3"]),
        ("en 2024 128 chips", ["2024", "128"]),
        ("Son 007.", ["7"]),
    ],
)
def test_value(text: str, values: list[str]) -> None:
    assert [number.value for number in numerals(text)] == values


@settings(deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 999), st.sampled_from(SEPARATORS), st.sampled_from(SEPARATORS))
def test_way_of_writing_does_not_matter(whole: int, thousandths: int, separator: str, other: str) -> None:
    fraction = f"{thousandths:03}".rstrip("0")
    written, rewritten = (f"{whole:,}".replace(",", mark) + f",{fraction}" for mark in (separator, other))
    (one,) = numerals(f"son {written} pasos")
    (two,) = numerals(f"({rewritten})")
    assert one.value == two.value
    assert Decimal(one.value) == whole + Decimal(f"0.{fraction}")


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**6), max_size=8))
def test_offsets_point_at_the_numbers(numbers: list[int]) -> None:
    text = "; ".join(map(str, numbers))
    assert [text[found.offset :].startswith(found.written) for found in numerals(text)] == [True] * len(numbers)
