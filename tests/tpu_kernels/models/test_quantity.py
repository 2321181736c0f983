import copy
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models.quantity import UNITS, Quantity

NBSP, NARROW, MINUS = "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}", "\N{MINUS SIGN}"

# value, unit, Spanish, Portuguese; "~" stands for a no-break space, "_" for a narrow one
WRITTEN = [
    (819e9, "bytes/s", "819~GB/s", "819~GB/s"),
    (197e12, "FLOP/s", "197~TFLOP/s", "197~TFLOP/s"),
    (393e12, "OP/s", "393~TOP/s", "393~TOP/s"),
    (2765e9, "bytes/s", "2,77~TB/s", "2,77~TB/s"),  # a tie: up, not to even
    (2307e12, "FLOP/s", "2,31~PFLOP/s", "2,31~PFLOP/s"),
    (11_600_000_000_000_000_000, "FLOP/s", "11,6~EFLOP/s", "11,6~EFLOP/s"),
    (5e21, "FLOP", "5000~EFLOP", "5000~EFLOP"),  # no prefix beyond exa
    (999.4e9, "bytes/s", "999~GB/s", "999~GB/s"),
    (999.96e9, "bytes/s", "1~TB/s", "1~TB/s"),  # the rounded number chooses the prefix
    (1e3, "bytes/s", "1~kB/s", "1~kB/s"),
    (0, "bytes/s", "0~B/s", "0~B/s"),
    (0.5, "FLOP/s", "0,5~FLOP/s", "0,5~FLOP/s"),
    (2**34, "bytes", "16~GiB", "16~GiB"),
    (95 * 2**30, "bytes", "95~GiB", "95~GiB"),
    (2**27, "bytes", "128~MiB", "128~MiB"),
    (3 * 2**29, "bytes", "1,5~GiB", "1,5~GiB"),
    (1000 * 2**20, "bytes", "1000~MiB", "1000~MiB"),
    (2**20 - 1, "bytes", "1,05~MB", "1,05~MB"),
    (16_000_000_000, "bytes", "16~GB", "16~GB"),
    (2**34, "bytes/s", "17,2~GB/s", "17,2~GB/s"),  # binary is for capacities
    (1.5e9, "Hz", "1,5~GHz", "1,5~GHz"),
    (940e6, "Hz", "940~MHz", "940~MHz"),
    (700, "W", "700~W", "700~W"),
    (1000, "W", "1~kW", "1~kW"),
    (3.2e-6, "s", "3,2~µs", "3,2~µs"),
    (5e-13, "s", "0,5~ps", "0,5~ps"),
    (240.53, "FLOP/byte", "241~FLOP/B", "241~FLOP/B"),
    (57_344, "FLOP/cycle", "57_344~FLOP/ciclo", "57.344~FLOP/ciclo"),
    (638, "cycles", "638~ciclos", "638~ciclos"),
    (128, "count", "128", "128"),
    (8960, "count", "8960", "8960"),
    (10_000, "count", "10_000", "10.000"),
    (1_234_567, "count", "1_234_567", "1.234.567"),
    (1250.75, "count", "1251", "1251"),
    (251.34, "count", "251", "251"),
    (2.5, "count", "2,5", "2,5"),
    (1.2, "USD/chip/hour", "1,20~USD por chip y hora", "1,20~USD por chip por hora"),
    (1.32132, "USD/chip/hour", "1,32~USD por chip y hora", "1,32~USD por chip por hora"),
    (0.5, "share", "50~%", "50%"),
    (0.503_875, "share", "50,4~%", "50,4%"),
    (0.07, "share", "7~%", "7%"),  # 100 * 0.07 is 7.000000000000001
    (0.29, "share", "29~%", "29%"),
    (-3.5e9, "bytes/s", "−3,5~GB/s", "−3,5~GB/s"),
    (math.inf, "Hz", "∞", "∞"),
    (-math.inf, "Hz", "−∞", "−∞"),
    (math.nan, "Hz", "NaN", "NaN"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "unit", "spanish", "portuguese"), WRITTEN)
def test_each_language_writes_it_its_way(value: float, unit: str, spanish: str, portuguese: str) -> None:
    expected = [text.replace("~", NBSP).replace("_", NARROW) for text in (spanish, portuguese)]
    assert [Quantity(value, unit).format(code) for code in ("es", "pt")] == expected


def test_digits_say_how_many_figures() -> None:
    assert Quantity(2765e9, "bytes/s").format(digits=4) == f"2,765{NBSP}TB/s"
    with pytest.raises(ValueError, match="se recibió 0"):
        Quantity(2765e9, "bytes/s").format(digits=0)


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(messages.UnknownLanguageError):
        Quantity(1, "count").format("en")


def test_str_and_f_strings_write_it_in_the_language_in_force() -> None:
    cost = Quantity(1.2, "USD/chip/hour")
    messages.use("pt")
    assert str(cost) == f"{cost}" == f"1,20{NBSP}USD por chip por hora"
    assert f"{cost:.1f}" == "1.2"
    assert cost._repr_html_() == f"<span>1,20{NBSP}USD por chip por hora</span>"


def test_repr_builds_it_again() -> None:
    quantity = Quantity(819e9, "bytes/s")
    again = eval(repr(quantity))
    assert (again, again.unit) == (quantity, "bytes/s")


def test_it_is_a_float() -> None:
    rate = Quantity(819e9, "bytes/s")
    assert rate == 819e9
    assert hash(rate) == hash(819e9)
    assert rate < 820e9
    for result in (rate + 1, rate * 2, rate / rate, -rate, abs(rate), 2 - rate):
        assert type(result) is float


def test_it_survives_pickle_and_copy() -> None:
    quantity = Quantity(16e9, "bytes")
    copies = [copy.copy(quantity), copy.deepcopy(quantity)]
    copies += [pickle.loads(pickle.dumps(quantity, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for again in copies:
        assert (again, again.unit, type(again)) == (quantity, "bytes", Quantity)


def test_it_does_not_change() -> None:
    quantity = Quantity(1, "W")
    with pytest.raises(AttributeError, match="unit"):
        quantity.unit = "Hz"
    with pytest.raises(AttributeError, match="unit"):
        del quantity.unit
    with pytest.raises(AttributeError, match="note"):
        quantity.note = "x"  # type: ignore[attr-defined]
    assert quantity.unit == "W"


def test_an_unknown_unit_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'furlong'.*FLOP/s"):
        Quantity(1, "furlong")


def test_a_whole_count_serves_as_an_integer_and_nothing_else_does() -> None:
    assert list(range(Quantity(3, "count"))) == [0, 1, 2]
    for other in (Quantity(2.5, "count"), Quantity(3, "W")):
        with pytest.raises(TypeError, match="entero"):
            range(other)


@given(st.floats(min_value=1e-3, max_value=1e20), st.sampled_from(["FLOP/s", "bytes/s", "Hz"]))
def test_the_text_says_the_number(value: float, unit: str) -> None:
    mantissa, _, symbol = Quantity(value, unit).format("es").partition(NBSP)
    prefix = symbol.removesuffix(UNITS[unit].symbol)
    scale = 10.0 ** (3 * " kMGTPE".index(prefix or " "))
    read = float(mantissa.replace(",", ".").replace(NARROW, ""))
    assert read * scale == pytest.approx(value, rel=5.001e-3)
    assert read < 1000
    assert read >= 1 or not prefix
    assert not mantissa.endswith(("0", ",")) or "," not in mantissa
