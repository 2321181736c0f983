"""A call that is written down and not made."""

import ast
from functools import partial
from typing import Any

import pytest

from tpu_kernels.xray.capture import Call, NotACallError, capture, parse


def never(*arguments: Any, **keywords: Any) -> None:
    raise AssertionError("it was called")


def test_a_call_is_split_and_not_made() -> None:
    names = {"f": never, "a": 1, "more": [2, 3], "named": {"z": 4}}
    call = capture(parse("f(a, *more, key=a + 1, **named)"), names)
    assert call == Call(never, (1, 2, 3), {"key": 2, "z": 4})
    assert set(names) == {"f", "a", "more", "named", "__builtins__"}


def test_the_function_may_be_an_expression() -> None:
    call = capture(parse("list(range(3)).index(2)"), {})
    assert (call.function(2), call.specs) == (2, (2,))


def test_names_that_do_not_exist_are_named() -> None:
    with pytest.raises(NameError, match="'b' is not defined"):
        capture(parse("f(b)"), {"f": never})


@pytest.mark.parametrize("written", ["3 + 4", "f", "f(a", "x = f(a)", "", "f(a); f(b)", "lambda: f(a)"])
def test_what_is_no_call_is_refused(written: str) -> None:
    with pytest.raises(NotACallError, match=r"f\(a, b\)"):
        capture(parse(written), {"f": never, "a": 1})


def scaled(x: int, *, by: int = 1) -> int:
    return x * by


@pytest.mark.parametrize("function", [scaled, partial(scaled)])
def test_keywords_become_one_argument(function: Any) -> None:
    made, specs = Call(function, (3,), {"by": 5}).positional()
    assert specs == (3, {"by": 5})
    assert made(*specs) == 15
    assert made.__name__ == "scaled"


def test_without_keywords_the_function_is_the_same() -> None:
    assert Call(scaled, (3,), {}).positional() == (scaled, (3,))


def test_a_statement_is_no_expression() -> None:
    with pytest.raises(NotACallError):
        capture(ast.Constant(3), {})
