"""The message that asks for a cable, taken apart as rtnetlink(7) describes it, and what the kernel answers."""

import errno
import struct

import pytest

from tpu_kernels.bench.tcp_veth import HEADER, LINK, link_message, raise_refusal

# linux/if_link.h and linux/veth.h, by number
IFNAME, MTU, LINKINFO, NET_NS_PID, GSO_MAX_SEGS = 3, 4, 18, 19, 40
KIND, DATA, PEER = 1, 2, 1


def attributes(body):
    """Type to payload. Every attribute starts at a multiple of four."""
    found = {}
    while body:
        length, kind = struct.unpack_from("=HH", body)
        assert 4 <= length <= len(body)
        found[kind] = body[4:length]
        body = body[(length + 3) // 4 * 4 :]
    return found


def ends(**asked):
    """The attributes of this end and of the far one."""
    message = link_message(4711, **asked)
    assert HEADER.unpack_from(message)[0] == len(message)
    near = attributes(message[HEADER.size + LINK.size :])
    info = attributes(near.pop(LINKINFO))
    assert info[KIND] == b"veth"
    return near, attributes(attributes(info[DATA])[PEER][LINK.size :])


def test_both_ends_get_the_mtu_and_only_the_far_one_moves():
    near, far = ends(mtu=9000, offload=True)
    assert near == {IFNAME: b"veth0\0", MTU: struct.pack("=I", 9000)}
    assert far == near | {NET_NS_PID: struct.pack("=I", 4711)}


def test_without_offload_each_end_takes_one_segment_at_a_time():
    for end in ends(mtu=1500, offload=False):
        assert end[GSO_MAX_SEGS] == struct.pack("=I", 1)


def answer(status, kind=2):
    return HEADER.pack(HEADER.size + 4, kind, 0, 1, 0) + struct.pack("=i", status)


def test_the_kernels_refusal_keeps_its_number():
    raise_refusal(answer(0))
    with pytest.raises(PermissionError):
        raise_refusal(answer(-errno.EPERM))
    with pytest.raises(OSError, match=r"Operation not supported|EOPNOTSUPP|\[Errno 95\]"):
        raise_refusal(answer(-errno.EOPNOTSUPP))
