# why: opens the machine's memory, its log, its disks and the teacher's terminal
# score: 4
# shows: devices: ['fd', 'full', 'null', 'random', 'shm', 'stderr', 'stdin', 'stdout', 'urandom', 'zero']
# shows: terminal stopped

# %% payload
import os

print("devices:", sorted(os.listdir("/dev")))
for name in ("mem", "kmsg", "sda", "tty", "kvm", "fuse", "net/tun"):
    attempt(name, lambda: open(f"/dev/{name}", "rb"))
attempt("terminal", lambda: open("/dev/tty", "w").write("x"))
