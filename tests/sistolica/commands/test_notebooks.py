"""``sistolica notebooks``: what it writes, and what it leaves to whoever works there."""

import io
import json

import pytest
from rich.console import Console

from sistolica.commands.notebooks import write_notebooks


@pytest.fixture
def written(small_course, tmp_path):
    """Runs the command; gives what it said, and the texts of the files that are there then."""

    def run(lang=None):
        console = Console(file=io.StringIO(), width=40, force_terminal=False)
        assert write_notebooks(small_course, tmp_path / "out", console, lang) == 0
        files = {path.relative_to(tmp_path / "out").as_posix(): path for path in (tmp_path / "out").rglob("*.ipynb")}
        return console.file.getvalue(), files

    return run


def test_each_page_with_code_in_each_language(written):
    said, files = written()
    assert {path.split("/")[0] for path in files} == {"es", "pt"}
    assert {path.split("/", 1)[1] for path in files if path.startswith("es")} == {
        path.split("/", 1)[1] for path in files if path.startswith("pt")
    }
    assert said.endswith(f"Cuadernos en {files.popitem()[1].parents[2]}: {len(files) + 1}\n")


def test_one_language(written):
    said, files = written("pt")
    assert files
    assert all(path.startswith("pt/") for path in files)
    assert "Notebooks em" in said


def test_what_somebody_worked_on_is_kept_and_named(written):
    path = min(written("es")[1].values())
    fresh = path.read_text(encoding="utf-8")
    notebook = json.loads(fresh)
    notebook["cells"][-1]["source"] = ["my own answer\n", "in two lines"]
    path.write_text(json.dumps(notebook), encoding="utf-8")
    before = path.read_bytes()
    said, _ = written("es")
    assert path.read_bytes() == before
    assert f"{path} tiene cambios tuyos y se queda como está" in said
    path.unlink()
    written("es")
    assert path.read_text(encoding="utf-8") == fresh


def test_what_only_ran_is_written_again(written):
    path = min(written("es")[1].values())
    fresh = path.read_text(encoding="utf-8")
    notebook = json.loads(fresh)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["1"]}]
    path.write_text(json.dumps(notebook), encoding="utf-8")
    said, _ = written("es")
    assert path.read_text(encoding="utf-8") == fresh
    assert "cambios" not in said


@pytest.mark.parametrize("content", ["", "{", "[]", '{"cells": []}', '{"cells": 3, "metadata": {"sistolica": {}}}'])
def test_a_file_that_is_not_ours_is_kept(written, content):
    path = min(written("es")[1].values())
    path.write_text(content)
    assert str(path) in written("es")[0]
    assert path.read_text() == content
