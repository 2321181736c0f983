"""Attempts to get out, run where they should fail: each is a name and a call, its finding what it returned or met."""

import ctypes
import errno
import os
import pwd
import resource
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

NEW_USER = 0x10000000
TYPE_FOR_ANOTHER = 0x5412  # TIOCSTI


def call(name, *arguments):
    if getattr(libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), name)
    return "done"


def number(x86_64, aarch64, *arguments):
    return call("syscall", x86_64 if os.uname().machine == "x86_64" else aarch64, *arguments)


def write(path):
    Path(path).write_text("x", encoding="utf-8")
    return "written"


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def status(*fields):
    lines = (line.partition(":") for line in lines_of("/proc/self/status"))
    return {key: value.strip() for key, _, value in lines if key in fields}


def lines_of(path):
    return Path(path).read_text(encoding="utf-8").splitlines()


def join_namespace():
    with Path("/proc/self/ns/user").open("rb") as namespace:
        return call("setns", namespace.fileno(), 0)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def attempts(checkout, site, port, grader):
    """What to try, knowing the course's folder, a folder of packages, a port that listens, and the grader's process."""
    return {
        "write /etc": lambda: write("/etc/passwd"),
        "write the root": lambda: write("/x"),
        "write a package": lambda: write(f"{site}/numpy/x.py"),
        "write a library": lambda: write("/usr/lib/x"),
        "write the course": lambda: write(f"{checkout}/tpu_kernels/x.py"),
        "write a kernel's setting": lambda: write("/proc/sys/kernel/core_pattern"),
        "write what waits aside": lambda: write("/.aside/x"),
        "change a mode": lambda: Path("/etc/passwd").chmod(0o777),
        "read passwords": lambda: Path("/etc/shadow").read_text(encoding="utf-8"),
        "see users": lambda: [user.pw_name for user in pwd.getpwall()],
        "see the checkout": lambda: names(checkout),
        "see the old root": lambda: Path("/.old").exists(),
        "see homes": lambda: names("/home"),
        "see other folders": lambda: [
            path for path in ("/sys", "/run", "/var", "/mnt", "/media") if Path(path).exists()
        ],
        "see devices": lambda: names("/dev"),
        "see processes": lambda: sorted(name for name in names("/proc") if name.isdecimal()),
        "see the machine's name": lambda: socket.gethostname(),
        "see interfaces": lambda: [line.split(":")[0].strip() for line in lines_of("/proc/net/dev")[2:]],
        "signal the grader": lambda: os.kill(grader, 0),
        "signal all": lambda: os.kill(-1, 0),
        "become root": lambda: os.setuid(0),
        "become another": lambda: os.setresuid(1, 1, 1),
        "join a group": lambda: os.setgroups([0]),
        "connect out": lambda: socket.create_connection(("192.0.2.1", 80), 1),
        "connect to this machine": lambda: socket.create_connection(("127.0.0.1", port), 1),
        "ask for routes": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
        "reach the host": lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM),
        "mount": lambda: call("mount", b"tmpfs", b"/tmp", b"tmpfs", 0, None),
        "unmount": lambda: call("umount2", b"/usr", 2),
        "change the root": lambda: os.chroot("/tmp"),
        "make a namespace": lambda: call("unshare", NEW_USER),
        "fork into a namespace": lambda: number(56, 220, NEW_USER | signal.SIGCHLD, 0, 0, 0, 0),
        "join a namespace": join_namespace,
        "trace": lambda: call("ptrace", 0, 0, 0, 0),
        "read another's memory": lambda: number(310, 270, 1, 0, 0, 0, 0, 0),
        "use keys": lambda: number(250, 219, 0, -3, 0),
        "load a kernel's program": lambda: number(321, 280, 0, 0, 0),
        "make rings": lambda: number(425, 425, 1, 0),
        "handle page faults": lambda: number(323, 282, 0),
        "open by handle": lambda: number(304, 265, 0, 0, 0),
        "change personality": lambda: call("personality", 8),
        "keep personality": lambda: call("personality", 0),
        "call what is newer": lambda: number(999, 999),
        "make a disk": lambda: os.mknod("/tmp/disk", 0o600 | stat.S_IFBLK, os.makedev(8, 0)),
        "type for another": lambda: call("ioctl", 0, TYPE_FOR_ANOTHER, b"x"),
        "raise a limit": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (10**6, 10**6)),
        "raise priority": lambda: os.nice(-5),
        "set the clock": lambda: time.clock_settime(time.CLOCK_REALTIME, 0),
        "rename the machine": lambda: socket.sethostname("x"),
        "stop oneself": lambda: os.kill(os.getpid(), signal.SIGSTOP),
        "rights": lambda: status("CapPrm", "CapEff", "CapBnd", "CapAmb", "CapInh", "NoNewPrivs", "Seccomp", "Groups"),
        "core dumps": lambda: resource.getrlimit(resource.RLIMIT_CORE),
        "descriptors": lambda: names("/proc/self/fd"),
        "variables": lambda: sorted(os.environ),
        "place": lambda: [str(Path.cwd()), os.environ["HOME"], os.environ["TMPDIR"]],
        "mask": lambda: os.umask(0o077),
        "user": lambda: pwd.getpwuid(os.getuid()).pw_name,
        "interrupt": lambda: signal.getsignal(signal.SIGINT) is signal.default_int_handler,
        "write home": lambda: write("kept.txt"),
        "write /tmp": lambda: write("/tmp/kept.txt"),
        "share memory": lambda: write("/dev/shm/kept"),
        "make a pipe": lambda: os.mkfifo("/tmp/pipe"),
        "run a program": lambda: run("/bin/sh", "-c", "echo $((6 * 7))").stdout.strip(),
        "run a program in a namespace": lambda: run("unshare", "-r", "true").returncode == 0,
        "quota": lambda: [os.statvfs(path).f_blocks * os.statvfs(path).f_frsize for path in (".", "/tmp", "/dev/shm")],
        "import Python's own": lambda: __import__("bdb") and __import__("sqlite3") and "imported",
        "import packages": lambda: float(__import__("numpy").ones(3).sum()),
        "import the course": lambda: __import__("tpu_kernels.models.hardware") and "imported",
        "import the grader": lambda: __import__("graders.lab") and "imported",
        "random bytes": lambda: len(os.urandom(8)) + len(Path("/dev/zero").open("rb").read(8)),
    }


def findings(**given):
    """By name: what each attempt returned, or the name of the error that it met."""
    sys.modules.pop("graders", None)  # which the test's own zygote has imported
    found = {}
    for name, attempt in attempts(**given).items():
        try:
            found[name] = attempt()
        except OSError as error:
            found[name] = errno.errorcode.get(error.errno, "OSError")
        except Exception as error:  # noqa: BLE001 - whatever stops it is the finding
            found[name] = type(error).__name__
    return found
