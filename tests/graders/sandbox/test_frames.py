"""Frames: what is sent arrives whatever the pieces; what is no frame is refused, and nothing else happens."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.plain import dumps
from graders.sandbox.frames import (
    HEADER,
    WHILE_ASKED,
    WHILE_RUNNING,
    Decoder,
    FrameError,
    Kind,
    Mark,
    Shown,
    encode,
    encode_plain,
    encode_text,
    read_done,
    read_ready,
    read_shown,
)
from tests.graders.sandbox.fuzz_frames import attempt, inputs

ANY = dict.fromkeys(Kind, 2**20)


def body_of(frame):
    return frame[HEADER.size :]


def shown(*value):
    return dumps(list(value)).encode("ascii")


@given(st.lists(st.tuples(st.sampled_from(Kind), st.binary(max_size=200)), max_size=8), st.data())
@settings(max_examples=60, deadline=None)
def test_frames_arrive_in_whatever_pieces(sent, data):
    stream = b"".join(encode(kind, body) for kind, body in sent)
    decoder, got = Decoder(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        decoder.feed(stream[:size])
        stream = stream[size:]
        while (frame := decoder.take(ANY)) is not None:
            got.append(frame)
    assert got == sent


def test_a_length_is_believed_up_to_the_cap_of_its_kind():
    for size in (2**10, 2**10 + 1):
        decoder = Decoder()
        decoder.feed(HEADER.pack(size, Kind.DONE))
        if size == 2**10:
            assert decoder.take(WHILE_RUNNING) is None
        else:
            with pytest.raises(FrameError, match="at most 1024"):
                decoder.take(WHILE_RUNNING)


@pytest.mark.parametrize("kind", [Kind.CELL, Kind.READY, Kind.REPLY, 0, 77, 255])
def test_a_kind_that_may_not_come_now_is_refused(kind):
    decoder = Decoder()
    decoder.feed(HEADER.pack(0, kind))
    with pytest.raises(FrameError):
        decoder.take(WHILE_RUNNING)


def test_text_that_is_no_unicode_still_travels():
    assert body_of(encode_text(Kind.CELL, "a\ud800b")) == b"a?b"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (shown(1, 3, 0, "stream", {}), Shown(Mark(1, 3, 0), "stream", {})),
        (
            shown(2, 0, 9, "display_data", {"data": {"text/plain": "x"}}),
            Shown(Mark(2, 0, 9), "display_data", {"data": {"text/plain": "x"}}),
        ),
        (
            shown(1, 0, 0, "error", {"ename": "E", "evalue": "v", "traceback": ["l"]}),
            Shown(Mark(1, 0, 0), "error", {"ename": "E", "evalue": "v", "traceback": ["l"]}),
        ),
    ],
)
def test_outputs_are_read(body, expected):
    assert read_shown(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[]",
        shown(),
        shown(1, 1, 2, "stream"),
        shown(1, 1, 2, "stream", {"more": 1}),
        shown(1, "1", 2, "stream", {}),
        shown(1, 1, 2, "clear_output", {}),
        shown(1, 1, 2, "display_data", {"data": {"text/plain": 1}}),
        shown(1, 1, 2, "display_data", {"data": {}, "metadata": {}}),
        shown(1, 1, 2, "display_data", {"data": ["text/plain"]}),
        shown(1, 1, 2, "error", {"ename": "E", "evalue": "v", "traceback": "l"}),
        shown(1, 1, 2, "error", {"ename": "E", "evalue": "v", "traceback": [1]}),
        shown(1, 1, 2, "display_data", {"data": {str(number): "x" for number in range(3_000)}}),
    ],
)
def test_what_is_no_output_is_refused(body):
    with pytest.raises(FrameError):
        read_shown(body)


def test_ends_and_readiness_are_read_or_refused():
    assert read_done(body_of(encode_plain(Kind.DONE, [2, 1, 2, "ok"]))) == (Mark(2, 1, 2), "ok")
    assert read_ready(body_of(encode_plain(Kind.READY, ["reason"]))) == "reason"
    for value in ([1, 1, 2, "fine"], [1, 2, "ok"], [], [1, 1, 2, "ok", 3]):
        with pytest.raises(FrameError):
            read_done(body_of(encode_plain(Kind.DONE, value)))
    with pytest.raises(FrameError):
        read_ready(body_of(encode_plain(Kind.READY, [1])))


def test_whatever_arrives_is_read_or_refused():
    """A few thousand of what ``fuzz_frames`` throws by the million."""
    outcomes = [attempt(data) for _, data in zip(range(4_000), inputs(random.Random(5)), strict=False)]
    assert set(outcomes) == {"read", "refused", "incomplete"}


def test_a_reply_may_be_as_large_as_plain_data():
    assert WHILE_ASKED[Kind.REPLY] > 2 * 32 * 2**20
