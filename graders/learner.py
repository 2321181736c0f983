"""The learner as a check sees them: a proxy that takes and gives plain data, wherever their code runs."""

import secrets
import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from graders.harness import Harness
from graders.learner_error import (
    DIED,
    GARBLED,
    NOT_A_PROGRAM,
    NOT_TRACED,
    NOT_WRITTEN,
    RAISED,
    TIMEOUT,
    TOO_LARGE,
    WRONG_TYPE,
    LearnerError,
)
from graders.plain import PlainDataError, dumps, loads
from graders.printable import plain_text
from graders.program import MAX_PROGRAM, Program, Reader, Spec


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

    def program(
        self, name: str, *args: Any, platform: str = "tpu", chip: str = "v5e", mesh: Mapping[str, int] | None = None
    ) -> Program:
        """The program that JAX makes of ``name`` for ``args`` and a platform, ``"tpu"`` (a ``chip``) or ``"cpu"``.

        Arrays and :class:`~graders.program.Spec` are its arguments, of which only shapes and dtypes count; anything
        else is passed to the function as it is. ``mesh``: axes and sizes of the mesh of devices that it runs on, in
        force while the function is traced, as by ``jax.set_mesh``. Raises :class:`LearnerError`.
        """


class _Proxy:
    """The part that both kinds share: frames out, frames in, types checked."""

    def __init__(self, reader: Reader | None = None) -> None:
        self._reader = reader

    def call(self, name: str, *args: Any, returns: type | None = None, repeat: int = 1) -> Any:
        value = self._answer(name, {"args": list(args), "repeat": repeat})
        if returns is not None and (not isinstance(value, returns) or (returns is int and isinstance(value, bool))):
            raise LearnerError(WRONG_TYPE, name, type_name=_type_name(value), message=returns.__name__)
        return value

    def program(
        self, name: str, *args: Any, platform: str = "tpu", chip: str = "v5e", mesh: Mapping[str, int] | None = None
    ) -> Program:
        if self._reader is None:
            raise ValueError("nothing here reads programs: give the learner a reader")
        arguments = [_spec(one) if isinstance(one, Spec | np.ndarray) else one for one in args]
        trace = {"platform": platform, "chip": chip, "mesh": dict(mesh or {}), "most": MAX_PROGRAM}
        code = self._answer(name, {"args": [_written(one) for one in arguments], "trace": trace})
        if not (isinstance(code, np.ndarray) and code.dtype == np.uint8 and code.ndim == 1):
            raise LearnerError(NOT_A_PROGRAM, name)
        if code.size > MAX_PROGRAM:
            raise LearnerError(TOO_LARGE, name)
        specs = [one for one in arguments if isinstance(one, Spec)]
        return Program(name, code, specs, dict(mesh or {}), platform, self._reader)

    def _answer(self, name: str, asked: Mapping[str, Any]) -> Any:
        nonce = secrets.token_hex(16)
        text = self._ask(name, dumps({"nonce": nonce, "name": name, "at": self._place(), **asked}))
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
        return reply["value"]

    def _place(self) -> str | None:
        return None

    def _ask(self, name: str, request: str) -> str:
        raise NotImplementedError


def _read_error(name: str, error: Any) -> LearnerError:
    match error:
        case {
            "kind": "missing" | "raised" | "not-plain" | "not-traced" | "too-large" as kind,
            "type": str(type_name),
            "message": str(message),
            "line": int(line),
            "code": str(code),
        }:
            # JAX has the starter's exception for what it cannot translate: there the line tells which of the two it is.
            if type_name == "NotImplementedError" and (
                kind == RAISED or (kind == NOT_TRACED and code.startswith("raise NotImplementedError"))
            ):
                kind = NOT_WRITTEN
            return LearnerError(kind, name, type_name[:80], plain_text(message), line, plain_text(code))
    return LearnerError(GARBLED, name)


def _spec(given: "Spec | np.ndarray[Any, Any]") -> Spec:
    """Raises ``ValueError`` for a dtype that JAX would make another of."""
    found = given if isinstance(given, Spec) else Spec(given.shape, given.dtype.name)
    if found.dtype in _NARROWED:
        raise ValueError(f"a program's argument of dtype {found.dtype}: JAX makes 32 bits of it, so ask for these")
    return found


def _written(argument: Any) -> dict[str, Any]:
    """An argument of a function that is to be traced, as the harness takes it."""
    if isinstance(argument, Spec):
        return {"shape": list(argument.shape), "dtype": argument.dtype, "spread": list(argument.spread)}
    return {"value": argument}


_NARROWED = frozenset({"float64", "int64", "uint64"})


def _type_name(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"numpy.ndarray ({value.dtype.name})" if value.ndim else f"numpy.{value.dtype.name}"
    return type(value).__name__


class _ThisProcess:
    """Reads the learner's programs where the learner is: a self-check trusts them, and decides nothing."""

    def ask(self, question: str, *given: Any) -> Any:
        from graders.inspection import answers  # needs jax, which a notebook that traces nothing can do without

        try:
            return getattr(answers, question)(*given)
        except Exception as error:  # of many classes: whatever is wrong with the program
            raise LearnerError(RAISED, message=str(error)) from error


class NamespaceLearner(_Proxy):
    """The learner in this very process: the notebook's self-check. Same frames as the grader, no process between."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        super().__init__(_ThisProcess())
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

    ``place`` is the checkpoint of the notebook that the functions are seen from (``None``: its end). ``reader`` reads
    their programs. A function that ran out of time is not called again: the same wait would repeat for every criterion.
    """

    def __init__(
        self,
        ask: Callable[[str, float], str],
        place: str | None,
        timeout_s: float,
        backend: str = "cpu",
        reader: Reader | None = None,
    ) -> None:
        super().__init__(reader)
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
