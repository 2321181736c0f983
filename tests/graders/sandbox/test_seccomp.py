"""The filter's program, run by an interpreter of its language on the calls of both machines.

The kernel runs it in ``test_walls.py``.
"""

import errno
import struct
from collections.abc import Sequence

import pytest

from graders.sandbox.seccomp import ALLOW, AUDIT_ARCH, KILL_PROCESS, NEWEST, Instruction, program

MACHINES = ("x86_64", "aarch64")
EPERM, ENOSYS, EAFNOSUPPORT = (0x50000 | number for number in (errno.EPERM, errno.ENOSYS, errno.EAFNOSUPPORT))
I386 = 0x40000003
X32 = 0x40000000
HIGH = 0xDEAD_BEEF << 32  # what the kernel does not look at when an argument is an int

SIGCHLD = 17
THREAD = 0x003D0F00  # the flags of pthread_create
NEW_USER, NEW_NET, NEW_NS = 0x10000000, 0x40000000, 0x00020000

# On x86_64 and aarch64, from the kernel's own tables: arch/x86/entry/syscalls/syscall_64.tbl and
# include/uapi/asm-generic/unistd.h.
CALLS = {
    "read": (0, 63),
    "mmap": (9, 222),
    "ioctl": (16, 29),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "clone": (56, 220),
    "execve": (59, 221),
    "kill": (62, 129),
    "ptrace": (101, 117),
    "personality": (135, 92),
    "mount": (165, 40),
    "futex": (202, 98),
    "keyctl": (250, 219),
    "openat": (257, 56),
    "unshare": (272, 97),
    "perf_event_open": (298, 241),
    "setns": (308, 268),
    "process_vm_readv": (310, 270),
    "seccomp": (317, 277),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "clone3": (435, 435),
    "futex_requeue": (456, 456),
    "statmount": (457, 457),
}

# Call, arguments, verdict.
VERDICTS = [
    ("read", (), ALLOW),
    ("mmap", (), ALLOW),
    ("execve", (), ALLOW),
    ("kill", (), ALLOW),
    ("futex", (), ALLOW),
    ("openat", (), ALLOW),
    ("seccomp", (), ALLOW),
    ("futex_requeue", (), ALLOW),
    ("statmount", (), ENOSYS),
    ("clone", (SIGCHLD,), ALLOW),
    ("clone", (THREAD,), ALLOW),
    ("clone", (NEW_USER | SIGCHLD,), EPERM),
    ("clone", (NEW_NET | SIGCHLD,), EPERM),
    ("clone", (HIGH | NEW_NS,), EPERM),
    ("clone3", (), ENOSYS),
    ("personality", (0,), ALLOW),
    ("personality", (0xFFFFFFFF,), ALLOW),
    ("personality", (0x0040000,), EPERM),  # addresses no longer random
    ("socket", (1, 1), ALLOW),
    ("socket", (2, 1), ALLOW),
    ("socket", (10, 2), ALLOW),
    ("socket", (16, 3), EAFNOSUPPORT),
    ("socket", (17, 3), EAFNOSUPPORT),
    ("socket", (38, 5), EAFNOSUPPORT),
    ("socket", (HIGH | 40, 1), EAFNOSUPPORT),
    ("socketpair", (1, 1), ALLOW),
    ("socketpair", (30, 1), EAFNOSUPPORT),
    ("ioctl", (0, 0x5401), ALLOW),
    ("ioctl", (0, 0x5412), EPERM),
    ("ioctl", (0, HIGH | 0x5412), EPERM),
    ("ioctl", (0, 0x541C), EPERM),
    ("ptrace", (), EPERM),
    ("mount", (), EPERM),
    ("keyctl", (), EPERM),
    ("unshare", (0,), EPERM),
    ("setns", (), EPERM),
    ("process_vm_readv", (), EPERM),
    ("perf_event_open", (), EPERM),
    ("bpf", (), EPERM),
    ("userfaultfd", (), EPERM),
    ("io_uring_setup", (), EPERM),
]


def run(instructions: Sequence[Instruction], machine: int, number: int, arguments: Sequence[int] = ()) -> int:
    """What the kernel would do with the call: classic BPF over ``struct seccomp_data``."""
    data = struct.pack("<IIQ6Q", number, machine, 0, *arguments, *[0] * (6 - len(arguments)))
    loaded, place = 0, 0
    while True:
        code, if_true, if_false, constant = instructions[place]
        place += 1
        match code:
            case 0x20:
                (loaded,) = struct.unpack_from("<I", data, constant)
            case 0x15:
                place += if_true if loaded == constant else if_false
            case 0x25:
                place += if_true if loaded > constant else if_false
            case 0x45:
                place += if_true if loaded & constant else if_false
            case 0x06:
                return constant
            case _:
                raise AssertionError(f"no such instruction: {code:#x}")


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("call", "arguments", "verdict"), VERDICTS)
def test_a_call_gets_its_verdict(machine: str, call: str, arguments: tuple[int, ...], verdict: int) -> None:
    assert run(program(machine), AUDIT_ARCH[machine], CALLS[call][MACHINES.index(machine)], arguments) == verdict


@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_of_another_machine_kills(machine: str) -> None:
    other = AUDIT_ARCH[MACHINES[1 - MACHINES.index(machine)]]
    assert {run(program(machine), arch, 0) for arch in (other, I386, 0)} == {KILL_PROCESS}


def test_the_calls_of_x32_are_refused_all() -> None:
    verdicts = {run(program("x86_64"), AUDIT_ARCH["x86_64"], X32 | number) for number in range(600)}
    assert verdicts == {EPERM}


@pytest.mark.parametrize("machine", MACHINES)
def test_what_this_table_has_not_seen_does_not_exist(machine: str) -> None:
    verdicts = {run(program(machine), AUDIT_ARCH[machine], number) for number in range(NEWEST + 1, 1000)}
    assert verdicts == {ENOSYS}


@pytest.mark.parametrize("machine", MACHINES)
def test_without_an_empty_network_only_local_sockets_can_be_made(machine: str) -> None:
    judge = program(machine, network=False)
    verdicts = [
        run(judge, AUDIT_ARCH[machine], CALLS["socket"][MACHINES.index(machine)], (family, 1)) for family in (1, 2, 10)
    ]
    assert verdicts == [ALLOW, EAFNOSUPPORT, EAFNOSUPPORT]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("network", [True, False])
def test_every_jump_stays_inside_and_every_way_ends(machine: str, network: bool) -> None:
    instructions = program(machine, network)
    assert len(instructions) <= 4096  # the kernel's most
    for place, (code, if_true, if_false, _) in enumerate(instructions):
        if code not in (0x06, 0x20):
            assert max(if_true, if_false) <= 255
            assert place + 1 + max(if_true, if_false) < len(instructions)
    assert instructions[-1][0] == 0x06


def test_another_machine_has_no_filter() -> None:
    with pytest.raises(OSError, match="riscv64: expected one of x86_64, aarch64"):
        program("riscv64")
