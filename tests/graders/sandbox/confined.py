"""A zygote for tests, run as a program: it confines one process, runs code in it, and tells what became of it.

The request, JSON, its argument: ``path`` (for imports), ``confinement``, ``source`` (runs confined, with
``say(value)``), ``ordinary`` (become an ordinary user first, where started by root), ``until`` (end the process at
its ``"exit"``, or at its first ``"word"``). The answer, JSON on standard output: ``said``, ``status``, ``memory``
(killed for it), ``left`` (something of the learner's outlived the end), ``remains`` (folders that are still there),
``outside`` (the process's number).
"""

import contextlib
import json
import os
import select
import sys
from pathlib import Path
from typing import Any

ORDINARY_UID = 12345


def main(request: dict[str, Any]) -> dict[str, Any]:
    sys.path[:] = request["path"]
    from graders.sandbox.cgroup import Cgroup
    from graders.sandbox.confinement import Confinement
    from graders.sandbox.enter import end, enter, outside, prepare_fork, start_of_zygote

    confinement = Confinement.from_json(request["confinement"])
    if os.geteuid() == 0:
        os.setgroups([0, 4])  # as a login of root's has some
    if request["ordinary"] and os.geteuid() == 0:
        become_ordinary([*confinement.read_only, *request["path"], *filter(None, [confinement.cache])])
    start_of_zygote(confinement)
    cgroup = Cgroup.create(confinement)
    prepare_fork(confinement)
    receiving, sending = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if cgroup is not None:
                cgroup.join()
            enter(confinement, keep=[sending])
            run_source(request["source"], sending)
        except Exception as error:  # noqa: BLE001 - for the test to see
            os.write(sending, json.dumps(repr(error)).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(sending)
    number = outside(pid)
    if request["until"] == "exit":
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    else:
        select.select([receiving], [], [])
    status = end(confinement, pid, ())
    text, left = read_all(receiving)
    memory = cgroup is not None and cgroup.killed_for_memory()
    if cgroup is not None:
        cgroup.kill()
        cgroup.remove()
    return {
        "said": [json.loads(line) for line in text.splitlines()],
        "status": os.waitstatus_to_exitcode(status),
        "memory": memory,
        "left": left,
        "outside": number,
        "remains": remains(confinement),
    }


def run_source(source: str, channel: int) -> None:
    def say(value: object) -> None:
        os.write(channel, json.dumps(value).encode() + b"\n")

    exec(source, {"say": say, "channel": channel, "__name__": "learner"})


def read_all(receiving: int) -> tuple[bytes, bool]:
    """What was said, and whether somebody lives who can say more: all the learner's processes hold the other end."""
    text = b""
    while select.select([receiving], [], [], 0)[0]:
        block = os.read(receiving, 65536)
        if not block:
            return text, False
        text += block
    return text, True


def remains(confinement: Any) -> list[str]:
    from graders.sandbox.hierarchy import hierarchies

    mine = f"sistolica-{Path('/proc/self').readlink()}-*"
    found = [path for hierarchy in hierarchies().values() for path in hierarchy.base.glob(mine)]
    if confinement.kind == "limits":
        found += Path(confinement.home).iterdir()
    return [str(path) for path in found]


def become_ordinary(paths: list[str]) -> None:
    """From root to a user without rights, for whom the closed folders around ``paths`` are open."""
    from graders.sandbox import syscalls

    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("", "/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
    closed: dict[Path, list[Path]] = {}
    for path in map(Path, paths):
        for folder in reversed(path.parents):
            if path.exists() and not folder.stat().st_mode & 0o001:
                closed.setdefault(folder, []).append(path)
                break
    for folder, beneath in closed.items():
        opened = [(path, os.open(path, os.O_PATH)) for path in beneath]
        syscalls.mount("tmpfs", str(folder), "tmpfs", options="mode=755")
        for path, fd in opened:
            with contextlib.suppress(FileExistsError):
                path.mkdir(parents=True) if Path(f"/proc/self/fd/{fd}").is_dir() else path.touch()
            syscalls.mount(f"/proc/self/fd/{fd}", str(path), flags=syscalls.MS_BIND | syscalls.MS_REC)
            os.close(fd)
    os.setgroups([])
    os.setresgid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID)
    os.setresuid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(json.loads(sys.argv[1]))))
