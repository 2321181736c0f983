"""Bytes over several TCP connections at once, as programs move them: a buffer of their own, copied at both ends."""

import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

CHUNK = 128 << 10  # bytes a call: enough that Python's share is small, and a core's cache still holds it
STALLED = 30_000  # milliseconds without an acknowledgement after which a connection is given up

Stream = socket.socket


def dial(address: tuple[str, int], streams: int) -> list[Stream]:
    """``streams`` connections to ``address``."""
    connections = [socket.create_connection(address) for _ in range(streams)]
    for connection in connections:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED)
    return connections


def listener(address: str, streams: int) -> Stream:
    """A socket that waits for ``streams`` connections at ``address``, at a port of the kernel's choice."""
    return socket.create_server((address, 0), backlog=streams)


def accept(listening: Stream, streams: int) -> list[Stream]:
    """The ``streams`` connections that arrive."""
    return [listening.accept()[0] for _ in range(streams)]


def send(streams: Sequence[Stream], *, size: int | None, seconds: float | None) -> int:
    """Sends ``size`` bytes shared among the streams, or for ``seconds``, a buffer on each at least; ends each stream.
    The bytes sent."""
    shares = _equal_shares(size, len(streams)) if size is not None else [None] * len(streams)
    until = None if seconds is None else time.monotonic() + seconds
    return _side_by_side(streams, lambda number: _pour(streams[number], shares[number], until))


def receive(streams: Sequence[Stream]) -> int:
    """Reads every stream to its end. The bytes received."""
    return _side_by_side(streams, lambda number: _drain(streams[number]))


def congestion_control(stream: Stream) -> str:
    """The kernel's algorithm for this connection: ``"cubic"``, ``"bbr"``."""
    return stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()


def _side_by_side(streams: Sequence[Stream], work: Callable[[int], int]) -> int:
    """One thread a stream: in the calls that move bytes, Python's lock is free."""
    with ThreadPoolExecutor(len(streams)) as pool:
        return sum(pool.map(work, range(len(streams))))


def _pour(stream: Stream, share: int | None, until: float | None) -> int:
    chunk = memoryview(bytearray(CHUNK))
    sent = 0
    while (share is None or sent < share) and (until is None or not sent or time.monotonic() < until):
        part = CHUNK if share is None else min(CHUNK, share - sent)
        stream.sendall(chunk[:part])
        sent += part
    stream.shutdown(socket.SHUT_WR)
    return sent


def _drain(stream: Stream) -> int:
    buffer = bytearray(CHUNK)
    received = 0
    while size := stream.recv_into(buffer):
        received += size
    return received


def _equal_shares(size: int, streams: int) -> list[int | None]:
    each, rest = divmod(size, streams)
    return [each + (number < rest) for number in range(streams)]
