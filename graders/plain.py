"""Plain data: the only thing that a learner's process and its judge say to each other.

``None``, ``bool``, ``int``, ``float``, ``str``, ``list``, ``dict`` with ``str`` keys, and arrays as dtype, shape and
raw bytes. Every value is written as a tagged JSON node, so reading it back gives the same type and the same bits, and
nothing is ever executed to read it (no pickle, no object hook). Both directions enforce the same caps.

This file is also sent as text into the learner's process: it may import the standard library and numpy only.
"""

import base64
import binascii
import json
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

# Names that may cross; the last three need ml_dtypes, which comes with JAX.
_PLAIN_DTYPES = frozenset({"bool", "float16", "float32", "float64"}) | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_EXTENDED_DTYPES = frozenset({"bfloat16", "float8_e4m3fn", "float8_e5m2"})
DTYPES = _PLAIN_DTYPES | _EXTENDED_DTYPES

_INTEGER = re.compile(r"-?[0-9]+")


@dataclass(frozen=True)
class Limits:
    """How much one message may hold: bytes of arrays and text, values, nesting, decimal digits of an integer."""

    max_bytes: int = 32 * 2**20
    max_items: int = 200_000
    max_depth: int = 32
    max_digits: int = 1_000
    max_dimensions: int = 8


LIMITS = Limits()


class PlainDataError(ValueError):
    """A value, or a message, that is not plain data or exceeds a cap."""


def dumps(value: object, limits: Limits = LIMITS) -> str:
    """``value`` as ASCII JSON text. Raises :class:`PlainDataError` for anything but plain data within ``limits``."""
    return json.dumps(_Writer(limits).node(value, 0), separators=(",", ":"))


def loads(text: str, limits: Limits = LIMITS) -> Any:
    """The value written in ``text``. Raises :class:`PlainDataError`, and nothing else, whatever the text holds."""
    if len(text) > 2 * limits.max_bytes:  # base64 and tags less than double what they carry
        raise PlainDataError(f"message of {len(text)} characters: at most {2 * limits.max_bytes} are read")
    try:
        node = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlainDataError(f"message is not JSON: {type(error).__name__}") from None
    return _Reader(limits).value(node, 0)


class _Counter:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.items = 0
        self.bytes = 0

    def count(self, depth: int, size: int = 0) -> None:
        self.items += 1
        self.bytes += size
        if depth > self.limits.max_depth:
            raise PlainDataError(f"nested deeper than {self.limits.max_depth} levels")
        if self.items > self.limits.max_items:
            raise PlainDataError(f"more than {self.limits.max_items} values in one message")
        if self.bytes > self.limits.max_bytes:
            raise PlainDataError(f"more than {self.limits.max_bytes} bytes in one message")


class _Writer(_Counter):
    def node(self, value: object, depth: int) -> list[Any]:
        self.count(depth)
        if value is None:
            return ["none"]
        if isinstance(value, np.generic):  # before float: numpy.float64 is one, and must arrive as what it is
            return self._array(np.asarray(value))
        if isinstance(value, bool):
            return ["bool", bool(value)]
        if isinstance(value, int):
            return ["int", self._digits(int(value))]
        if isinstance(value, float):
            return ["float", float(value).hex()]
        if isinstance(value, str):
            return ["str", self._text(str(value))]
        if isinstance(value, list | tuple):
            return ["list", [self.node(item, depth + 1) for item in value]]
        if isinstance(value, dict):
            return ["dict", [[self._key(key), self.node(item, depth + 1)] for key, item in value.items()]]
        if isinstance(value, np.ndarray) or (hasattr(value, "__array__") and hasattr(value, "dtype")):
            return self._array(np.asarray(value))
        raise PlainDataError(f"{type(value).__name__} is not plain data: give numbers, text, lists, dicts or arrays")

    def _digits(self, value: int) -> str:
        # bit_length first: writing a huge integer in decimal is itself slow
        if value.bit_length() > 4 * self.limits.max_digits:
            raise PlainDataError(f"integer of more than {self.limits.max_digits} digits")
        return str(value)

    def _text(self, value: str) -> str:
        try:
            self.count(0, len(value.encode("utf-8")))
        except UnicodeEncodeError:
            raise PlainDataError("text with a lone surrogate: not valid Unicode") from None
        return value

    def _key(self, key: object) -> str:
        if not isinstance(key, str):
            raise PlainDataError(f"dict key of type {type(key).__name__}: keys are text")
        return self._text(str(key))

    def _array(self, value: "np.ndarray[Any, Any]") -> list[Any]:
        name = value.dtype.name
        if name not in DTYPES:
            raise PlainDataError(f"array of dtype {name}: expected one of {', '.join(sorted(DTYPES))}")
        if value.ndim > self.limits.max_dimensions:
            raise PlainDataError(f"array of {value.ndim} dimensions: at most {self.limits.max_dimensions}")
        self.count(0, value.nbytes)
        little = value.astype(value.dtype.newbyteorder("<"), order="C", copy=False)
        data = base64.b64encode(little.tobytes()).decode("ascii")
        return ["array", name, list(value.shape), data]


class _Reader(_Counter):
    def value(self, node: object, depth: int) -> Any:
        self.count(depth)
        match node:
            case ["none"]:
                return None
            case ["bool", bool(value)]:
                return value
            case ["int", str(digits)]:
                return self._integer(digits)
            case ["float", str(text)]:
                return self._float(text)
            case ["str", str(text)]:
                return self._text(text)
            case ["list", list(items)]:
                return [self.value(item, depth + 1) for item in items]
            case ["dict", list(pairs)]:
                return self._dict(pairs, depth)
            case ["array", str(name), list(shape), str(data)]:
                return self._array(name, shape, data)
        raise PlainDataError("a node that is not plain data")

    def _integer(self, digits: str) -> int:
        if len(digits) > 2 * self.limits.max_digits or not _INTEGER.fullmatch(digits):
            raise PlainDataError("not a decimal integer")
        return int(digits)

    def _float(self, text: str) -> float:
        try:
            value = float.fromhex(text)
        except (ValueError, OverflowError):
            raise PlainDataError("not a hexadecimal float") from None
        if value.hex() != text:  # one spelling per number
            raise PlainDataError("not a hexadecimal float as Python writes it")
        return value

    def _text(self, text: str) -> str:
        try:
            self.count(0, len(text.encode("utf-8")))
        except UnicodeEncodeError:
            raise PlainDataError("text with a lone surrogate: not valid Unicode") from None
        return text

    def _dict(self, pairs: list[Any], depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for pair in pairs:
            match pair:
                case [str(key), item] if key not in found:
                    found[self._text(key)] = self.value(item, depth + 1)
                case _:
                    raise PlainDataError("a dict entry that is not a new text key and a value")
        return found

    def _array(self, name: str, shape: list[Any], data: str) -> "np.ndarray[Any, Any]":
        if name not in DTYPES:
            raise PlainDataError("array of an unknown dtype")
        if len(shape) > self.limits.max_dimensions or not all(type(n) is int and 0 <= n < 2**31 for n in shape):
            raise PlainDataError("array of an impossible shape")
        dtype = _dtype(name)
        size = math.prod(shape) * dtype.itemsize
        self.count(0, size)
        try:
            raw = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise PlainDataError("array bytes that are not base64") from None
        if len(raw) != size:
            raise PlainDataError(f"array of {size} bytes by its shape, {len(raw)} by its data")
        if name == "bool" and raw.strip(b"\0\1"):
            raise PlainDataError("array of bool with a byte that is neither 0 nor 1")
        little = np.frombuffer(raw, dtype=dtype.newbyteorder("<"))
        return little.astype(dtype).reshape(shape)  # a copy: the caller may write to it


def _dtype(name: str) -> "np.dtype[Any]":
    if name in _EXTENDED_DTYPES:
        try:
            import ml_dtypes
        except ImportError:
            raise PlainDataError(f"array of dtype {name}, which needs the ml_dtypes package") from None
        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return dtype
    return np.dtype(name)
