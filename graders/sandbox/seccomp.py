"""The filter that judges every system call of a learner's process: a program of classic BPF, assembled here.

It refuses what a notebook never needs and what has let processes out of sandboxes before. Everything it lets through is
still judged by the kernel, for a user without rights in namespaces of their own.
"""

import errno
import functools
import platform

from graders.sandbox import syscalls

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, constant

# Offsets in struct seccomp_data; both machines are little-endian, so an argument's low half comes first.
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_IF_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_IF_GREATER = 0x25  # BPF_JMP | BPF_JGT | BPF_K
_IF_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

ALLOW = 0x7FFF_0000
KILL_PROCESS = 0x8000_0000
_ERRNO = 0x0005_0000

AUDIT_ARCH = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_X32_BIT = 0x4000_0000

_NAMESPACES = (
    syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWCGROUP
    | syscalls.CLONE_NEWUTS
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUSER
    | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWNET
)
_UNIX, _INET, _INET6 = 1, 2, 10
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: typing for another program on the same terminal
_QUERY_PERSONALITY = 0xFFFF_FFFF

# Numbers given after this one are of calls that this table has not seen: refused as an older kernel would (ENOSYS), for
# which libraries have another way.
NEWEST = 456

# Refused whatever the arguments. Numbers on x86_64 and aarch64; None where the machine has no such call.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    # other processes' memory and files
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    # keys
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # wide doors into the kernel
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # the machine itself
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "create_module": (174, None),
    "get_kernel_syms": (177, None),
    "query_module": (178, None),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "_sysctl": (156, None),
}

# Judged by an argument.
_CLONE = (56, 220)
_CLONE3 = (435, 435)  # its flags lie in memory, where no filter reads: the C library then uses clone
_PERSONALITY = (135, 92)
_SOCKET = (41, 198)
_SOCKETPAIR = (53, 199)
_IOCTL = (16, 29)


@functools.cache
def program(machine: str = "", network: bool = True) -> tuple[Instruction, ...]:
    """The filter for a machine, ``"x86_64"`` or ``"aarch64"`` (default: this one).

    ``network``: let sockets of the internet's families be made, for a process whose namespace leads nowhere. Raises
    ``OSError`` for another machine.
    """
    machine = machine or platform.machine()
    if machine not in AUDIT_ARCH:
        raise OSError(errno.ENOSYS, f"no seccomp filter for {machine}: expected one of {', '.join(AUDIT_ARCH)}")
    index = list(AUDIT_ARCH).index(machine)
    families = (_UNIX, _INET, _INET6) if network else (_UNIX,)
    return (
        (_LOAD, 0, 0, _MACHINE),
        (_IF_EQUAL, 1, 0, AUDIT_ARCH[machine]),
        (_RETURN, 0, 0, KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
        (_IF_ANY_BIT, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _refusal(errno.EPERM)),
        (_IF_GREATER, 0, 1, NEWEST),
        (_RETURN, 0, 0, _refusal(errno.ENOSYS)),
        (_IF_EQUAL, 0, 1, _CLONE3[index]),
        (_RETURN, 0, 0, _refusal(errno.ENOSYS)),
        *_by_bits(_CLONE[index], 0, _NAMESPACES, _refusal(errno.EPERM), ALLOW),
        *_by_value(_PERSONALITY[index], 0, (0, _QUERY_PERSONALITY), ALLOW, _refusal(errno.EPERM)),
        *_by_value(_SOCKET[index], 0, families, ALLOW, _refusal(errno.EAFNOSUPPORT)),
        *_by_value(_SOCKETPAIR[index], 0, families, ALLOW, _refusal(errno.EAFNOSUPPORT)),
        *_by_value(_IOCTL[index], 1, _TERMINAL_INJECTION, _refusal(errno.EPERM), ALLOW),
        *_jump_if_among(tuple(number for row in REFUSED.values() if (number := row[index]) is not None)),
        (_RETURN, 0, 0, ALLOW),
        (_RETURN, 0, 0, _refusal(errno.EPERM)),
    )


def _refusal(number: int) -> int:
    return _ERRNO | number


def _judged(number: int, argument: int, verdict: list[Instruction]) -> list[Instruction]:
    """For this call only: load the argument's low half, and let ``verdict`` return."""
    body = [(_LOAD, 0, 0, _ARGUMENTS + 8 * argument), *verdict]
    return [(_IF_EQUAL, 0, len(body), number), *body]


def _by_bits(number: int, argument: int, bits: int, then: int, otherwise: int) -> list[Instruction]:
    return _judged(
        number,
        argument,
        [(_IF_ANY_BIT, 0, 1, bits), (_RETURN, 0, 0, then), (_RETURN, 0, 0, otherwise)],
    )


def _by_value(number: int, argument: int, values: tuple[int, ...], then: int, otherwise: int) -> list[Instruction]:
    return _judged(
        number,
        argument,
        [*_jump_if_among(values), (_RETURN, 0, 0, otherwise), (_RETURN, 0, 0, then)],
    )


def _jump_if_among(values: tuple[int, ...]) -> list[Instruction]:
    """Over the one instruction that follows, if what is loaded is one of ``values``."""
    return [(_IF_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
