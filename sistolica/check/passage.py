"""Passages: runs of prose as a reader sees them, with the line each letter came from.

Code, mathematics, roles and bare addresses leave one :data:`OPAQUE` character behind, so that words on both sides of
them never meet and nothing inside them is taken for prose.
"""

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass

OPAQUE = "\ufffc"
_ZERO_WIDTH = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_INLINE_CODE = re.compile(r"(`+)(?:.+?)\1|\{[^{}]*\}", re.DOTALL)


@dataclass(frozen=True)
class Passage:
    """One run of prose. ``where`` says what it is: text, heading, alt, message, comment, title.

    ``starts`` holds (offset, line) pairs; ``foreign`` holds the (start, end) offsets that are set apart as another
    language's: italics, a ``lang`` span, the title of an outside page that a link shows.
    """

    text: str
    where: str
    starts: tuple[tuple[int, int], ...]
    foreign: tuple[tuple[int, int], ...] = ()

    @property
    def line(self) -> int:
        return self.starts[0][1]

    def line_at(self, offset: int) -> int:
        """The line of the source that holds the letter at ``offset``."""
        return self.starts[bisect_right(self.starts, offset, key=lambda start: start[0]) - 1][1]

    def set_apart(self, start: int, end: int) -> bool:
        """Whether the whole stretch is marked as another language's."""
        return any(first <= start and end <= last for first, last in self.foreign)


class PassageWriter:
    """Builds one passage from pieces."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._starts: list[tuple[int, int]] = []
        self._open: list[int] = []
        self._foreign: list[tuple[int, int]] = []

    def write(self, text: str, line: int) -> None:
        """Add text that stands on ``line``."""
        text = _ZERO_WIDTH.sub("", unicodedata.normalize("NFC", text))
        if not self._starts or self._starts[-1][1] != line:
            self._starts.append((self._length, line))
        self._pieces.append(text)
        self._length += len(text)

    def open_foreign(self) -> None:
        self._open.append(self._length)

    def close_foreign(self) -> None:
        if self._open:
            self._foreign.append((self._open.pop(), self._length))

    def passage(self, where: str) -> Passage | None:
        """The passage, or ``None`` when nothing readable was written."""
        text = "".join(self._pieces)
        if not text.replace(OPAQUE, "").strip():
            return None
        return Passage(text, where, tuple(self._starts), tuple(self._foreign))


def plain_passage(text: str, where: str, line: int) -> Passage | None:
    """A passage from text without markup: backticked code and ``{placeholders}`` are opaque, each line break counts."""
    masked = _INLINE_CODE.sub(lambda code: OPAQUE + "\n" * code.group().count("\n"), text)
    writer = PassageWriter()
    for offset, piece in enumerate(masked.split("\n")):
        writer.write(piece if offset == 0 else f" {piece}", line + offset)
    return writer.passage(where)
