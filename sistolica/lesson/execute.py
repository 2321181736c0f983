"""Running a lesson: its outputs, and the values of its variables that the prose quotes.

A cell that fails, waits for input or takes too long is a :class:`LessonError` that names the page and the cell; nothing
of that run is kept. What ran well is kept under a name made from everything it depends on (the code, the language, the
whole of ``tpu_kernels`` and the versions of what it imports), so a changed number reruns every page, and nothing else
does. jupyter-cache was not used because its key knows the code of the cells only.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import platform
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode, v4
from traitlets.config import Config

import tpu_kernels
from sistolica.lesson import quoted_values
from sistolica.lesson.errors import LessonError
from sistolica.lesson.notebook import KERNELSPEC, Lesson

_LIBRARY = Path(tpu_kernels.__file__).parent
MOST_SHOWN = 2 * 2**20  # characters of the outputs of one cell, images included
TIMEOUT_S = 20  # per cell, unless its header says timeout="…"
_VALUES_CELL = "quoted_values"  # no cell of a lesson has an underscore in its name


@dataclass(frozen=True)
class Executed:
    """A notebook with its outputs, and for each quoted variable its ``value`` and its ``unit`` (or ``None``)."""

    notebook: NotebookNode
    values: dict[str, dict[str, Any]]


def execute(lesson: Lesson, cache_folder: Path) -> Executed:
    """Run the cells of ``lesson``, or take the outputs of an equal run from ``cache_folder``.

    Raises :class:`LessonError` for a cell that fails or exceeds its time, for a quoted name that no cell defines, and
    for an image without an alternative text.
    """
    names = sorted(lesson.quoted())
    notebook = lesson.notebook()
    if not any(cell.cell_type == "code" for cell in notebook.cells):
        if names:
            problem, cure = f"quotes {names[0]!r} but runs no cell", "Place the cell that computes it"
            raise LessonError(lesson.prose.path, _line_that_quotes(lesson, names[0]), problem, cure)
        return Executed(notebook, {})
    record = cache_folder / lesson.lang / lesson.slug / f"{_key(notebook, names, lesson.lang)}.json"
    stored = _read(record)
    if stored is None:
        stored = _run(lesson, notebook, names)
        _write(record, stored)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [nbformat.from_dict(output) for output in stored["outputs"][cell.id]]
            cell.execution_count = stored["counts"][cell.id]
    _refuse_undescribed_images(lesson, notebook)
    return Executed(notebook, stored["values"])


def _key(notebook: NotebookNode, names: list[str], lang: str) -> str:
    code = [[cell.id, cell.source] for cell in notebook.cells if cell.cell_type == "code"]
    ingredients = [code, names, lang, library_digest(), _versions()]
    return hashlib.sha256(json.dumps(ingredients).encode()).hexdigest()[:24]


@cache
def library_digest() -> str:
    """A digest of every source and data file of ``tpu_kernels``."""
    digest = hashlib.sha256()
    for path in library_files():
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(_LIBRARY).as_posix()}\0{content}\0".encode())
    return digest.hexdigest()


def library_files() -> list[Path]:
    """The source and data files that any cell may depend on."""
    return sorted(path for path in _LIBRARY.rglob("*") if path.suffix in {".py", ".toml"})


@cache
def _versions() -> list[str]:
    found = [platform.python_version()]
    for package in ("ipykernel", "jax", "matplotlib", "numpy"):
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return found


def _read(record: Path) -> dict[str, Any] | None:
    try:
        stored = json.loads(record.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):  # never run, or a record cut short: run again
        return None
    return stored if isinstance(stored, dict) and stored.keys() >= {"outputs", "counts", "values"} else None


def _write(record: Path, stored: dict[str, Any]) -> None:
    record.parent.mkdir(parents=True, exist_ok=True)
    for old in record.parent.glob("*.json"):  # a page's folder may hold the folders of other pages, but no records
        old.unlink(missing_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=record.parent, delete=False) as partial:
        json.dump(stored, partial, ensure_ascii=False)
    Path(partial.name).replace(record)  # whole or not at all


def _run(lesson: Lesson, notebook: NotebookNode, names: list[str]) -> dict[str, Any]:
    working = nbformat.from_dict(notebook)
    working.cells = [cell for cell in working.cells if cell.cell_type == "code"]
    if names:
        working.cells.append(v4.new_code_cell(quoted_values.source(names), id=_VALUES_CELL))

    started: list[NotebookNode] = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as sockets:
        client = NotebookClient(
            working,
            kernel_name=KERNELSPEC["name"],
            config=_connection(sockets),
            shutdown_kernel="immediate",
            timeout_func=lambda cell: _allowance_s(lesson, cell.id),
            on_cell_start=lambda cell, cell_index: started.append(cell),
            resources={"metadata": {"path": folder}},
        )
        try:
            asyncio.run(client.async_execute(env={**os.environ, **_ENVIRONMENT, "SISTOLICA_LANG": lesson.lang}))
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise _failure(lesson, started[-1].id, error) from None
    stored: dict[str, Any] = {"outputs": {}, "counts": {}, "values": {}}
    for cell in working.cells:
        if cell.id == _VALUES_CELL:
            stored["values"] = quoted_values.read(cell)
        else:
            _refuse_flood(lesson, cell)
            stored["outputs"][cell.id] = cell.outputs
            stored["counts"][cell.id] = cell.execution_count
    _refuse_unquotable(lesson, stored["values"])
    return stored


def _connection(sockets: str) -> Config:
    """How to reach the kernel: by socket files in a folder of its own where the system has them: no port is shared."""
    config = Config()
    if sys.platform != "win32":
        config.KernelManager.transport = "ipc"
        config.KernelManager.ip = f"{sockets}/kernel"
    return config


_ENVIRONMENT = {"PYTHONHASHSEED": "0", "JAX_PLATFORMS": "cpu", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


def _allowance_s(lesson: Lesson, name: str) -> int:
    cell = lesson.cells.get(name)
    return int(cell.options.get("timeout", TIMEOUT_S)) if cell else TIMEOUT_S


def _failure(lesson: Lesson, name: str, error: Exception) -> LessonError:
    if isinstance(error, CellExecutionError):
        reason = f"{error.ename}: {error.evalue}"
    elif isinstance(error, DeadKernelError):
        reason = "the kernel died"
    else:
        reason = f"it took more than {_allowance_s(lesson, name)} s"
    if name == _VALUES_CELL:
        return LessonError(lesson.prose.path, 1, f"its quoted values could not be read: {reason}", "Mend its cells")
    cell = lesson.cells[name]
    return LessonError(
        cell.path,
        cell.line,
        f"page {lesson.slug!r} ({lesson.lang}), cell {name!r} failed: {reason}",
        f"Run the script alone (python {cell.path.name}) and mend the cell",
    )


def _line_that_quotes(lesson: Lesson, name: str) -> int:
    """1 when only a question of the quiz quotes it."""
    return next((line for text, line in lesson.prose.roles("calc") if text.split(":")[0] == name), 1)


def _refuse_unquotable(lesson: Lesson, values: dict[str, Any]) -> None:
    for name, value in values.items():
        line = _line_that_quotes(lesson, name)
        if value is None:
            cure = "Assign it in a cell of the lesson's script"
            raise LessonError(lesson.prose.path, line, f"quotes {name!r}, which no cell defines", cure)
        if value["value"] is None:
            cure = "Quote an int, a float or a Quantity that is finite"
            raise LessonError(lesson.prose.path, line, f"quotes {name!r}, which is not a number: {value['got']}", cure)


def _refuse_flood(lesson: Lesson, cell: NotebookNode) -> None:
    """A page is downloaded, searched and read whole."""
    size = sum(len(json.dumps(output)) for output in cell.outputs)
    if size > MOST_SHOWN:
        problem = f"page {lesson.slug!r} ({lesson.lang}), cell {cell.id!r} shows {size / 2**20:.1f} MiB"
        cure = f"Show less: a page takes up to {MOST_SHOWN // 2**20} MiB of a cell"
        raise LessonError(lesson.cells[cell.id].path, lesson.cells[cell.id].line, problem, cure)


def _refuse_undescribed_images(lesson: Lesson, notebook: NotebookNode) -> None:
    described = {placement.cell: placement for placement in lesson.prose.placements}
    for cell in notebook.cells:
        shows_image = cell.cell_type == "code" and any(
            mime.startswith("image/") for output in cell.outputs for mime in output.get("data", {})
        )
        if shows_image and described[cell.id].alt is None:
            raise LessonError(
                lesson.prose.path,
                described[cell.id].line,
                f"cell {cell.id!r} shows an image without a text",
                "Add :alt: with what it shows and the number to take away",
            )
