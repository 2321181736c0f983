"""The values of the variables that a page quotes: shown in the kernel after the last cell, read outside it.

They travel as an output with a type of its own, so nothing that the lesson prints, names or redefines can be mistaken
for them.
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from nbformat import NotebookNode

MIME = "application/vnd.sistolica.values+json"


def source(names: list[str]) -> str:
    """The code of the cell that shows the values of the variables ``names``."""
    return f"from {__name__} import show as _show\n_show(globals(), {names!r})"


def show(variables: Mapping[str, Any], names: Iterable[str]) -> None:
    """Display the variables, in the kernel: ``None`` for one that does not exist."""
    from IPython.display import display

    described = {name: describe(variables[name]) if name in variables else None for name in names}
    display({MIME: described}, raw=True)  # type: ignore[no-untyped-call]


def describe(value: object) -> dict[str, Any]:
    """The ``value`` as a plain number or ``None`` when it is not a finite one, its ``unit`` or ``None``, its text."""
    number = value if type(value) is int else _float(value)
    if isinstance(number, float) and not math.isfinite(number):
        number = None
    unit = getattr(value, "unit", None)
    return {"value": number, "unit": unit if isinstance(unit, str) else None, "got": repr(value)[:80]}


def _float(value: object) -> float | None:
    """As ``float`` does, but text is not a number."""
    if isinstance(value, (str, bytes, bytearray)):
        return None
    try:
        return float(value)  # type: ignore[arg-type]  # a number of whatever kind, or not
    except (TypeError, ValueError):
        return None


def read(cell: NotebookNode) -> dict[str, Any]:
    """What :func:`show` displayed in an executed cell."""
    shown = next(output.data[MIME] for output in cell.outputs if MIME in output.get("data", {}))
    values: dict[str, Any] = json.loads(json.dumps(shown))
    return values
