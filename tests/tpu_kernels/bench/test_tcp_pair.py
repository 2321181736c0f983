"""Transfers for real, in namespaces that this machine makes; nothing of them is left, whoever is killed."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tpu_kernels.__main__ import app
from tpu_kernels.bench.tcp import Case, Row, transfer
from tpu_kernels.bench.tcp_refusal import NamespacesRefusedError

SIZE = 1_000_000
COMMAND = [sys.executable, "-m", "tpu_kernels", "bench", "tcp"]
# A user namespace in which no further namespaces are allowed: root has no more rights there than anybody.
CLOSED = """
from pathlib import Path
from tpu_kernels.bench.tcp_namespaces import leave_network
leave_network()
for switch in ("max_user_namespaces", "max_net_namespaces"):
    Path("/proc/sys/user", switch).write_text("0")
from tpu_kernels.__main__ import main
main()
"""
# Here the program has root's rights over the namespace that it is in, and may make no other user namespace.
ONLY_ROOT = """
from pathlib import Path
from tpu_kernels.bench.tcp_namespaces import leave_network
network = Path("/proc/self/ns/net")
leave_network()
Path("/proc/sys/user/max_user_namespaces").write_text("0")
before = network.readlink()
leave_network()
print(network.readlink() != before)
"""

# The sender waits for the receiver to end before its last count: a second in vain, as it should be.
COUNTS_LATE = """
import json, multiprocessing, os, sys
from tpu_kernels.bench import tcp_pair
count, sender, counts = tcp_pair.counters, os.getpid(), []

def late(device):
    if os.getpid() == sender and counts:
        for receiver in multiprocessing.active_children():
            receiver.join(1)
        assert multiprocessing.active_children(), "the receiver took the device with it"
    counts.append(device)
    return count(device)

tcp_pair.counters = late
tcp_pair.main()
"""


@pytest.fixture(scope="module", autouse=True)
def namespaces_allowed():
    try:
        transfer(Case(1500, True, 1), size=1, seconds=None)
    except NamespacesRefusedError as refused:
        pytest.skip(str(refused))


@pytest.mark.parametrize("streams", [1, 3])
def test_every_byte_arrives_in_packets_of_the_mtu(streams):
    case = Case(1500, False, streams)
    row = Row(case, transfer(case, size=SIZE, seconds=None), ())
    assert row.transfer.received == SIZE
    assert row.transfer.sender.packets_sent >= SIZE / row.model.payload
    assert row.bytes_per_packet <= 1514
    assert row.model.payload / 2 < row.payload_per_packet <= row.model.payload
    assert row.efficiency <= row.model.efficiency


def test_only_with_offload_are_segments_handed_over_together():
    together, alone = (transfer(Case(1500, offload, 1), size=SIZE, seconds=None).sender for offload in (True, False))
    assert together.packets_sent < together.segments_sent
    assert alone.packets_sent >= alone.segments_sent >= SIZE / 1448


def test_a_larger_mtu_takes_fewer_packets():
    small, large = (transfer(Case(mtu, False, 1), size=SIZE, seconds=None).sender for mtu in (1500, 9000))
    assert large.packets_sent < small.packets_sent / 3


def test_both_ends_count_and_pay():
    found = transfer(Case(9000, False, 1), size=8 * SIZE, seconds=None)
    assert found.receiver.bytes_received >= 8 * SIZE
    assert min(found.receiver.packets_sent, found.sender.packets_received) > 0
    assert min(found.sender.cpu_seconds, found.receiver.cpu_seconds) > 0


def test_the_device_stays_until_the_sender_has_counted():
    """A namespace goes with its last process, and takes both ends of the pair."""
    job = {"mtu": 1500, "offload": False, "streams": 1, "size": 1000, "seconds": None, "parent": os.getpid()}
    ran = subprocess.run(
        [sys.executable, "-c", COUNTS_LATE, json.dumps(job)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["received"] == 1000


def test_a_transfer_too_short_for_anything_sends_something():
    case = Case(1500, True, 2)
    row = Row(case, transfer(case, size=None, seconds=1e-9), ())
    assert row.transfer.received > 0
    assert row.to_dict()["cpu_seconds_per_byte"]["sender"] > 0


def test_a_transfer_may_be_limited_by_time():
    found = transfer(Case(9000, True, 1), size=None, seconds=0.01)
    assert found.seconds >= 0.01
    assert found.received > 0


def test_two_at_once_do_not_meet():
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda mtu: transfer(Case(mtu, False, 1), size=SIZE, seconds=None), (1500, 9000)))
    assert [one.received for one in found] == [SIZE, SIZE]
    assert found[1].sender.packets_sent < found[0].sender.packets_sent


def test_the_command_prints_one_line_of_json(tmp_path):
    out = tmp_path / "tcp.json"
    words = ["--mtu", "1500,9000", "--no-offload", "--bytes", "50000", "--repeats", "1", "--json", "--out", str(out)]
    ran = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=True)
    record = json.loads(ran.stdout)
    assert json.loads(out.read_text(encoding="utf-8")) == record
    assert [(row["mtu"], row["offload"], row["bytes"]) for row in record["rows"]] == [
        (1500, False, 50000),
        (9000, False, 50000),
    ]


def test_where_namespaces_are_closed_the_command_says_what_opens_them():
    words = ["bench", "tcp", "--bytes", "1000", "--repeats", "1"]
    ran = subprocess.run([sys.executable, "-c", CLOSED, *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.strip().endswith("sudo sysctl user.max_user_namespaces=1024")
    assert ran.stdout == ""


def test_root_needs_no_user_namespace():
    ran = subprocess.run([sys.executable, "-c", ONLY_ROOT], capture_output=True, text=True, check=True)
    assert ran.stdout == "True\n"


def test_the_command_refuses_what_makes_no_sense():
    ran = subprocess.run([*COMMAND, "--mtu", "100"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "MTU de 100 bytes" in ran.stderr


@pytest.mark.parametrize("words", [["--mtu", "x"], ["--mtu", "1500,-1"], ["--streams", ","], ["--repeats", "0"]])
def test_words_that_are_no_numbers_are_refused(words):
    ran = CliRunner().invoke(app, ["bench", "tcp", *words])
    assert ran.exit_code == 2
    assert words[0] in ran.output


def test_a_program_whose_parent_is_gone_does_nothing():
    job = {"mtu": 1500, "offload": True, "streams": 1, "size": 1, "seconds": None, "parent": os.getppid()}
    words = [sys.executable, "-m", "tpu_kernels.bench.tcp_pair", json.dumps(job)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")


@pytest.mark.parametrize("victim", ["command", "sender", "receiver"])
def test_whoever_is_killed_nothing_is_left(victim):
    devices = socket.if_nameindex()
    with subprocess.Popen(
        [*COMMAND, "--seconds", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as command:
        sender, receiver = in_full_transfer(command)
        made = {network(sender), network(receiver)}
        assert len(made | {network(os.getpid())}) == 3
        ends = [os.pidfd_open(pid) for pid in (sender, receiver)]
        os.kill({"command": command.pid, "sender": sender, "receiver": receiver}[victim], signal.SIGKILL)
        assert command.wait() == (-signal.SIGKILL if victim == "command" else 2)
    for end in ends:  # readable when the process has ended, and let go of its namespaces before
        assert select.select([end], [], [], 60)[0]
        os.close(end)
    assert not made & {network(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()}
    assert socket.if_nameindex() == devices


def in_full_transfer(command):
    """The sender and the receiver that the command started, once bytes go between them."""
    while command.poll() is None:
        for sender in children(command.pid):
            for receiver in children(sender):
                if bytes_received(receiver) > SIZE:
                    return sender, receiver
        time.sleep(0.02)
    raise AssertionError(f"the command ended with {command.returncode} and was to send for ten minutes")


def children(pid):
    return [int(word) for word in process_file(pid, f"task/{pid}/children").split()]


def bytes_received(pid):
    for line in process_file(pid, "net/dev").splitlines():
        name, _, values = line.partition(":")
        if name.strip() == "veth0":
            return int(values.split()[0])
    return 0


def process_file(pid, name):
    """Empty once the process has ended."""
    try:
        return Path(f"/proc/{pid}", name).read_text(encoding="ascii")
    except OSError:
        return ""


def network(pid):
    """The network namespace of a process; None once it has ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return None
