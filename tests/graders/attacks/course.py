"""The course that is attacked: secrets in each place that an attacker would look in, and what must stay as it is."""

import hashlib
import os
import secrets
import select
import socket
from dataclasses import dataclass
from pathlib import Path

from tests.graders.attacks.attack import PROJECT

FIRST, LAST = "aaa-honest", "zzz-honest"
PREFIX = "salt-"  # of every secret
VARIABLE = "SISTOLICA_SECRET_OF_A_TEST"  # holds one, in the grader's environment


class Course:
    """Where everything lies, with a secret in each place that an attacker would look in."""

    def __init__(self, root: Path, packages: Path) -> None:
        self.tokens = {what: PREFIX + secrets.token_hex(16) for what in ("salt", "file", "neighbour", "environment")}
        self.mark = f"mark{secrets.token_hex(8)}"
        self.submissions, self.out, self.programs = root / "entregas", root / "notas", root / "programs"
        self.programs.mkdir()
        self.secret = root / "secret.txt"
        self.secret.write_text(self.tokens["file"], encoding="utf-8")
        self.packages = packages
        for path in (root, self.programs, self.secret):
            path.chmod(0o755)

    def known(self, listeners: "Listeners") -> dict[str, object]:
        """What the attackers know: where everything is, and no secret."""
        return {
            "abstract": listeners.abstract_name,
            "cache": self.programs,
            "course": PROJECT.root,
            "mark": self.mark,
            "neighbour": self.submissions / FIRST / "matmul.ipynb",
            "out": self.out,
            "packages": self.packages,
            "pid": os.getpid(),
            "port": listeners.port,
            "prefix": PREFIX,
            "secret": self.secret,
            "socket": listeners.path,
            "variable": VARIABLE,
        }


class Listeners:
    """Who listens on the grader's machine; nobody may come."""

    def __init__(self, folder: Path, mark: str) -> None:
        self.abstract_name, self.path = mark, str(folder / "socket")
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", self.port))
        self.abstract, self.file = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        self.abstract.bind(f"\0{mark}")
        self.file.bind(self.path)
        for listener in (self.abstract, self.file):
            listener.listen()

    def __enter__(self) -> "Listeners":
        return self

    def __exit__(self, *error: object) -> None:
        for listener in (self.tcp, self.udp, self.abstract, self.file):
            listener.close()

    def reached(self) -> list[str]:
        """Those to whom something came."""
        named = {"tcp": self.tcp, "udp": self.udp, "abstract": self.abstract, "file": self.file}
        ready, _, _ = select.select(list(named.values()), [], [], 0)
        return [name for name, listener in named.items() if listener in ready]


@dataclass(frozen=True)
class Snapshot:
    """Digests of what attackers would like to change."""

    submissions: dict[str, str]
    programs: dict[str, str]
    labs: dict[str, str]
    library: dict[str, str]

    @classmethod
    def of(cls, course: Course) -> "Snapshot":
        library = PROJECT.root / "tpu_kernels"
        return cls(*map(_digests, (course.submissions, course.programs, PROJECT.root / "labs", library)))


def _digests(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if "__pycache__" not in path.parts]
    return {str(path): _digest(path) for path in sorted(files)}


def _digest(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return f"{path.lstat().st_mode:o}"
    return f"{path.stat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def marked(course: Course) -> list[Path]:
    """Files that an attacker left anywhere but in its own folder: their names hold the mark."""
    places = [Path(place) for place in ("/", "/tmp", "/var/tmp", "/dev/shm", "/run", "/home")]
    places += [Path.home(), Path.cwd(), PROJECT.root, PROJECT.root / "tpu_kernels", Path(os.__file__).parent]
    places += [course.packages, course.out, course.programs, course.submissions.parent]
    return [path for place in places if place.is_dir() for path in place.glob(f"*{course.mark}*")]


def running(course: Course) -> list[str]:
    """Processes of the attackers': the mark is in their environment, or in their command line."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and int(process.name) != os.getpid():
            try:
                texts = [(process / name).read_bytes() for name in ("cmdline", "environ")]
            except OSError:
                continue
            if any(course.mark.encode() in text for text in texts):
                found.append(process.name)
    return found
