"""What the checks report: faults with their place and cure, and counts of what was looked at."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, order=True)
class Fault:
    """One thing that is wrong: where it is, what was got, what was expected, what to do.

    ``file`` is relative to the root of the course, ``line`` counts from 1. Faults sort by place.
    """

    file: str
    line: int
    kind: str
    got: str
    expected: str
    cure: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}: got {self.got}; expected {self.expected}. {self.cure}."


@dataclass(frozen=True)
class Outcome:
    """The result of a run: how many things of each kind were compared, and every fault, in a stable order."""

    counts: Mapping[str, int]
    faults: tuple[Fault, ...]

    @property
    def sound(self) -> bool:
        return not self.faults


@dataclass
class Findings:
    """Where the checks of one run write what they find; paths come out relative to ``root``."""

    root: Path
    _counts: Counter[str] = field(default_factory=Counter)
    _faults: set[Fault] = field(default_factory=set)

    def count(self, what: str, number: int = 1) -> None:
        self._counts[what] += number

    def add(self, kind: str, path: Path, line: int, *, got: str, expected: str, cure: str) -> None:
        self._faults.add(Fault(self.name(path), line, kind, got, expected, cure))

    def name(self, path: Path) -> str:
        """The path as a report shows it."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.as_posix()

    def outcome(self) -> Outcome:
        return Outcome(dict(sorted(self._counts.items())), tuple(sorted(self._faults)))
