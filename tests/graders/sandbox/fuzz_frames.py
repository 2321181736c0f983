"""Throws random and spoilt bytes at what reads a learner's process: ``python -m tests.graders.sandbox.fuzz_frames``.

Each input is the bytes of a connection: it goes through the decoder in two pieces, each frame through the reader of its
kind, and replies through the reader of plain data. Anything but a value or the error that each of them promises ends
the run with exit status 1, the seed and the input.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from graders.plain import Limits, PlainDataError, dumps, loads
from graders.sandbox.frames import (
    HEADER,
    Decoder,
    FrameError,
    Kind,
    encode,
    encode_plain,
    read_done,
    read_ready,
    read_shown,
)

CAPS = {Kind.READY: 2**16, Kind.SHOWN: 2**16, Kind.DONE: 2**10, Kind.REPLY: 2**16}
SMALL = Limits(max_bytes=2**15, max_items=200, max_depth=12)
REPORT_EVERY = 100_000

SAMPLES = [
    encode_plain(Kind.READY, [""]),
    encode_plain(Kind.DONE, [1, 0, 12, "ok"]),
    encode_plain(Kind.SHOWN, [2, 3, 4, "stream", {}]),
    encode_plain(Kind.SHOWN, [1, 3, 4, "display_data", {"data": {"text/plain": "hola", "image/png": "iVBORw0="}}]),
    encode_plain(Kind.SHOWN, [1, 0, 0, "error", {"ename": "E", "evalue": "v", "traceback": ["una", "otra"]}]),
    *(
        encode(Kind.REPLY, dumps({"nonce": "00", "value": value}).encode("ascii"))
        for value in (
            None,
            True,
            -12345678901234567890,
            1.5e-300,
            "é𝔽",
            [[1, 2.0], [], {"a": None}],
            np.arange(6, dtype=np.int16).reshape(2, 3),
            np.array([True, False]),
            np.float16(2.5),
            np.zeros((0, 3)),
        )
    ),
]
# Pieces of the form itself: they get past the first gate more often than random bytes do.
PIECES = [
    *(b'["none"]', b'["int","', b'["float","0x1.8p+1"]', b'["array","float32",[2],"', b'["dict",[[', b'["list",['),
    *(b"]]", b'"]', b"NaN", b"-0", b"1e999", b"\\ud800", b"\\u0000", b'["bool",1]', b"null", b"{}", b"9" * 40, b'"'),
    *(b'["array","bool",[2],"AgI="]', b'["array","float8_e5m2",[1],"AA=="]', b'["array","int8",[-1],""]'),
    *(b"[" * 30, b"]" * 30, b"\xff\xfe"),
]


def inputs(numbers: random.Random) -> Iterator[bytes]:
    """Endless inputs: random bytes, frames of random bodies, and spoilt copies of sound frames."""
    ways: list[Callable[[random.Random], bytes]] = [
        _noise,
        _framed_noise,
        _framed_pieces,
        _spoilt,
        _spoilt,
        _spoilt_body,
    ]
    while True:
        yield numbers.choice(ways)(numbers)


def attempt(data: bytes) -> str:
    """Read ``data`` as the judge would: ``read``, ``refused`` or ``incomplete``. Raises what no reader may raise."""
    decoder = Decoder()
    half = len(data) // 2
    found = "incomplete"
    for piece in (data[:half], data[half:]):
        decoder.feed(piece)
        try:
            while (frame := decoder.take(CAPS)) is not None:
                _read(*frame)
                found = "read"
        except (FrameError, PlainDataError):
            return "refused"
    return found


def _read(kind: Kind, body: bytes) -> None:
    if kind is Kind.READY:
        read_ready(body)
    elif kind is Kind.SHOWN:
        read_shown(body)
    elif kind is Kind.DONE:
        read_done(body)
    else:
        value = loads(body.decode("ascii", "replace"), SMALL)
        dumps(value)  # what was read is plain data, so it can be said again


def _noise(numbers: random.Random) -> bytes:
    return numbers.randbytes(numbers.randrange(40))


def _framed_noise(numbers: random.Random) -> bytes:
    return encode(numbers.choice(list(CAPS)), numbers.randbytes(numbers.randrange(60)))


def _framed_pieces(numbers: random.Random) -> bytes:
    body = b",".join(numbers.choices(PIECES, k=numbers.randrange(1, 8)))
    return encode(numbers.choice(list(CAPS)), numbers.choice((body, b"[" + body + b"]")))


def _spoilt(numbers: random.Random) -> bytes:
    return _changed(numbers, numbers.choice(SAMPLES))


def _spoilt_body(numbers: random.Random) -> bytes:
    """The length is right again, so the body's reader sees what was spoilt."""
    sample = numbers.choice(SAMPLES)
    return encode(Kind(sample[HEADER.size - 1]), _changed(numbers, sample[HEADER.size :]))


def _changed(numbers: random.Random, sound: bytes) -> bytes:
    data = bytearray(sound)
    for _ in range(numbers.randrange(5)):
        at = numbers.randrange(len(data) + 1)
        match numbers.randrange(5):
            case 0 if at < len(data):
                data[at] = numbers.randrange(256)
            case 1:
                data[at:at] = numbers.choice(PIECES)
            case 2:
                del data[at : at + numbers.randrange(1, 8)]
            case 3:
                start = numbers.randrange(len(data) + 1)
                data[at:at] = data[start : start + numbers.randrange(1, 16)]
            case _:
                data[at : at + 1] = numbers.choice((b"0", b"9", b'"', b"[", b"]", b"{", b",", b"\\"))
    return bytes(data)


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the frames and the plain data of a learner's process.")
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    outcomes: Counter[str] = Counter()
    began = time.monotonic()
    for number, data in enumerate(inputs(random.Random(asked.seed)), start=1):
        if number > asked.inputs:
            break
        try:
            outcomes[attempt(data)] += 1
        except BaseException:
            sys.stderr.write(f"seed {asked.seed}, input {number}: {data!r}\n")
            raise
        if number % REPORT_EVERY == 0:
            seconds = time.monotonic() - began
            sys.stdout.write(f"{number} of {asked.inputs} in {seconds:.0f} s: {dict(sorted(outcomes.items()))}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{sum(outcomes.values())} inputs, seed {asked.seed}: {dict(sorted(outcomes.items()))}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
