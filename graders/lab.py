"""A lab as its folder describes it: exercises, criteria, points, checks, messages.

``labs/<id>/lab.toml``::

    title = { es = "…", pt = "…" }

    [exercises.blocked]                  # in the order of the notebook
    title = { es = "…", pt = "…" }
    time_limit_s = 10                    # for each call of the learner's code
    criteria = { values = 1, edges = 1 } # points, in the order they are checked

beside it ``checks.py`` (one function per exercise) and ``messages.toml`` (``[blocked] edges`` names the criterion,
``edges-hint`` helps when it fails). Notebooks are built elsewhere; here nothing but the standard library is imported.
"""

import importlib.util
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from tpu_kernels.messages import LANGUAGES, Catalogue, MessageError

# Binary fractions: sums of them are exact, so a total never prints as 6.999999.
POINT_STEP = 0.25

CHECK_SUFFIX = "-check"
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class LabError(Exception):
    """A lab that does not exist or whose files do not agree: says the file, what is wrong and what to do."""


@dataclass(frozen=True)
class Exercise:
    """One exercise: ``criteria`` maps each criterion's key to its points; ``time_limit_s`` bounds each call."""

    key: str
    title: Mapping[str, str]
    criteria: Mapping[str, float]
    time_limit_s: float

    @property
    def points(self) -> float:
        return sum(self.criteria.values())


@dataclass(frozen=True)
class Lab:
    """A lab read from ``folder``; its id is the folder's name and the canonical name of its notebook."""

    folder: Path
    title: Mapping[str, str]
    exercises: Mapping[str, Exercise]

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises.values())

    def exercise_of(self, grade_id: str) -> str | None:
        """The exercise that a test cell checks: the cell is called ``<exercise>-check``."""
        key = grade_id.removesuffix(CHECK_SUFFIX)
        return key if key != grade_id and key in self.exercises else None

    @cached_property
    def phrase(self) -> Catalogue:
        """The lab's own messages."""
        return Catalogue(self.folder / "messages.toml")

    @cached_property
    def checks(self) -> Mapping[str, Callable[..., None]]:
        """The check of each exercise, from ``checks.py``; raises :class:`LabError` when one is missing."""
        path = self.folder / "checks.py"
        module = _load_module(f"_sistolica_checks_{self.id.replace('-', '_')}", path)
        found: dict[str, Callable[..., None]] = {}
        for key in self.exercises:
            check = getattr(module, key.replace("-", "_"), None)
            if not callable(check):
                wanted = f"def {key.replace('-', '_')}(learner, rng, report)"
                raise LabError(f"{path}: no check for exercise {key!r}: write {wanted}")
            found[key] = check
        return found

    def require_sound(self) -> None:
        """Raises :class:`LabError` for what would spoil every grade: checks that do not load, criteria without text."""
        _ = self.checks
        try:
            for key, exercise in self.exercises.items():
                for criterion in exercise.criteria:
                    for lang in LANGUAGES:
                        self.criterion_name(key, criterion, lang)
        except (OSError, ValueError, MessageError) as error:
            raise LabError(f"{self.folder / 'messages.toml'}: {error}") from None

    def criterion_name(self, exercise: str, criterion: str, lang: str) -> str:
        """What the criterion asks, in one phrase."""
        return self.phrase(f"{exercise}.{criterion}", lang=lang)

    def hint(self, exercise: str, hint: str, lang: str, values: Mapping[str, str] | None = None) -> str:
        """The help that goes with a failed criterion."""
        return self.phrase(f"{exercise}.{hint}", lang=lang, **(values or {}))


def labs_folder() -> Path:
    """Where the labs are: ``labs/`` of the checkout, or the copy that travels in the installed package.

    Raises :class:`LabError` when neither is there.
    """
    checkout = Path(__file__).resolve().parent.parent / "labs"
    if checkout.is_dir():
        return checkout
    # The platform's package carries the copy; it is found by name, not imported: the grader does not depend on it.
    platform = importlib.util.find_spec("sistolica")
    for place in (platform.submodule_search_locations or []) if platform else []:
        packaged = Path(place) / "_labs"
        if packaged.is_dir():
            return packaged
    raise LabError(f"no labs: neither {checkout} nor the installed package holds any; install the course again")


def lab_ids(folder: Path | None = None) -> list[str]:
    """The ids of all labs, sorted."""
    return sorted(path.parent.name for path in (folder or labs_folder()).glob("*/lab.toml"))


def read_lab(lab_id: str, folder: Path | None = None) -> Lab:
    """The lab with this id. Raises :class:`LabError` for an unknown id or an unsound ``lab.toml``."""
    root = folder or labs_folder()
    path = root / lab_id / "lab.toml"
    if lab_id not in lab_ids(root):
        raise LabError(f"unknown lab {lab_id!r}: {root} holds {', '.join(lab_ids(root)) or 'none'}")
    if not _ID.fullmatch(lab_id):  # it names files, and nbgrader's assignment
        raise LabError(f"{path.parent}: {lab_id!r} is no name for a lab: use lower case, digits and hyphens")
    try:
        described = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # not TOML, or not UTF-8
        raise LabError(f"{path}: not TOML: {error}") from None
    exercises = {key: _exercise(path, key, table) for key, table in _table(path, described, "exercises").items()}
    if not exercises:
        raise LabError(f"{path}: no exercises: add a table [exercises.NAME]")
    return Lab(path.parent, _spoken(path, described, "title"), exercises)


def _exercise(path: Path, key: str, table: Any) -> Exercise:
    where = f"exercises.{key}"
    if not isinstance(table, dict):
        raise LabError(f"{path}: {where} is not a table")
    given = _table(path, table, "criteria")
    criteria = {name: _points(path, f"{where}.criteria.{name}", value) for name, value in given.items()}
    if not criteria:
        raise LabError(f"{path}: {where} has no criteria: give at least one with its points")
    limit = table.get("time_limit_s")
    if not isinstance(limit, int | float) or isinstance(limit, bool) or not 0 < limit <= 600:
        raise LabError(f"{path}: {where}.time_limit_s is {limit!r}: expected seconds, above 0 and up to 600")
    return Exercise(key, _spoken(path, table, "title"), criteria, float(limit))


def _points(path: Path, where: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0 or value % POINT_STEP:
        raise LabError(f"{path}: {where} is {value!r}: expected points above 0, a multiple of {POINT_STEP}")
    return float(value)


def _table(path: Path, parent: dict[str, Any], key: str) -> dict[str, Any]:
    table = parent.get(key)
    if not isinstance(table, dict):
        raise LabError(f"{path}: no table {key!r}")
    return table


def _spoken(path: Path, parent: dict[str, Any], key: str) -> dict[str, str]:
    texts = parent.get(key)
    if not isinstance(texts, dict) or any(not isinstance(texts.get(lang), str) for lang in LANGUAGES):
        raise LabError(f"{path}: {key} needs a text in each of {', '.join(LANGUAGES)}")
    return texts


def _load_module(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise LabError(f"{path}: missing: a lab needs its checks")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and typing look their module up by name
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise LabError(f"{path}: cannot be loaded: {type(error).__name__}: {error}") from error
    return module
