"""Frames between the judge and a learner's process: a length, a kind, and a body.

What the learner's process sends is plain data. The judge says beforehand which kinds may come and how long each may be,
so a length is believed only as far as that; anything else is a :class:`FrameError`, after which nothing more can be
read from that process.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from graders.plain import Limits, PlainDataError, dumps, loads


class Kind(IntEnum):
    """What a frame is: to the learner's process up to ``ASK``, from it after that."""

    FILE = 1  # path in the learner's folder, a zero byte, content
    SET_UP = 2  # notice of a command left out
    CELL = 3  # source
    CHECKPOINT = 4  # key
    ASK = 5  # a request of the harness: plain data
    READY = 6  # [what went wrong, or nothing]
    SHOWN = 7  # [1 or 2, written to 1, written to 2, kind of output, content]
    DONE = 8  # [1 or 2, written to 1, written to 2, "ok" or "error"]
    REPLY = 9  # the harness's reply: plain data, for others to read


HEADER = struct.Struct("!IB")  # length of what follows it, kind

MAX_SHOWN_TEXT = 2**20  # characters of one representation; far more than is kept of it
_SHOWN = Limits(max_bytes=8 * 2**20, max_items=2_000, max_depth=6, max_digits=20, max_dimensions=0)
_SMALL = Limits(max_bytes=2**10, max_items=10, max_depth=2, max_digits=20, max_dimensions=0)

# What a learner's process may send while it is asked for each answer, and how many bytes of it. JSON writes a character
# outside ASCII in six bytes, or in twelve.
WHILE_STARTING = {Kind.READY: 2**16}
WHILE_RUNNING = {Kind.SHOWN: 2 * _SHOWN.max_bytes, Kind.DONE: 2**10}
WHILE_ASKED = {Kind.SHOWN: 2 * _SHOWN.max_bytes, Kind.REPLY: 100 * 2**20}

_DISPLAYS = ("display_data", "execute_result")


class FrameError(Exception):
    """Bytes that are no frame, or a frame that may not come now or is not what its kind promises."""


@dataclass(frozen=True)
class Mark:
    """How many bytes stood in the files behind descriptors 1 and 2, and which grew ``first`` since the last mark."""

    first: int
    out: int
    err: int


@dataclass(frozen=True)
class Shown:
    """An output, and what had been written when it was made.

    ``kind`` as in Jupyter's messages, or ``"stream"``: no output, only the mark.
    """

    mark: Mark
    kind: str
    content: dict[str, Any]


def encode(kind: Kind, body: bytes) -> bytes:
    """The frame's bytes."""
    return HEADER.pack(len(body), kind) + body


def encode_text(kind: Kind, text: str) -> bytes:
    """A frame whose body is ``text``; what is not valid Unicode becomes question marks."""
    return encode(kind, text.encode("utf-8", "replace"))


def encode_plain(kind: Kind, value: list[Any]) -> bytes:
    """A frame whose body is ``value``. Raises :class:`~graders.plain.PlainDataError`."""
    return encode(kind, dumps(value).encode("ascii"))


class Decoder:
    """Cuts what arrives, in whatever pieces, into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Take bytes as they come."""
        self._buffer += data

    def take(self, caps: Mapping[Kind, int]) -> tuple[Kind, bytes] | None:
        """The next frame, or ``None`` until more arrives. Raises :class:`FrameError` for what ``caps`` forbid."""
        buffer = self._buffer
        if len(buffer) < HEADER.size:
            return None
        length, number = HEADER.unpack_from(buffer)
        most = caps.get(number, -1)
        if length > most:
            raise FrameError(f"frame of kind {number} and {length} bytes: at most {most} may come now")
        end = HEADER.size + length
        if len(buffer) < end:
            return None
        body = bytes(memoryview(buffer)[HEADER.size : end])
        del buffer[:end]
        return Kind(number), body


def read_shown(body: bytes) -> Shown:
    """The output in a ``SHOWN`` frame. Raises :class:`FrameError`."""
    match _plain(body, _SHOWN):
        case [int(first), int(out), int(err), "stream", {**rest}] if not rest:
            return Shown(Mark(first, out, err), "stream", {})
        case [int(first), int(out), int(err), str(kind), {"data": {**data}, **rest}] if kind in _DISPLAYS and not rest:
            if all(isinstance(value, str) for value in data.values()):
                return Shown(Mark(first, out, err), kind, {"data": data})
        case [
            int(first),
            int(out),
            int(err),
            "error",
            {"ename": str(name), "evalue": str(value), "traceback": [*lines], **rest},
        ] if not rest and all(isinstance(line, str) for line in lines):
            return Shown(Mark(first, out, err), "error", {"ename": name, "evalue": value, "traceback": lines})
    raise FrameError("an output that is none")


def read_done(body: bytes) -> tuple[Mark, str]:
    """What had been written when a cell ended, and how it ended. Raises :class:`FrameError`."""
    match _plain(body, _SMALL):
        case [int(first), int(out), int(err), "ok" | "error" as status]:
            return Mark(first, out, err), status
    raise FrameError("an end of a cell that is none")


def read_ready(body: bytes) -> str:
    """Why the process could not be made ready, or nothing. Raises :class:`FrameError`."""
    match _plain(body, Limits(max_bytes=2**16, max_items=10)):
        case [str(reason)]:
            return reason
    raise FrameError("a readiness that is none")


def _plain(body: bytes, limits: Limits) -> Any:
    try:
        return loads(body.decode("ascii"), limits)
    except (UnicodeDecodeError, PlainDataError) as error:
        raise FrameError(str(error)) from None
