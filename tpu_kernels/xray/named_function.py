"""What a command line names: a function as ``package.module:function``, and its arguments as ``bf16[4096,4096]``."""

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

from tpu_kernels.phrases import phrase
from tpu_kernels.xray.errors import ProgramError

SPECS = "specs"  # the attribute where a function says for which arguments it is to be seen
SPEC = re.compile(r"(\w+)\[((?:\d+(?:,\d+)*)?)\]")
MOST = 2**31 - 1  # elements along one side, as XLA counts them
SHORT = {
    "pred": "bool",
    "bf16": "bfloat16",
    "f16": "float16",
    "f32": "float32",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    **{f"{letter}{bits}": f"int{bits}" for letter in "is" for bits in (4, 8, 16, 32)},
    **{f"u{bits}": f"uint{bits}" for bits in (4, 8, 16, 32)},
}


def load(name: str) -> Callable[..., Any]:
    """The object that ``package.module:function`` or ``path/to/file.py:function`` names; it may have more dots.

    Modules are also looked for in the working directory. Raises
    :class:`~tpu_kernels.xray.errors.ProgramError` when it cannot be imported or found.
    """
    place, colon, path = name.rpartition(":")
    if not colon or not place or not path:
        raise ProgramError(phrase("xray.bad_name", got=name))
    module = _imported(place)
    try:
        found: Callable[..., Any] = attrgetter(path)(module)
    except AttributeError:
        raise ProgramError(phrase("xray.no_function", function=path, module=place)) from None
    return found


def specs_of(function: Callable[..., Any], written: Sequence[str]) -> tuple[Any, ...]:
    """The arguments written down; without any, those that the function itself has in ``function.specs``.

    Raises :class:`~tpu_kernels.xray.errors.ProgramError` when the function needs arguments and there are none, or
    ``function.specs`` is no list or tuple.
    """
    if written:
        return tuple(parsed(one) for one in written)
    own = getattr(function, SPECS, None)
    if isinstance(own, list | tuple):
        return tuple(own)
    if own is not None:
        raise ProgramError(phrase("xray.own_specs", got=repr(own)[:60]))
    if _needs_arguments(function):
        raise ProgramError(phrase("xray.no_specs"))
    return ()


def parsed(written: str) -> jax.ShapeDtypeStruct:
    """``bf16[4096,4096]`` or ``float32[8,128]`` as a shape and a type; ``f32[]`` is a scalar.

    Raises :class:`~tpu_kernels.xray.errors.ProgramError` for anything else.
    """
    match = SPEC.fullmatch(written.replace(" ", ""))
    dtype = _dtype(SHORT.get(match[1], match[1])) if match else None
    shape = tuple(map(int, filter(None, match[2].split(",")))) if match else ()
    if dtype is None or any(side > MOST for side in shape):
        raise ProgramError(phrase("xray.bad_spec", got=written))
    return jax.ShapeDtypeStruct(shape, dtype)


def _dtype(name: str) -> Any:
    """The type with exactly this name; ``None`` when jax has none, or would silently use a narrower one."""
    try:
        dtype = jnp.dtype(name)
    except TypeError:
        return None
    number = name == "bool" or jnp.issubdtype(dtype, jnp.number)
    exact = dtype.name == name  # numpy also takes letters, "q" for int64
    return dtype if exact and number and jax.dtypes.canonicalize_dtype(dtype) == dtype else None


def _imported(place: str) -> ModuleType:
    try:
        if place.endswith(".py"):
            return _from_file(Path(place))
        _look_in(Path.cwd())
        return importlib.import_module(place)
    except (Exception, SystemExit) as error:  # whatever the learner's module raises while it is imported
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200].rstrip(". ")
        raise ProgramError(phrase("xray.not_imported", module=place, reason=reason), str(error)) from error


def _from_file(path: Path) -> ModuleType:
    """As ``python path`` would, with the file's folder to import from."""
    if not path.is_file():
        raise FileNotFoundError(path)
    _look_in(path.resolve().parent)
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _look_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _needs_arguments(function: Callable[..., Any]) -> bool:
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a callable that does not say
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(one.default is one.empty and one.kind in positional for one in given)
