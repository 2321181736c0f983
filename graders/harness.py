"""The learner's side of a call: look the function up, call it, answer with plain data.

Like ``plain``, this file is sent as text into the learner's process. It holds no expected value and decides nothing:
whoever rewrites it there can only choose which answer is sent back, and a wrong answer is still wrong.
"""

import base64
import builtins
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np

from graders.plain import PlainDataError, dumps, loads

MAX_MESSAGE = 300  # characters of the learner's exception that travel


class Harness:
    """Answers calls of functions that live in ``namespace`` (the globals of the learner's cells)."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self._checkpoints: dict[str, dict[str, Any]] = {}

    def checkpoint(self, key: str) -> None:
        """Remember what every name means here, as the check that stands at this place of the notebook must see it."""
        self._checkpoints[key] = dict(self.namespace)

    def call(self, request: str) -> str:
        """The reply to one request, both as plain-data text.

        A request holds ``name``, ``args``, ``at`` (a checkpoint or ``None``), ``nonce``, and either ``repeat`` (call so
        many times with the very same objects; the last result counts) or ``trace``, for the program that JAX makes of
        the function: ``platform``, ``chip``, ``mesh``, ``most`` bytes. The reply repeats the nonce and holds ``value``,
        or ``error`` with ``kind`` (``missing``, ``raised``, ``not-plain``, ``not-traced``, ``too-large``), ``type``,
        ``message``, ``line``, ``code``.
        """
        asked = loads(request)
        if asked["at"] is None:
            return self._reply(asked)
        before = dict(self.namespace)
        self._become(self._checkpoints.get(asked["at"], before))
        try:
            return self._reply(asked)
        finally:
            self._become(before)

    def call_encoded(self, request: str) -> str:
        """:meth:`call` between processes: request and reply in base64, one line of safe characters each."""
        reply = self.call(base64.b64decode(request).decode("ascii"))
        return base64.b64encode(reply.encode("ascii")).decode("ascii")

    def _become(self, names: dict[str, Any]) -> None:
        # In place: functions of the learner find their globals in this very dict.
        self.namespace.clear()
        self.namespace.update(names)

    def _reply(self, asked: dict[str, Any]) -> str:
        nonce = asked["nonce"]
        function = self.namespace.get(asked["name"])
        if not callable(function):
            return dumps({"nonce": nonce, "error": _error("missing", "", "", 0, "")})
        trace = asked.get("trace")
        value: Any
        try:
            if trace is None:
                value = _call(function, asked["args"], asked["repeat"])
            else:
                value = np.frombuffer(_exported(function, asked["args"], trace), np.uint8)
        except KeyboardInterrupt:
            raise  # the learner, or the grader's clock, stopped it
        except BaseException as error:  # noqa: BLE001 - any exception of theirs, SystemExit too, is their answer
            raised = self._raised(error, "raised") if trace is None else self._not_traced(error)
            return dumps({"nonce": nonce, "error": raised})
        if trace is not None and value.size > trace["most"]:
            return dumps({"nonce": nonce, "error": _error("too-large", "", "", 0, "")})
        try:
            return dumps({"nonce": nonce, "value": value})
        except PlainDataError as error:
            return dumps({"nonce": nonce, "error": _error("not-plain", type(value).__name__, str(error), 0, "")})

    def _not_traced(self, error: BaseException) -> dict[str, Any]:
        """The X-ray's own exceptions tell what to do; where and of which type are in what they were made from."""
        explained = type(error).__module__.startswith("tpu_kernels.")
        origin = error.__cause__ if explained else None
        found = self._raised(origin or error, "not-traced")
        return {**found, "message": _clean(_safe_text(error).partition("\n")[0])}

    def _raised(self, error: BaseException, kind: str) -> dict[str, Any]:
        line, code = 0, ""
        trace = error.__traceback__
        while trace is not None:  # the deepest frame that belongs to one of their cells
            if trace.tb_frame.f_globals is self.namespace:
                line = trace.tb_lineno
                code = linecache.getline(trace.tb_frame.f_code.co_filename, line).strip()
            trace = trace.tb_next
        return _error(kind, _known_type(error), _safe_text(error), line, code)


def _call(function: Callable[..., object], args: list[Any], repeat: int) -> object:
    value: object = None
    for _ in range(repeat):
        value = function(*args)
    return value


def _exported(function: Callable[..., Any], args: list[dict[str, Any]], trace: dict[str, Any]) -> bytes:
    """The program of ``function``, as jax writes one."""
    import jax
    from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec, use_abstract_mesh

    names, sizes = tuple(trace["mesh"]), tuple(trace["mesh"].values())
    mesh = AbstractMesh(sizes, names, axis_types=(AxisType.Auto,) * len(names))
    given: list[Any] = []
    for one in args:
        if "value" in one:
            given.append(one["value"])
        else:
            how = NamedSharding(mesh, PartitionSpec(*one["spread"])) if names else None
            given.append(jax.ShapeDtypeStruct(tuple(one["shape"]), jax.numpy.dtype(one["dtype"]), sharding=how))
    with use_abstract_mesh(mesh):
        if trace["platform"] == "tpu":
            from tpu_kernels.xray.program import lower
            from tpu_kernels.xray.targets import target

            return lower(function, given, target(trace["chip"])).code
        return _exported_for_cpu(function, given)


def _exported_for_cpu(function: Callable[..., Any], given: list[Any]) -> bytes:
    import jax
    from jax import export

    def program(*arrays: Any) -> Any:
        left = iter(arrays)
        return function(*(next(left) if isinstance(one, jax.ShapeDtypeStruct) else one for one in given))

    specs = [one for one in given if isinstance(one, jax.ShapeDtypeStruct)]
    return bytes(export.export(jax.jit(program), platforms=["cpu"])(*specs).serialize())


def _error(kind: str, type_name: str, message: str, line: int, code: str) -> dict[str, Any]:
    texts = {"kind": kind, "type": type_name, "message": message, "code": code}
    return {"line": int(line), **{key: _clean(text) for key, text in texts.items()}}


def _clean(text: str) -> str:
    return text[:MAX_MESSAGE].encode("utf-8", "replace").decode("utf-8")


def _known_type(error: BaseException) -> str:
    """The nearest built-in exception type: a class of the learner's own could be named anything."""
    for base in type(error).__mro__:
        name: str = base.__name__
        if getattr(builtins, name, None) is base:
            return name
    return "BaseException"


def _safe_text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - their __str__ may itself fail; the type still tells
        return ""
