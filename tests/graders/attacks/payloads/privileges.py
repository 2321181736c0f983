# why: becomes root, mounts, makes devices, leaves the sandbox by the calls that are there for it
# score: 4
# shows: user stopped: OSError
# shows: groups stopped: OSError PermissionError
# shows: root stopped: OSError PermissionError
# shows: device stopped: OSError PermissionError
# shows: mount -1 1
# shows: unshare -1 1
# shows: keys -1 1
# shows: handle -1 1
# shows: sudo stopped

# %% payload
import ctypes
import os
import platform
import stat
import subprocess

libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() != "x86_64"
attempt("user", lambda: os.setuid(0))
attempt("groups", lambda: os.setgroups([0]))
attempt("root", lambda: os.chroot("/tmp"))
attempt("device", lambda: os.mknod("/tmp/disk", stat.S_IFBLK | 0o666, os.makedev(8, 0)))
for what, result in {
    "mount": libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None),
    "unshare": libc.unshare(0x10000000),
    "keys": libc.syscall(219 if arm else 250, 0, -3, 1),
    "handle": libc.syscall(265 if arm else 304, -100, 0, 0),
}.items():
    print(what, result, ctypes.get_errno())
attempt("sudo", lambda: subprocess.run(["/usr/bin/su", "-c", "id"], check=True, capture_output=True))
