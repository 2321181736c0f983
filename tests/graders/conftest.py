"""A lab of two small exercises, made by the tests, that needs neither numpy nor JAX in the learner's cells."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

from graders.batch import Masters
from graders.lab import Lab, read_lab
from graders.sandbox.choice import Ground, ground
from sistolica.lesson.lab import handed_in, lab_notebook
from sistolica.project import Project

LAB_TOML = """\
title = { es = "Prueba", pt = "Teste" }

[exercises.add]
title = { es = "Suma", pt = "Soma" }
time_limit_s = 5
criteria = { values = 1, large = 1 }

[exercises.scale]
title = { es = "Escala", pt = "Escala" }
time_limit_s = 5
criteria = { shape = 1, values = 2 }
"""

CELLS = '''\
# %% setup
from graders.selfcheck import selfcheck

check = selfcheck("tiny", globals())

# %% add
def add(a, b):
    """a, b -> a + b"""
    #es suma
    #pt soma
    ### BEGIN SOLUTION
    return a + b
    ### END SOLUTION

# %% add-check
check("add")

# %% scale
def scale(rows, factor):
    """rows, factor -> rows"""
    ### BEGIN SOLUTION
    return [[factor * x for x in row] for row in rows]
    ### END SOLUTION

# %% scale-check
check("scale")
'''

CHECKS = """\
def add(learner, rng, report):
    with report.criterion("values") as values:
        a, b = (int(x) for x in rng.integers(100, 1000, 2))
        values.require(learner.call("add", a, b) == a + b)
    with report.criterion("large", after="values") as large:
        a = int(rng.integers(2**60, 2**62))
        large.require(learner.call("add", a, a) == 2 * a)


def scale(learner, rng, report):
    rows = rng.integers(100, 1000, (2, 3)).tolist()
    with report.criterion("shape") as shape:
        got = learner.call("scale", rows, 3, returns=list)
        shape.require([len(row) for row in got] == [3, 3])
    with report.criterion("values", after="shape") as values:
        values.require(learner.call("scale", rows, 3) == [[3 * x for x in row] for row in rows])
"""

MESSAGES = """\
[add]
values = { es = "Valores", pt = "Valores" }
values-hint = { es = "pista de suma", pt = "dica de soma" }
large = { es = "Enteros grandes", pt = "Inteiros grandes" }
large-hint = { es = "pista de grandes", pt = "dica de grandes" }

[scale]
shape = { es = "Forma", pt = "Forma" }
shape-hint = { es = "pista de forma", pt = "dica de forma" }
values = { es = "Valores", pt = "Valores" }
values-hint = { es = "pista de escala", pt = "dica de escala" }
"""

PROSE = """\
# {title}

{text}

```{{code-cell}}
:cell: setup
```

```{{code-cell}}
:cell: add
```

```{{code-cell}}
:cell: add-check
```

```{{code-cell}}
:cell: scale
```

```{{code-cell}}
:cell: scale-check
```
"""


@dataclass(frozen=True)
class TinyLab:
    """The small lab and ways to hand it in."""

    project: Project
    lab: Lab
    masters: Masters

    def notebook(self, lang: str = "es", **answers: str) -> dict[str, Any]:
        """What a learner hands in: the reference's answers, except for ``answers`` by cell, as plain JSON data."""
        node = handed_in(self.project, "tiny", lang, answers)
        found: dict[str, Any] = json.loads(nbformat.writes(node))
        return found

    def hand_in(self, folder: Path, learner: str, lang: str = "es", **answers: str) -> Path:
        """Write the notebook in nbgrader's layout and give its path."""
        path = folder / learner / "tiny" / "tiny.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(self.notebook(lang, **answers)), encoding="utf-8")
        return path


def write_lab(root: Path) -> Project:
    """A course that holds the small lab and nothing else."""
    folder = root / "labs" / "tiny"
    folder.mkdir(parents=True)
    (root / "lessons").mkdir()
    (folder / "lab.toml").write_text(LAB_TOML, encoding="utf-8")
    (folder / "cells.py").write_text(CELLS, encoding="utf-8")
    (folder / "checks.py").write_text(CHECKS, encoding="utf-8")
    (folder / "messages.toml").write_text(MESSAGES, encoding="utf-8")
    (folder / "es.md").write_text(PROSE.format(title="Prueba", text="Suma y escala."), encoding="utf-8")
    (folder / "pt.md").write_text(PROSE.format(title="Teste", text="Soma e escala."), encoding="utf-8")
    return Project(root)


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or fills the cache of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SISTOLICA_CACHE", os.environ.get("SISTOLICA_CACHE") or str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def place() -> Iterator[Ground]:
    """Where ``sistolica grade`` runs learners' code on this machine, started once for all tests."""
    said: list[str] = []
    with ground(said.append, "es", ["tpu_kernels.models.hardware"], "cpu") as found:
        assert found.nursery is not None, said
        yield found


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyLab:
    project = write_lab(tmp_path_factory.mktemp("course"))
    releases = {lang: lab_notebook(project, "tiny", lang, "release") for lang in ("es", "pt")}
    masters = Masters(releases, lab_notebook(project, "tiny", "es", "source"))
    return TinyLab(project, read_lab("tiny", project.labs), masters)
