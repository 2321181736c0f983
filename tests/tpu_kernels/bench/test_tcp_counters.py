"""What the kernel's own files say, read into counts."""

import os
import socket

import pytest

from tpu_kernels.bench.tcp_counters import Counters, counters, parsed_device, parsed_softirq, parsed_tcp

DEV = """\
Inter-|   Receive                                |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo:    0       0    0    0    0     0          0         0     0       0    0    0    0     0       0          0
 veth0: 42836    648    0    3    0     0          0         0 340107146 5555   0    4    0     0       0          0
"""
SNMP = """\
Ip: Forwarding DefaultTTL
Ip: 2 64
Tcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs InErrs
Tcp: 1 -1 646 234730 2 0
Udp: InDatagrams
Udp: 0
"""
STAT = "cpu  112062 310908 44830 104119 2210 0 336 1165 0 0\ncpu0 50629 150965 21555 63336 657 0 26 623 0 0\n"


def test_a_device_has_two_directions():
    assert parsed_device(DEV, "veth0") == {
        "packets_sent": 5555,
        "bytes_sent": 340107146,
        "packets_received": 648,
        "bytes_received": 42836,
        "dropped": 7,
    }


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="veth"):
        parsed_device(DEV, "veth")


def test_segments_are_found_by_the_name_of_their_column():
    assert parsed_tcp(SNMP) == {"segments_sent": 234730, "segments_retransmitted": 2}


def test_softirq_is_in_seconds():
    assert parsed_softirq(STAT) == 336 / os.sysconf("SC_CLK_TCK")


def test_counts_are_of_what_happened_between():
    before, after = Counters(1, 10, 2, 20, 0, 3, 0, 0.5, 1.0), Counters(4, 40, 2, 25, 1, 9, 2, 0.75, 1.5)
    assert after.since(before) == Counters(3, 30, 0, 5, 1, 6, 2, 0.25, 0.5)


def test_this_machines_files_have_the_columns():
    """The kernel that runs the tests, and a device that it has."""
    (_, device), *_ = socket.if_nameindex()
    before = counters(device)
    assert min(vars(counters(device).since(before)).values()) >= 0
