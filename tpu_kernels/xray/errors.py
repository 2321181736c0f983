"""What an X-ray raises: always an :class:`XrayError`, with a message for the learner and the compiler's original."""

from tpu_kernels.phrases import phrase


class XrayError(RuntimeError):
    """There is no report. The message says what happened and what to do; ``original`` is the compiler's own text."""

    def __init__(self, message: str, original: str = "") -> None:
        super().__init__(message)
        self.original = original

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the message is for the learner, and a traceback through here would bury it."""
        return [f"{type(self).__name__}: {self}"]


class MissingCompilerError(XrayError):
    """libtpu, the compiler, is not installed."""


class UnknownTargetError(XrayError, ValueError):
    """A generation or a slice that the compiler does not know."""


class ProgramError(XrayError):
    """What was given is no program that can be compiled for a TPU."""


class FlagError(XrayError, ValueError):
    """What was given as an option for the compiler is not written as one."""


class CompileError(XrayError):
    """The compiler, or the lowering before it, refuses the program.

    ``kind`` is what it is about: ``"vmem"``, ``"smem"``, ``"hbm"``, ``"semaphores"``, ``"block"``, ``"dtype"``,
    ``"operation"``, ``"grid"`` or ``"other"``. ``got`` and ``limit`` are the two numbers, in bytes or as written, where
    there are any; ``where`` is the learner's line, as ``kernel.py:12``, where it is known.
    """

    def __init__(
        self,
        message: str,
        original: str,
        kind: str,
        *,
        got: int | None = None,
        limit: int | None = None,
        where: str | None = None,
    ) -> None:
        super().__init__(message, original)
        self.kind = kind
        self.got = got
        self.limit = limit
        self.where = where


class LimitError(XrayError):
    """The compiler took more time or memory than it was allowed, or died."""


class DumpError(XrayError):
    """The compiler's dump is not in the form that is known here, or contradicts itself: nothing is reported.

    ``fault`` says, in English, what was found where something else was expected.
    """

    def __init__(self, fault: str) -> None:
        super().__init__(phrase("xray.dump", fault=fault))
        self.fault = fault
