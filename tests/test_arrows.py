"""Arrows between packages point one way, modules are named for what they hold, files are read in one sitting.

``tpu_kernels`` knows nobody, ``graders`` knows ``tpu_kernels``, ``sistolica`` knows both. The models run in a browser
as they are. Content (``book/``, ``lessons/``, ``labs/``) calls the library and the grader, never the platform.
Modules are parsed, not imported: an import inside a function is an arrow too.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("tpu_kernels", "graders", "sistolica")
CONTENT = ("book", "lessons", "labs")
OURS = {*PACKAGES, *CONTENT, "tests"}
VAGUE = re.compile(r"_*(utils?|helpers?|commons?|misc(ellaneous)?)")
LONGEST = 400  # lines

# A wrong solution may be no Python at all.
IMPORT_LINE = re.compile(r"^\s*(?:from|import)\s+([\w.]+)", re.MULTILINE)


def imported(source: str, package: str) -> set[str]:
    """What ``source``, a module of ``package``, imports anywhere, by full name: ``from a import b`` gives ``a.b``."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                found |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=module, names=names, level=level):
                parents = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                found |= {".".join([*parents, *filter(None, [module]), alias.name]) for alias in names}
            case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _imports_by_name(node.func):
                found.add(name)
    return found


def _imports_by_name(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in {"import_module", "__import__"}


def imports_of(path: Path) -> set[str]:
    source = path.read_text(encoding="utf-8")
    try:
        return imported(source, ".".join(path.relative_to(ROOT).parent.parts))
    except SyntaxError:
        assert "wrong" in path.parts, f"{path} does not parse"
        return set(IMPORT_LINE.findall(source))


def modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def arrows(folders: tuple[str, ...], forbidden: set[str]) -> Iterator[str]:
    """Imports, in the modules of ``folders``, of anything in ``forbidden`` (top-level names)."""
    for path in modules(*folders):
        for name in sorted(imports_of(path)):
            if name.partition(".")[0] in forbidden:
                yield f"{path.relative_to(ROOT)} imports {name}"


def test_tpu_kernels_knows_nobody() -> None:
    assert list(arrows(("tpu_kernels",), OURS - {"tpu_kernels"})) == []


def test_graders_knows_only_tpu_kernels() -> None:
    assert list(arrows(("graders",), OURS - {"tpu_kernels", "graders"})) == []


def test_the_platform_imports_no_content() -> None:
    assert list(arrows(("sistolica",), {*CONTENT, "tests"})) == []


def test_content_never_calls_the_platform() -> None:
    assert list(arrows(CONTENT, OURS - {"tpu_kernels", "graders"})) == []


def test_content_keeps_out_of_the_packages_insides() -> None:
    private = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(*CONTENT)
        for name in sorted(imports_of(path))
        if name.partition(".")[0] in PACKAGES and any(part.startswith("_") for part in name.split("."))
    ]
    assert private == []


def test_the_models_import_only_the_standard_library() -> None:
    known = {*sys.stdlib_module_names, "tpu_kernels"}
    what_they_stand_on = [ROOT / "tpu_kernels" / name for name in ("__init__.py", "messages.py", "phrases.py")]
    foreign = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in [*modules("tpu_kernels/models"), *what_they_stand_on]
        for name in sorted(imports_of(path))
        if name.partition(".")[0] not in known
    ]
    assert foreign == []


def test_there_are_modules_to_look_at_in_every_folder() -> None:
    """Without files, everything above would pass."""
    assert all(modules(folder) for folder in (*PACKAGES, "tpu_kernels/models", "lessons", "labs", "tests"))


@pytest.mark.parametrize("folder", [*PACKAGES, *CONTENT, "tests"])
def test_names_say_what_lives_there(folder: str) -> None:
    vague = [
        str(path.relative_to(ROOT))
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".js", ""} and VAGUE.fullmatch(path.stem)
    ]
    assert vague == []


@pytest.mark.parametrize("folder", [*PACKAGES, *CONTENT, "tests"])
def test_files_are_read_in_one_sitting(folder: str) -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in (ROOT / folder).rglob("*")
        if "node_modules" not in path.parts
        and path.suffix in {".py", ".js", ".mjs"}
        and (count := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST
    }
    assert long == {}


@pytest.mark.parametrize(
    ("source", "package", "found"),
    [
        ("import graders.lab as lab, json", "tpu_kernels", {"graders.lab", "json"}),
        ("def f():\n    from sistolica import project", "graders", {"sistolica.project"}),
        ("from . import lab", "graders", {"graders.lab"}),
        ("from .lab import read_lab as r", "graders", {"graders.lab.read_lab"}),
        ("from ..lab import read_lab", "graders.farm", {"graders.lab.read_lab"}),
        ("import importlib\nimportlib.import_module('sistolica.project')", "labs", {"importlib", "sistolica.project"}),
        ("__import__('sistolica')", "lessons", {"sistolica"}),
        ("if TYPE_CHECKING:\n    import numpy", "tpu_kernels.models", {"numpy"}),
    ],
)
def test_every_way_of_importing_is_seen(source: str, package: str, found: set[str]) -> None:
    assert imported(source, package) == found


@pytest.mark.parametrize("name", ["utils", "helper", "common", "_helpers", "misc"])
def test_vague_names_are_recognised(name: str) -> None:
    assert VAGUE.fullmatch(name)


@pytest.mark.parametrize("name", ["common_mode", "commonsense", "utilisation", "notebook_file"])
def test_other_names_are_left_alone(name: str) -> None:
    assert not VAGUE.fullmatch(name)
