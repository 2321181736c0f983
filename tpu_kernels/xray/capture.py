"""A call as it is written, split into its function and its arguments, without calling it."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from tpu_kernels.phrases import phrase

CATCHER = "__xray_catcher__"  # a name that no learner's namespace has


class NotACallError(ValueError):
    """What was written is no call of a function."""


@dataclass(frozen=True)
class Call:
    """``function(*specs, **keywords)``, each of them evaluated."""

    function: Callable[..., Any]
    specs: tuple[Any, ...]
    keywords: Mapping[str, Any]

    def positional(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The same call with positional arguments only, since those are what an X-ray takes: keywords go in a dict."""
        if not self.keywords:
            return self.function, self.specs
        function = self.function

        @wraps(getattr(function, "func", function))  # of functools.partial, which has no name of its own
        def called(*arguments: Any) -> Any:
            return function(*arguments[:-1], **arguments[-1])

        return called, (*self.specs, dict(self.keywords))


def capture(expression: ast.expr, namespace: dict[str, Any]) -> Call:
    """Evaluate the function and the arguments of a call in a namespace.

    Raises :class:`NotACallError` for another expression, and whatever evaluating its parts raises, as ``NameError``.
    """
    __tracebackhide__ = True  # what its parts raise is the learner's
    if not isinstance(expression, ast.Call):
        raise NotACallError(phrase("xray.not_a_call", got=ast.unparse(expression)[:60]))
    catcher = ast.Name(CATCHER, ast.Load())
    caught = ast.Call(catcher, [expression.func, *expression.args], expression.keywords)
    tree = ast.fix_missing_locations(ast.copy_location(ast.Expression(caught), expression))
    call: Call = eval(compile(tree, "<xray>", "eval"), namespace, {CATCHER: _caught})
    return call


def _caught(function: Callable[..., Any], /, *specs: Any, **keywords: Any) -> Call:
    return Call(function, specs, keywords)


def parse(written: str) -> ast.expr:
    """The expression that a line is. Raises :class:`NotACallError` when it is none."""
    try:
        return ast.parse(written.strip(), mode="eval").body
    except SyntaxError:
        raise NotACallError(phrase("xray.not_a_call", got=written.strip()[:60])) from None
