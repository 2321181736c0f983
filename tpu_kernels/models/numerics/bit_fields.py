"""What a bit explorer shows of one number: its fields, its exact value, its neighbours and how far away they are."""

from fractions import Fraction
from typing import NamedTuple

from tpu_kernels.messages import decimal
from tpu_kernels.models.numerals import MINUS, NO_BREAK_SPACE
from tpu_kernels.models.numerics.float_format import AS_SPECIFIED, INFINITY, NAN, NORMAL, SUBNORMAL, ZERO, FloatFormat
from tpu_kernels.models.numerics.number_formats import float_format
from tpu_kernels.models.numerics.rounding import Rounding, nearest_even
from tpu_kernels.models.numerics.scientific_notation import power_of, scientific
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase

LONGEST_DECIMAL = 40  # digits after which a table rounds; the exact ones stay in ``decimal``


class BitFields(NamedTuple):
    """A code of a format, taken apart.

    ``sign`` is 0 or 1, ``exponent_field`` and ``fraction_field`` are the raw fields. ``exponent`` is the power of two
    that multiplies the significand (``min_exponent`` for subnormals and zero); it and ``exact`` are ``None`` for
    infinities and NaN. ``below`` and ``above`` are the neighbouring values, ``None`` beyond the last; ``spacing`` is
    the distance between neighbours at this magnitude (its ulp), ``None`` where there is none.
    """

    dtype: FloatFormat
    code: int
    kind: str
    sign: int
    exponent_field: int
    fraction_field: int
    exponent: int | None
    value: float
    exact: Fraction | None
    below: float | None
    above: float | None
    spacing: float | None

    @property
    def pattern(self) -> str:
        """The bits, the fields apart: ``"0 10000000 1001001"``."""
        return self.dtype.pattern(self.code)

    @property
    def significand(self) -> Fraction | None:
        """What multiplies the power of two: from 1 to under 2, under 1 for subnormals; ``None`` for specials."""
        if self.exponent is None:
            return None
        hidden = 0 if self.exponent_field == 0 else 1
        return hidden + Fraction(self.fraction_field, 1 << self.dtype.fraction_bits)

    @property
    def decimal(self) -> str:
        """Every digit of the exact value, with a point: ``"-0.15625"``; ``"inf"``, ``"-inf"`` or ``"nan"``."""
        return str(self.value) if self.exact is None else exact_decimal(self.exact, negative=bool(self.sign))

    def table(self) -> Table:
        """The fields and what they mean, in the language in force."""
        rows = [
            (phrase("bit_fields.bits"), self.pattern),
            (phrase("bit_fields.code"), f"0x{self.code:0{-(-self.dtype.bits // 4)}X}"),
            (phrase("bit_fields.kind"), _kind(self.kind)),
            (phrase("bit_fields.sign"), str(self.sign)),
            (phrase("bit_fields.exponent"), self._exponent()),
            (phrase("bit_fields.fraction"), f"{self.fraction_field}/{1 << self.dtype.fraction_bits}"),
            (phrase("bit_fields.value"), self._value()),
            (phrase("bit_fields.below"), _number(self.below)),
            (phrase("bit_fields.above"), _number(self.above)),
            (phrase("bit_fields.spacing"), _number(self.spacing)),
        ]
        caption = phrase("bit_fields.caption", dtype=self.dtype.name, value=self._value())
        headings = [phrase("bit_fields.field"), phrase("bit_fields.content")]
        return Table(caption, headings, [[TableCell(name), TableCell(text)] for name, text in rows])

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def _exponent(self) -> str:
        if self.exponent is None:
            return str(self.exponent_field)
        return f"{self.exponent_field} → {power_of(2, self.exponent)}"

    def _value(self) -> str:
        if self.exact is None or len(self.decimal) > LONGEST_DECIMAL:
            return _number(self.value)
        return decimal(self.decimal).replace("-", MINUS)


def explore(
    value: object,
    dtype: str | FloatFormat,
    *,
    overflow: str = AS_SPECIFIED,
    rounding: Rounding = nearest_even,
) -> BitFields:
    """The fields of the number that ``value`` becomes in ``dtype``; see ``FloatFormat.encode`` for the choices."""
    chosen = float_format(dtype)
    return explore_code(chosen.encode(value, overflow=overflow, rounding=rounding), chosen)


def explore_code(code: int, dtype: str | FloatFormat) -> BitFields:
    """The fields of a code from 0 to under ``2**bits``; ``ValueError`` for what is not one."""
    chosen = float_format(dtype)
    checked = chosen.checked_code(code)
    kind, value = chosen.kind(checked), chosen.decode(checked)
    finite = kind not in (INFINITY, NAN)
    field = checked >> chosen.fraction_bits & chosen.exponent_mask
    below, above = chosen.next_down(checked), chosen.next_up(checked)
    return BitFields(
        dtype=chosen,
        code=checked,
        kind=kind,
        sign=int(checked & chosen.sign_mask != 0),
        exponent_field=field,
        fraction_field=checked & chosen.fraction_mask,
        exponent=max(field, 1) - chosen.bias if finite else None,
        value=value,
        exact=Fraction(value) if finite else None,
        below=None if below is None else chosen.decode(below),
        above=None if above is None else chosen.decode(above),
        spacing=chosen.spacing(value) if finite else None,
    )


def exact_decimal(value: Fraction, *, negative: bool = False) -> str:
    """A fraction whose denominator is a power of two, in full: every such number ends in the decimal system too.

    ``negative`` gives a zero its sign. ``ValueError`` for another denominator.
    """
    places = value.denominator.bit_length() - 1
    if value.denominator != 1 << places:
        raise ValueError(phrase("bit_fields.not_binary", got=str(value)))
    digits = str(abs(value.numerator) * 5**places).rjust(places + 1, "0")
    sign = "-" if value < 0 or negative else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else sign + digits


def _number(value: float | None) -> str:
    if value is None:
        return phrase("bit_fields.none")
    text = scientific(value, digits=9)
    return f"{MINUS}0" if value == 0 and str(value).startswith("-") else text.replace(" ", NO_BREAK_SPACE)


def _kind(kind: str) -> str:
    if kind == ZERO:
        return phrase("bit_fields.zero")
    if kind == SUBNORMAL:
        return phrase("bit_fields.subnormal")
    if kind == NORMAL:
        return phrase("bit_fields.normal")
    return phrase("bit_fields.infinity") if kind == INFINITY else phrase("bit_fields.nan")
