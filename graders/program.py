"""A learner's function as the program that JAX makes of it, for checks that ask how it computes, not only what.

A program is bytes that the learner's process sent, so it proves nothing by itself: whoever rewrites the harness there
can send any program. It is read in a process that holds none of the learner's code and no expected value
(:mod:`graders.inspector`), and it counts for what it is, not for where it comes from:

- **Bind it to the answer.** :meth:`Program.call` carries that very program out, on inputs that are drawn after it was
  sent. One that gives right results for them is a right program, whichever function it was made of; one that was made
  only to be counted gives wrong ones. This holds for a TPU's programs too: their Pallas kernels are carried out from
  the code that is in the program. A check that counts and never calls can be cheated.
- **Ask from both sides.** Only what results depend on is counted, but ``dot(a, b) + 0 * kernel(a, b)`` does depend on
  its kernel. So a check that wants a kernel also wants ``count("dot_general") == 0``, and one that wants few bytes sent
  also wants no more FLOP.
- **What is left to a liar.** A TPU's program is carried out with numpy's arithmetic, one thing after another: a kernel
  that reads a copy before it has arrived passes here, and computes wrong values on a TPU. A program that takes over the
  process that reads it could lie about what is counted, for that learner alone; it stays as confined as a learner's
  code. A program that cannot be carried out (several TPU devices, an operation unknown here) is tied to the exercise by
  its arguments and by what the compiler says (:meth:`Program.xray`) alone: ask for the same function on a CPU as well.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from graders.learner_error import (
    COSTLY,
    DIED,
    GARBLED,
    NOT_A_PROGRAM,
    PROGRAM_FAILED,
    RAISED,
    REFUSED,
    TIMEOUT,
    UNKNOWN_PART,
    LearnerError,
)

MAX_PROGRAM = 16 * 2**20  # bytes; a lab's own are a few thousand

Array = np.ndarray[Any, Any]


class MissingCompilerError(Exception):
    """The machine that grades has no TPU compiler: nothing of the learner's."""


class Reader(Protocol):
    """Where programs are read: :class:`graders.inspector.Inspector`, or the notebook itself for a self-check."""

    def ask(self, question: str, *given: Any) -> Any:
        """The answer of a function of :mod:`graders.inspection.answers`. Raises :class:`LearnerError`."""


@dataclass(frozen=True)
class Spec:
    """An array by shape and dtype; ``spread`` names for each dimension the axis of the mesh that it is cut along."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    spread: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class Collective:
    """An exchange between devices, written ``count`` times; one device gives ``bytes`` to it each time."""

    kind: str
    bytes: int
    count: int


class Program:
    """What can be asked about one program."""

    def __init__(
        self, function: str, code: Array, specs: Sequence[Spec], mesh: Mapping[str, int], platform: str, reader: Reader
    ) -> None:
        """Raises :class:`LearnerError` when ``code`` is no program for arguments like ``specs``."""
        self._function = function
        self._code = code
        self._specs = tuple(Spec(one.shape, one.dtype) for one in specs)
        self._mesh = dict(mesh)
        self._reader = reader
        self._found = _Found.read(self._ask({RAISED: NOT_A_PROGRAM, DIED: NOT_A_PROGRAM}, "inspect", code))
        if self._found is None or self._found.is_for != (self._specs, math.prod(self._mesh.values()), [platform]):
            raise self._no_program()

    def count(self, operation: str) -> int:
        """How often an operation of StableHLO is written, as ``"dot_general"``; what is in a kernel does not count."""
        return self._known.operations.get(operation, 0)

    @property
    def kernels(self) -> dict[str, int]:
        """The Pallas kernels for a TPU by name, and how often each is called."""
        return dict(self._known.kernels)

    @property
    def flops(self) -> int | None:
        """Of products of matrices, kernels' included, as written for one run; ``None`` when it depends on data."""
        return self._known.flops

    @property
    def collectives(self) -> tuple[Collective, ...]:
        """The exchanges that the program asks for; those that the compiler adds are in an X-ray."""
        return self._known.collectives

    @property
    def largest_constant(self) -> int:
        """Bytes of the largest array that is written out in the program."""
        return self._known.constant

    @property
    def results(self) -> tuple[Spec, ...]:
        return self._known.results

    def call(self, *arguments: Array) -> Any:
        """What the program gives for these arrays: an array, or a list of them when it has several results.

        Raises ``ValueError`` for arrays that the program is not for, :class:`LearnerError` when it gives none.
        """
        given = [(one.shape, one.dtype.name) for one in arguments]
        if given != [(one.shape, one.dtype) for one in self._specs]:
            raise ValueError(f"arguments {given} for a program that takes {[(s.shape, s.dtype) for s in self._specs]}")
        match self._ask({RAISED: PROGRAM_FAILED, DIED: COSTLY}, "call", self._code, list(arguments), self._mesh):
            case {"unknown": str(what)}:
                raise LearnerError(UNKNOWN_PART, self._function, message=what)
            case {"values": list(values)} if all(isinstance(one, np.ndarray) for one in values):
                return values[0] if len(values) == 1 else values
        raise self._no_program()

    def xray(self, chip: str = "v5e", topology: str | None = None) -> dict[str, Any]:
        """What the TPU's compiler says of the program, as :meth:`tpu_kernels.xray.report.Report.to_dict` has it.

        Cycles are under ``["cycles"]["value"]``, ``None`` when not known; FLOP are in :attr:`flops` only. ``topology``
        is a slice, for a program for several devices. Raises :class:`LearnerError` when the compiler refuses the
        program, and :class:`MissingCompilerError` where there is no compiler.
        """
        match self._ask({RAISED: COSTLY, DIED: COSTLY}, "xray", self._code, chip, topology, self._mesh):
            case {"missing": str(why)}:
                raise MissingCompilerError(why)
            case {"refused": str(why)}:
                raise LearnerError(REFUSED, self._function, message=why)
            case {"report": dict(report)}:
                return report
        raise self._no_program()

    @property
    def _known(self) -> "_Found":
        assert self._found is not None
        return self._found

    def _ask(self, meanings: Mapping[str, str], question: str, *given: Any) -> Any:
        """``meanings``: what it means for the program when the reader fails at this question, by kind of failure."""
        try:
            return self._reader.ask(question, *given)
        except LearnerError as error:
            kind = {TIMEOUT: COSTLY, GARBLED: NOT_A_PROGRAM, **meanings}.get(error.kind, error.kind)
            raise LearnerError(kind, self._function, message=error.message) from None

    def _no_program(self) -> LearnerError:
        return LearnerError(NOT_A_PROGRAM, self._function)


@dataclass(frozen=True)
class _Found:
    """The answer to ``inspect``, every part of it of the type that it must have."""

    platforms: list[Any]
    devices: int
    arguments: tuple[Spec, ...]
    results: tuple[Spec, ...]
    operations: Mapping[str, int]
    kernels: Mapping[str, int]
    collectives: tuple[Collective, ...]
    flops: int | None
    constant: int

    @property
    def is_for(self) -> tuple[tuple[Spec, ...], int, list[Any]]:
        """Arguments, devices and platforms."""
        return self.arguments, self.devices, self.platforms

    @classmethod
    def read(cls, answer: Any) -> "_Found | None":
        """``None`` for an answer that is none: whatever took over the process that gave it."""
        match answer:
            case {
                "platforms": list(platforms),
                "devices": int(devices),
                "arguments": list(arguments),
                "results": list(results),
                "operations": dict(operations),
                "kernels": dict(kernels),
                "collectives": list(collectives),
                "flops": int() | None as flops,
                "constant": int(constant),
            } if all(isinstance(count, int) for count in (*operations.values(), *kernels.values())):
                taken, given = _specs(arguments), _specs(results)
                exchanged = [Collective(*one) for one in collectives if _is_collective(one)]
                if taken is None or given is None or len(exchanged) != len(collectives):
                    return None
                return cls(platforms, devices, taken, given, operations, kernels, tuple(exchanged), flops, constant)
        return None


def _specs(pairs: list[Any]) -> tuple[Spec, ...] | None:
    found = []
    for pair in pairs:
        match pair:
            case [list(shape), str(dtype)] if all(isinstance(side, int) for side in shape):
                found.append(Spec(tuple(shape), dtype))
            case _:
                return None
    return tuple(found)


def _is_collective(one: Any) -> bool:
    match one:
        case [str(), int(), int()]:
            return True
    return False
