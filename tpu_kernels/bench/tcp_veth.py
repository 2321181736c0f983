"""A cable between two network namespaces: a veth pair, asked of the kernel in one message (rtnetlink(7)).

The message carries all that a benchmark sets: the MTU of both ends, the namespace of the far one, and how many
segments TCP may hand over at once. Each end then gets its address from inside (netdevice(7)). So neither ``ip`` nor
``ethtool`` need be installed.
"""

import fcntl
import os
import socket
import struct

NAME = "veth0"  # of both ends: they meet in no namespace

# linux/netlink.h, linux/rtnetlink.h, linux/if_link.h, linux/veth.h, linux/sockios.h
NLMSG_ERROR = 2
RTM_NEWLINK = 16
NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 0x1, 0x4, 0x200, 0x400
IFLA_IFNAME, IFLA_MTU, IFLA_LINKINFO, IFLA_NET_NS_PID, IFLA_GSO_MAX_SEGS = 3, 4, 18, 19, 40
IFLA_INFO_KIND, IFLA_INFO_DATA = 1, 2
VETH_INFO_PEER = 1
IFF_UP = 0x1
SIOCSIFFLAGS, SIOCSIFADDR = 0x8914, 0x8916

HEADER = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence, port
LINK = struct.Struct("=BxHiII")  # ifinfomsg: family, device type, index, flags, change
ATTRIBUTE = struct.Struct("=HH")  # rtattr: length, type
ANSWER = struct.Struct("=i")  # nlmsgerr: minus an errno, 0 for done
ADDRESS_REQUEST = struct.Struct("16sHH4s16x")  # ifreq with a sockaddr_in: name, family, port, address
FLAGS_REQUEST = struct.Struct("16sH22x")  # ifreq with flags


def connect_namespaces(peer: int, *, mtu: int, offload: bool) -> None:
    """Joins this process's network namespace to that of the process ``peer``: :data:`NAME` on both sides, both down.

    ``mtu`` in bytes. Without ``offload``, TCP hands each segment over alone, as to a network card that cannot cut
    long ones. Raises ``OSError`` when the kernel refuses.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.bind((0, 0))
        kernel.send(link_message(peer, mtu=mtu, offload=offload))
        raise_refusal(kernel.recv(1 << 16))


def bring_up(address: str) -> None:
    """Gives this namespace's end the IPv4 ``address``, in a network of its class (/24 for 192.x.y.z), and opens it."""
    name = NAME.encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFADDR, ADDRESS_REQUEST.pack(name, socket.AF_INET, 0, socket.inet_aton(address)))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, FLAGS_REQUEST.pack(name, IFF_UP))


def link_message(peer: int, *, mtu: int, offload: bool) -> bytes:
    """The request for the pair, in the machine's byte order: one end here, one with ``peer``."""
    end = attribute(IFLA_IFNAME, NAME.encode() + b"\0") + attribute(IFLA_MTU, struct.pack("=I", mtu))
    if not offload:
        end += attribute(IFLA_GSO_MAX_SEGS, struct.pack("=I", 1))
    any_link = LINK.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
    far_end = attribute(VETH_INFO_PEER, any_link + end + attribute(IFLA_NET_NS_PID, struct.pack("=I", peer)))
    kind = attribute(IFLA_INFO_KIND, b"veth") + attribute(IFLA_INFO_DATA, far_end)
    body = any_link + end + attribute(IFLA_LINKINFO, kind)
    flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
    return HEADER.pack(HEADER.size + len(body), RTM_NEWLINK, flags, 1, 0) + body


def attribute(kind: int, payload: bytes) -> bytes:
    """An rtattr: its length without, its bytes with the padding to four."""
    length = ATTRIBUTE.size + len(payload)
    return ATTRIBUTE.pack(length, kind) + payload + bytes(-length % 4)


def raise_refusal(answer: bytes) -> None:
    """``OSError`` with the kernel's errno, unless ``answer`` says that the request was carried out."""
    kind = HEADER.unpack_from(answer)[1]
    (status,) = ANSWER.unpack_from(answer, HEADER.size)
    if kind != NLMSG_ERROR or status:
        raise OSError(-status, os.strerror(-status))
