"""The codec between learner and judge: exact round trips, and no input that does anything but be refused."""

import base64
import json
import math
import pickle

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graders.plain import DTYPES, Limits, PlainDataError, dumps, loads

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | st.integers(-(10**900), 10**900) | st.floats() | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=20)
ARRAYS = hnp.arrays(
    st.sampled_from(["bool", "int8", "uint16", "int64", "float16", "float32", "float64"]),
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
)


def same(got, want):
    if isinstance(want, float):
        return (
            isinstance(got, float)
            and (got == want or (math.isnan(got) and math.isnan(want)))
            and (math.copysign(1, got) == math.copysign(1, want) or math.isnan(want))
        )
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, dict):
        return isinstance(got, dict) and list(got) == list(want) and all(same(got[key], want[key]) for key in want)
    return type(got) is type(want) and got == want


@settings(deadline=None)
@given(VALUES)
@example([float("nan"), float("-inf"), -0.0, 10**999, True, 1])
def test_a_value_comes_back_the_same_in_type_and_bits(value):
    assert same(loads(dumps(value)), value)


@settings(deadline=None)
@given(ARRAYS)
def test_an_array_comes_back_the_same_in_dtype_shape_and_bits(array):
    got = loads(dumps(array))
    assert (got.dtype, got.shape, got.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert got.flags.writeable


@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_every_dtype_of_the_list_travels(dtype):
    extended = getattr(ml_dtypes, dtype, None)
    array = np.asarray([[0, 1], [1, 0]]).astype(extended or dtype)
    got = loads(dumps(array))
    assert got.dtype.name == dtype
    assert got.tobytes() == array.tobytes()


@pytest.mark.parametrize("array", [np.arange(6, dtype=">i4"), np.arange(12.0).reshape(3, 4)[::2, ::-1], np.arange(3).T])
def test_byte_order_and_strides_do_not_matter(array):
    got = loads(dumps(array))
    assert np.array_equal(got, array)
    assert got.dtype.isnative


def test_a_numpy_scalar_arrives_as_an_array_without_dimensions():
    got = loads(dumps(np.float64(1.5)))
    assert (got.dtype.name, got.shape, float(got)) == ("float64", (), 1.5)


class Sneaky:
    def __reduce__(self):
        return (pytest.fail, ("executed",))


@pytest.mark.parametrize(
    "value",
    [object(), Sneaky(), [Sneaky()], {1: 2}, {"a": {2: 3}}, b"bytes", 1j, {1, 2}, lambda: 0, range(3)],
    ids=lambda value: type(value).__name__,
)
def test_objects_are_refused(value):
    with pytest.raises(PlainDataError):
        dumps(value)


@pytest.mark.parametrize(
    "array",
    [np.array([object()]), np.array(["text"]), np.array([1j]), np.zeros(2, "M8[s]"), np.zeros(2, [("a", "i4")])],
    ids=lambda array: array.dtype.name,
)
def test_arrays_of_anything_but_numbers_are_refused(array):
    with pytest.raises(PlainDataError, match="dtype"):
        dumps(array)


def test_a_list_that_holds_itself_is_refused():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(PlainDataError, match="nested"):
        dumps(loop)


@pytest.mark.parametrize(
    ("value", "limits"),
    [
        (np.zeros(100), Limits(max_bytes=799)),
        ("ñ" * 10, Limits(max_bytes=19)),
        ([None] * 10, Limits(max_items=10)),
        ([[[1]]], Limits(max_depth=2)),
        (10**10, Limits(max_digits=2)),
        (np.zeros((1, 1, 1)), Limits(max_dimensions=2)),
    ],
    ids=["array", "text", "items", "depth", "digits", "dimensions"],
)
def test_each_cap_holds_in_both_directions(value, limits):
    with pytest.raises(PlainDataError):
        dumps(value, limits)
    with pytest.raises(PlainDataError):
        loads(dumps(value), limits)


def test_a_pickle_is_not_read():
    harmful = pickle.dumps(Sneaky())
    for text in (harmful.decode("latin-1"), json.dumps(["array", "O", [1], base64.b64encode(harmful).decode()])):
        with pytest.raises(PlainDataError):
            loads(text)


@pytest.mark.parametrize(
    "node",
    [
        1,
        "text",
        None,
        [],
        ["int", 1],
        ["int", "1e3"],
        ["int", "٣"],
        ["float", "nan(0)"],
        ["float", "1.0"],
        ["bool", 1],
        ["none", 1],
        ["str", "\ud800"],
        ["list", {}],
        ["dict", [["a", ["none"]], ["a", ["none"]]]],
        ["dict", [["a"]]],
        ["array", "float32", [2], "AAAA"],
        ["array", "float32", [-1], ""],
        ["array", "float32", [True], "AAAAAA=="],
        ["array", "float32", [2**40, 2**40], ""],
        ["array", "object", [0], ""],
        ["array", "bool", [1], "Ag=="],
        ["array", "int8", [1], "!!!!"],
    ],
    ids=repr,
)
def test_what_is_not_a_node_is_refused(node):
    with pytest.raises(PlainDataError):
        loads(json.dumps(node))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
TAGS = st.sampled_from(["none", "bool", "int", "float", "str", "list", "dict", "array", "float32", "bfloat16"])
NODES = st.recursive(JSON | TAGS, lambda inner: st.lists(TAGS | inner, max_size=4), max_leaves=20)


@settings(deadline=None, max_examples=300)
@given(NODES.map(json.dumps) | st.text())
@example("[" * 100_000)
@example("1" * 10_000)
@example('["list",' * 500 + "[]" + "]" * 500)
def test_any_text_is_read_or_refused_and_nothing_else(text):
    try:
        value = loads(text)
    except PlainDataError:
        return
    assert same(loads(dumps(value)), value) or isinstance(value, np.ndarray | list | dict)
