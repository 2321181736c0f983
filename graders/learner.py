"""The learner as a check sees them: a proxy that takes and gives plain data, wherever their code runs."""

import secrets
import sys
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from graders.harness import Harness
from graders.plain import PlainDataError, dumps, loads
from graders.printable import plain_text

# What may go wrong in the learner's code, as the messages' keys name it ([error] in messages.toml).
MISSING = "missing"  # no function of that name
RAISED = "raised"
NOT_WRITTEN = "not-written"  # the starter's NotImplementedError is still there
NOT_PLAIN = "not-plain"  # returned an object that cannot travel
WRONG_TYPE = "wrong-type"  # returned plain data of another type than the exercise asks for
TIMEOUT = "timeout"
DIED = "died"  # their process ended
GARBLED = "garbled"  # their process answered something that is no answer


class LearnerError(Exception):
    """The learner's code did not return what can be judged.

    Attributes: ``kind`` (a constant of this module), ``function``, ``type`` (a built-in exception, or the type that was
    returned), ``message`` (the learner's own text: may quote the inputs), ``line`` (in their cell; 0 when unknown),
    ``code`` (that line's text).
    """

    def __init__(
        self, kind: str, function: str = "", type_name: str = "", message: str = "", line: int = 0, code: str = ""
    ) -> None:
        super().__init__(f"{function}: {kind} {type_name} {message}".strip())
        self.kind = kind
        self.function = function
        self.type = type_name
        self.message = message
        self.line = line
        self.code = code

    def to_dict(self) -> dict[str, Any]:
        names = ("kind", "function", "type", "message", "line", "code")
        return {name: getattr(self, name) for name in names}


class Learner(Protocol):
    """What a check may use."""

    @property
    def backend(self) -> str:
        """Where the learner's JAX runs: ``"cpu"``, ``"gpu"`` or ``"tpu"``; tolerances depend on it."""

    def call(self, name: str, *args: Any, returns: type | None = None, repeat: int = 1) -> Any:
        """The value of ``name(*args)`` in the learner's notebook.

        ``returns``: the type asked for (``numpy.ndarray``, ``list``, ``int``, …). ``repeat``: call so many times with
        the very same objects and give the last value, so a function that spoils its inputs shows by a wrong value.
        Raises :class:`LearnerError`.
        """


class _Proxy:
    """The part that both kinds share: frames out, frames in, types checked."""

    def call(self, name: str, *args: Any, returns: type | None = None, repeat: int = 1) -> Any:
        nonce = secrets.token_hex(16)
        request = {"nonce": nonce, "name": name, "args": list(args), "repeat": repeat, "at": self._place()}
        text = self._ask(name, dumps(request))
        try:
            reply = loads(text)
        except PlainDataError as error:
            raise LearnerError(GARBLED, name, message=str(error)) from None
        if not isinstance(reply, dict) or reply.get("nonce") != nonce:
            raise LearnerError(GARBLED, name)
        if "error" in reply:
            raise _read_error(name, reply["error"])
        if "value" not in reply:
            raise LearnerError(GARBLED, name)
        value = reply["value"]
        if returns is not None and (not isinstance(value, returns) or (returns is int and isinstance(value, bool))):
            raise LearnerError(WRONG_TYPE, name, type_name=_type_name(value), message=returns.__name__)
        return value

    def _place(self) -> str | None:
        return None

    def _ask(self, name: str, request: str) -> str:
        raise NotImplementedError


def _read_error(name: str, error: Any) -> LearnerError:
    match error:
        case {
            "kind": "missing" | "raised" | "not-plain" as kind,
            "type": str(type_name),
            "message": str(message),
            "line": int(line),
            "code": str(code),
        }:
            if kind == RAISED and type_name == "NotImplementedError":
                kind = NOT_WRITTEN
            return LearnerError(kind, name, type_name[:80], plain_text(message), line, plain_text(code))
    return LearnerError(GARBLED, name)


def _type_name(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"numpy.ndarray ({value.dtype.name})" if value.ndim else f"numpy.{value.dtype.name}"
    return type(value).__name__


class NamespaceLearner(_Proxy):
    """The learner in this very process: the notebook's self-check. Same frames as the grader, no process between."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._harness = Harness(namespace)

    @property
    def backend(self) -> str:
        jax = sys.modules.get("jax")
        return str(jax.default_backend()) if jax is not None else "cpu"

    def _ask(self, name: str, request: str) -> str:
        return self._harness.call(request)


class ProcessTimeoutError(Exception):
    """The learner's process did not answer in time; it was interrupted."""


class ProcessDiedError(Exception):
    """The learner's process is gone."""


class KernelLearner(_Proxy):
    """The learner in a process of their own, reached through ``ask(request, timeout_s) -> reply``.

    ``place`` is the checkpoint of the notebook that the functions are seen from. A function that ran out of time is not
    called again: the same wait would repeat for every criterion.
    """

    def __init__(self, ask: Callable[[str, float], str], place: str, timeout_s: float, backend: str = "cpu") -> None:
        self.backend = backend
        self._ask_process = ask
        self._at = place
        self._timeout_s = timeout_s
        self._slow: set[str] = set()

    def _place(self) -> str | None:
        return self._at

    def _ask(self, name: str, request: str) -> str:
        if name in self._slow:
            raise LearnerError(TIMEOUT, name)
        try:
            return self._ask_process(request, self._timeout_s)
        except ProcessTimeoutError:
            self._slow.add(name)
            raise LearnerError(TIMEOUT, name) from None
        except ProcessDiedError:
            raise LearnerError(DIED, name) from None
