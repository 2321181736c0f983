"""Something that a reader should know about the machine, and what to do about it."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """``kind`` is for programs, ``message`` and ``cure`` for people, in the language that was in force."""

    kind: str
    severity: Severity
    message: str
    cure: str

    @property
    def line(self) -> str:
        """Message and cure as an exception's text."""
        return f"{self.message} {self.cure}"
