"""One transfer between two network namespaces: a program that makes them, measures, prints a line of JSON and ends.

The sender starts the receiver in a first namespace, goes to a second, and lays a veth pair between the two. They agree
over a pipe: who, where to, go, done, counted. When either ends, or whoever started them, the kernel takes all of it
away.
"""

import json
import os
import sys
import time
from dataclasses import asdict
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from tpu_kernels.bench.mortal import die_with
from tpu_kernels.bench.tcp_counters import counters
from tpu_kernels.bench.tcp_namespaces import leave_for_another_network, leave_network
from tpu_kernels.bench.tcp_streams import accept, congestion_control, dial, listener, receive, send
from tpu_kernels.bench.tcp_veth import NAME, bring_up, connect_namespaces

# Addresses of no network (RFC 5737); nobody else is in these namespaces.
SENDER, RECEIVER = "192.0.2.1", "192.0.2.2"


class Job(NamedTuple):
    """``mtu`` in bytes; ``size`` bytes in all, or what goes in ``seconds``; ``parent``: who started this program."""

    mtu: int
    offload: bool
    streams: int
    size: int | None
    seconds: float | None
    parent: int


def main() -> None:
    """Does the job of the first argument. Prints what was measured, or ``refused``: step and errno."""
    job = Job(**json.loads(sys.argv[1]))
    print(json.dumps(transfer(job)))  # noqa: T201 -- what it prints is its result


def transfer(job: Job) -> dict[str, Any]:
    """Sends, in this process and one that it starts. See :func:`main`."""
    fork = get_context("fork")  # the receiver must inherit the namespace, and the right to administer it
    ours, theirs = fork.Pipe()
    step = "namespaces"
    try:
        leave_network()
        die_with(job.parent)
        receiver = fork.Process(target=_receive, args=(theirs, job.streams, os.getpid()), daemon=True)
        receiver.start()
        theirs.close()
        leave_for_another_network()
        step = "veth"
        connect_namespaces(ours.recv(), mtu=job.mtu, offload=job.offload)
    except OSError as error:
        return {"refused": {"step": step, "errno": error.errno}}
    bring_up(SENDER)
    ours.send("connected")
    result = _send(ours, job)
    receiver.join()
    return result


def _send(receiver: Connection, job: Job) -> dict[str, Any]:
    streams = dial((RECEIVER, receiver.recv()), job.streams)
    receiver.recv()  # go: the other side has taken its first counts
    before = counters(NAME)
    start = time.monotonic()
    sent = send(streams, size=job.size, seconds=job.seconds)
    received, theirs = receiver.recv()
    seconds = time.monotonic() - start
    ours = counters(NAME).since(before)
    receiver.send("counted")
    return {
        "seconds": seconds,
        "sent": sent,
        "received": received,
        "congestion_control": congestion_control(streams[0]),
        "sender": asdict(ours),
        "receiver": asdict(theirs),
    }


def _receive(sender: Connection, count: int, parent: int) -> None:
    die_with(parent)
    sender.send(os.getpid())
    sender.recv()  # connected
    bring_up(RECEIVER)
    listening = listener(RECEIVER, count)
    sender.send(listening.getsockname()[1])
    streams = accept(listening, count)
    before = counters(NAME)
    sender.send("go")
    received = receive(streams)
    sender.send((received, counters(NAME).since(before)))
    sender.recv()  # counted: a namespace that ends takes both ends of the pair with it


if __name__ == "__main__":
    main()
