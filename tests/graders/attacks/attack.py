"""One attack: a payload, how it is handed in, and what must come of it.

A payload is a script of named cells, with a header that says what it tries and what must come of it: ``score``,
``status`` (default ``ok``), ``shows`` (a text in the learner's page: the wall it ran into), ``hides`` (a text that must
be nowhere), ``needs`` (the part of a confinement without which it ends in another way). ``payload`` is put beside a
wrong answer in the first answer cell; other cells replace the learner's answer of that name; ``hand-in`` defines how
the notebook comes into the folder. What stands between ``@`` is filled in: attackers know every path. Of what they
leave alone one exercise is right (4 points) and the others wrong (0), so a point won or lost shows.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from sistolica.lesson.cells import read_cells
from sistolica.lesson.lab import handed_in
from sistolica.project import find_project

PAYLOADS = Path(__file__).parent / "payloads"
PROJECT = find_project(Path(__file__))

_HEADER = re.compile(r"^# (why|score|status|needs|shows|hides): (.+)$", re.MULTILINE)
_WRONG = {
    "naive": "def naive_matmul(a, b):\n    return [[0]]\n",
    "jax": "def jax_matmul(a, b):\n    return 0\n",
    "flops": "def flops(m, k, n):\n    return 0\n",
}
_ATTEMPT = """
def attempt(what, action):
    try:
        print("BRE" "ACH", what, action())
    except Exception as error:
        family = ["OSError"] if isinstance(error, OSError) else []
        print(what, "stopped:", *family, type(error).__name__, error)


"""


@dataclass(frozen=True)
class Attack:
    """One payload and what its header asks for."""

    name: str
    score: float
    status: str
    needs: tuple[str, ...]
    shows: tuple[str, ...]
    hides: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> "Attack":
        found: dict[str, list[str]] = {}
        for key, value in _HEADER.findall(path.read_text(encoding="utf-8")):
            found.setdefault(key, []).append(value)
        (status,), (score,) = found.get("status", ["ok"]), found["score"]
        assert found["why"]
        texts = (tuple(found.get(key, [])) for key in ("needs", "shows", "hides"))
        return cls(path.stem, float(score), status, *texts)

    def hand_in(self, folder: Path, lang: str, known: Mapping[str, object]) -> None:
        cells = {name: _filled(cell.source, known) for name, cell in read_cells(PAYLOADS / f"{self.name}.py").items()}
        answers = {**_WRONG, **cells}
        if "payload" in cells:
            answers["naive"] = answers["naive"] + _ATTEMPT + cells["payload"]
        notebook = json.loads(nbformat.writes(handed_in(PROJECT, "matmul", lang, answers)))
        scope: dict[str, Any] = {"write": _write, "hand_in": _write}
        exec(cells.get("hand-in", ""), scope)
        scope["hand_in"](folder, notebook)


ATTACKS = [Attack.read(path) for path in sorted(PAYLOADS.glob("*.py"))]


def _filled(source: str, known: Mapping[str, object]) -> str:
    return re.sub(r"@(\w+)@", lambda found: str(known[found[1]]), source)


def _write(folder: Path, notebook: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    (folder / "matmul.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
