"""What one page holds, as the parity gate compares it: things in order, things in any order, and prose.

Built from the MyST token stream by :mod:`sistolica.check.page_reader`; two pages meet in
:mod:`sistolica.check.parity`.
"""

from dataclasses import dataclass, field
from pathlib import Path

from sistolica.check.numerals import numerals
from sistolica.check.passage import Passage

_SHOWN = 80  # letters of a long equation or code block that a report shows


@dataclass(frozen=True)
class Item:
    """One thing on a page. Two items are peers when ``kind`` and ``key`` are equal.

    ``alt`` is the text alternative of something that shows an image, ``needs_alt`` when it must have one; ``options``
    are a directive's, without their prose, and must be equal between peers.
    """

    kind: str
    key: str
    line: int
    alt: str | None = None
    needs_alt: bool = False
    options: str = ""

    @property
    def identity(self) -> tuple[str, str]:
        return self.kind, self.key

    def __str__(self) -> str:
        words = " ".join(self.key.split())
        return f"{self.kind} {words if len(words) <= _SHOWN else words[: _SHOWN - 1] + '…'}"


@dataclass(frozen=True)
class Heading:
    """A heading; ``labels`` are the explicit ones right above it."""

    level: int
    text: str
    line: int
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Reference:
    """A pointer to somewhere in the course: a label (``#name``) or another page's file."""

    target: str
    line: int


@dataclass
class Page:
    """One page in one language.

    ``skeleton`` must come in the same order in both languages; ``inline`` holds what a rewritten sentence may move:
    equations, roles, citations, footnotes; ``links`` count once however often a page repeats them. ``title`` is what
    reports call it when it is only a part of its file.
    """

    path: Path
    title: str = ""
    skeleton: list[Item] = field(default_factory=list)
    inline: list[Item] = field(default_factory=list)
    links: list[Item] = field(default_factory=list)
    labels: list[Item] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    unreadable: list[Item] = field(default_factory=list)

    def of_kind(self, kind: str) -> list[Item]:
        """The skeleton's items of one kind, in order."""
        return [item for item in self.skeleton if item.kind == kind]

    def numbers(self) -> list[Item]:
        """Every number typed in the prose, in order."""
        return [
            Item("number", number.value, passage.line_at(number.offset))
            for passage in self.passages
            for number in numerals(passage.text)
        ]
