"""Six things that no learner's code may do, tried by harmless cells; what came of each is looked up from outside.

The process that ran the cell is asked nothing: whoever breaks out can say anything.
"""

import contextlib
import os
import secrets
import socket
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from graders.process import CellRun
from graders.sandbox.confinement import Confinement

READS = "sandbox.canary-reads"
WRITES = "sandbox.canary-writes"
CONNECTS = "sandbox.canary-connects"
SIGNALS = "sandbox.canary-signals"
STAYS = "sandbox.canary-stays"
GROWS = "sandbox.canary-grows"

_MEMORY = 128 * 2**20  # bytes, where a control group counts those that are touched: more takes longer to touch


@dataclass(frozen=True)
class Canary:
    """``key``: what it does, in messages.toml. ``lived`` tells from its cell's run, once its process has ended.

    ``changes``: what its confinement has different from a learner's.
    """

    key: str
    cell: str
    lived: Callable[[CellRun], bool]
    changes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def trying(cls, key: str, action: str, happened: Callable[[CellRun], bool]) -> Self:
        """One whose ``action`` is to fail by an ``OSError``. A cell that ends otherwise proves nothing: alive."""
        lines = "".join(f"    {line}\n" for line in action.splitlines())
        cell = f"try:\n{lines}except OSError:\n    pass\n"
        return cls(key, cell, lambda run: happened(run) or run.status != "ok")


def canaries(confinement: Confinement, made: ExitStack) -> list[Canary]:
    """All six; ``made`` gets what has to be cleared away afterwards."""
    folder = Path(made.enter_context(tempfile.TemporaryDirectory(prefix="canary-")))
    folder.chmod(0o777)  # open to all: nothing but the confinement stands before it
    return [
        _reads(folder),
        _writes(folder, confinement),
        _connects(made),
        _signals(made),
        _stays(),
        _grows(confinement),
    ]


def promised(confinement: Confinement) -> set[str]:
    """The canaries that this kind of confinement stops."""
    found = {STAYS, GROWS}
    if confinement.kind != "limits":
        found |= {READS, WRITES}
    if confinement.kind != "limits" or confinement.uid is not None:
        found.add(SIGNALS)
    if "network" in confinement.parts:
        found.add(CONNECTS)
    return found


def _reads(folder: Path) -> Canary:
    secret = secrets.token_hex(16)
    path = folder / "secret"
    path.write_text(secret, encoding="utf-8")
    path.chmod(0o644)
    return Canary.trying(READS, f"print(open({str(path)!r}).read())", lambda run: secret in str(run.outputs))


def _writes(folder: Path, confinement: Confinement) -> Canary:
    name = f"canary-{secrets.token_hex(8)}"
    around = [str(folder), *confinement.read_only, *([confinement.cache] if confinement.cache else [])]
    paths = [f"{place}/{name}" for place in around]
    action = f"""\
def write(path):
    try:
        open(path, "w").close()
    except OSError:
        pass
for path in {paths!r}:
    write(path)
"""

    def happened(run: CellRun) -> bool:
        written = [Path(path) for path in paths if Path(path).exists()]
        for path in written:
            path.unlink()
        return bool(written)

    return Canary.trying(WRITES, action, happened)


def _connects(made: ExitStack) -> Canary:
    listener = made.enter_context(socket.create_server(("127.0.0.1", 0)))
    listener.setblocking(False)
    action = f"import socket\nsocket.create_connection({listener.getsockname()!r}, 5).close()"

    def happened(run: CellRun) -> bool:
        with contextlib.suppress(BlockingIOError):
            listener.accept()[0].close()
            return True
        return False

    return Canary.trying(CONNECTS, action, happened)


def _signals(made: ExitStack) -> Canary:
    """Its victim is not the grader but a process of the same user that ends by itself when the grader does."""
    victim = made.enter_context(
        subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    )
    return Canary.trying(SIGNALS, f"import os\nos.kill({victim.pid}, 9)", lambda run: victim.poll() is not None)


def _stays() -> Canary:
    mark = secrets.token_hex(16)
    action = f"""\
import subprocess
subprocess.Popen(["/bin/sh", "-c", "sleep 600; exit", {mark!r}], start_new_session=True)
"""
    return Canary.trying(STAYS, action, lambda run: _runs(mark))


def _runs(mark: str) -> bool:
    """Whether any process has ``mark`` in its command line."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):  # it has just ended
                if mark.encode() in (entry / "cmdline").read_bytes():
                    return True
    return False


def _grows(confinement: Confinement) -> Canary:
    """Where nothing counts what is touched, asking for it is refused."""
    counted = "memory" in confinement.parts
    most = _MEMORY if counted else confinement.memory_bytes
    page = os.sysconf("SC_PAGE_SIZE")
    cell = f"grown = bytearray({2 * most})\ngrown[::{page}] = grown[::{page}]"

    def lived(run: CellRun) -> bool:
        refused = run.status == "error" and any(output.get("ename") == "MemoryError" for output in run.outputs)
        return not (refused or run.status == "memory")

    return Canary(GROWS, cell, lived, {"memory_bytes": most} if counted else {})
