"""Labs as notebooks: one source, two languages, three forms; what nbgrader makes of them; what is released."""

import io
import json
import re
from pathlib import Path

import nbformat
import pytest
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from rich.console import Console
from traitlets.config import Config

from graders.lab import LabError
from graders.phrases import phrase
from sistolica.commands.labs import MANIFEST, release
from sistolica.lesson.errors import LessonError
from sistolica.lesson.lab import lab_ids, lab_notebook
from sistolica.project import Project, find_project

PROJECT = find_project(Path(__file__))
LANGUAGES = ("es", "pt")


def code_cells(notebook):
    return {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}


@pytest.fixture
def course(tmp_path):
    """A copy of the matmul lab to break."""
    folder = tmp_path / "labs" / "matmul"
    folder.mkdir(parents=True)
    for path in (PROJECT.labs / "matmul").glob("*.*"):
        (folder / path.name).write_bytes(path.read_bytes())
    return Project(tmp_path)


def edit(course, name, old, new):
    path = course.labs / "matmul" / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_two_languages_are_peers():
    for form in ("source", "release", "solution"):
        es, pt = (lab_notebook(PROJECT, "matmul", lang, form) for lang in LANGUAGES)
        assert [(cell.id, cell.cell_type) for cell in es.cells] == [(cell.id, cell.cell_type) for cell in pt.cells]
        marks = [
            [{**cell.metadata.nbgrader, "checksum": None} for cell in code_cells(one).values()] for one in (es, pt)
        ]
        assert marks[0] == marks[1]
        assert (es.metadata.sistolica.lang, pt.metadata.sistolica.lang) == LANGUAGES
        assert 'messages.use("es")' in code_cells(es)["setup"].source
        assert 'messages.use("pt")' in code_cells(pt)["setup"].source


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_comment_of_the_other_language_is_left(lang):
    for form in ("source", "release", "solution"):
        text = "\n".join(cell.source for cell in lab_notebook(PROJECT, "matmul", lang, form).cells)
        assert not re.search(r"#(es|pt)\b", text)
        assert ("tesela" in text, "bloco" in text) == (lang == "es", lang == "pt")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_each_kind_of_cell_is_marked_for_nbgrader(lang):
    cells = code_cells(lab_notebook(PROJECT, "matmul", lang, "release"))
    kinds = {
        name: (one.metadata.nbgrader.solution, one.metadata.nbgrader.grade, one.metadata.nbgrader.locked)
        for name, one in cells.items()
    }
    assert kinds["blocked"] == (True, False, False)
    assert kinds["blocked-check"] == (False, True, True)
    assert kinds["setup"] == kinds["peak-time"] == (False, False, True)
    assert sum(one.metadata.nbgrader.get("points", 0) for one in cells.values()) == 10
    assert all(one.metadata.nbgrader.grade_id == name for name, one in cells.items())
    assert all(one.metadata.nbgrader.schema_version == 3 for one in cells.values())


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_forms_differ_in_the_solutions_only(lang):
    source, released, solved = (
        code_cells(lab_notebook(PROJECT, "matmul", lang, f)) for f in ("source", "release", "solution")
    )
    stub = phrase("lab.stub", lang=lang).splitlines()[1]
    assert "raise NotImplementedError" in stub
    for name in source:
        if source[name].metadata.nbgrader.solution:
            assert "### BEGIN SOLUTION" in source[name].source
            assert stub in released[name].source
            assert "SOLUTION" not in released[name].source + solved[name].source
            without_marks = [
                line for line in source[name].source.split("\n") if "# BEGIN" not in line and "# END" not in line
            ]
            assert solved[name].source == "\n".join(without_marks)
        else:
            assert source[name].source == released[name].source == solved[name].source
    for one in released.values():
        compile(one.source, one.id, "exec")


@pytest.fixture(scope="module")
def assigned(tmp_path_factory):
    """What ``nbgrader generate_assignment`` makes of our source, told to write our stub."""
    found = {}
    for lang in LANGUAGES:
        folder = tmp_path_factory.mktemp(f"course-{lang}")
        path = folder / "source" / "matmul" / "matmul.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(nbformat.writes(lab_notebook(PROJECT, "matmul", lang, "source")), encoding="utf-8")
        config = Config()
        config.ClearSolutions.code_stub = {"python": phrase("lab.stub", lang=lang)}
        config.GenerateAssignment.no_database = True
        config.GenerateAssignment.preprocessors = [
            name for name in GenerateAssignment.preprocessors.default_args[0] if name.__name__ != "SaveCells"
        ]
        GenerateAssignment(coursedir=CourseDirectory(root=str(folder), assignment_id="matmul"), config=config).start()
        found[lang] = nbformat.read(folder / "release" / "matmul" / "matmul.ipynb", as_version=4)
    return found


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_release_is_what_nbgrader_would_make(assigned, lang):
    ours = lab_notebook(PROJECT, "matmul", lang, "release")
    assert [cell.source for cell in ours.cells] == [cell.source for cell in assigned[lang].cells]
    assert [cell.metadata for cell in ours.cells] == [cell.metadata for cell in assigned[lang].cells]


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "cells.py",
            "# %% blocked-check",
            "# %% blocked-test",
            "cells.py:1: exercise 'blocked' of lab.toml has no check",
        ),
        ("cells.py", 'check("flops")', 'check("jax")', "check cell reads"),
        ("lab.toml", "[exercises.flops]", "[exercises.flop]", "exercise 'flop' of lab.toml has no check"),
        ("cells.py", "    ### END SOLUTION\n", "", "solution region inside another|never ends"),
        ("cells.py", "    ### BEGIN SOLUTION\n", "", "END SOLUTION before any BEGIN"),
        (
            "es.md",
            ":cell: jax-check\n",
            ":cell: jax-chek\n",
            "es.md:.*unknown cell 'jax-chek'.*Did you mean 'jax-check'",
        ),
        ("es.md", ":cell: jax\n", ":cell: naive\n", "placed twice"),
    ],
)
def test_files_that_disagree_are_named_with_a_line_and_a_cure(course, file, old, new, said):
    if file == "cells.py" and old.startswith("# %%"):
        for lang in LANGUAGES:
            edit(course, f"{lang}.md", "blocked-check", "blocked-test")
    edit(course, file, old, new)
    with pytest.raises(LessonError, match=said):
        lab_notebook(course, "matmul", "es", "release")


def test_a_check_for_no_exercise_is_named(course):
    edit(course, "cells.py", "# %% peak-time", '# %% speed-check\ncheck("speed")\n\n# %% peak-time')
    for lang in LANGUAGES:
        edit(course, f"{lang}.md", ":cell: peak-time", ":cell: speed-check\n```\n\n```{code-cell}\n:cell: peak-time")
    with pytest.raises(LessonError, match="'speed-check' belongs to no exercise"):
        lab_notebook(course, "matmul", "es", "release")


def test_a_missing_language_is_named(course):
    (course.labs / "matmul" / "pt.md").unlink()
    with pytest.raises(LessonError, match=r"pt\.md.*missing"):
        lab_notebook(course, "matmul", "pt", "release")


def test_unknown_labs_forms_and_languages_are_refused():
    with pytest.raises(LabError, match="unknown lab 'x'"):
        lab_notebook(PROJECT, "x", "es", "release")
    with pytest.raises(ValueError, match="unknown form 'draft'"):
        lab_notebook(PROJECT, "matmul", "es", "draft")
    with pytest.raises(ValueError, match="unknown language 'fr'"):
        lab_notebook(PROJECT, "matmul", "fr", "release")


class Terminal:
    def __init__(self):
        self.console, self.complaints = (Console(file=io.StringIO(), width=40) for _ in range(2))

    def release(self, out, **options):
        return release(PROJECT, out, self.console, self.complaints, **options)

    @property
    def said(self):
        return self.console.file.getvalue()

    @property
    def complained(self):
        return self.complaints.file.getvalue()


@pytest.fixture
def terminal():
    return Terminal()


def files_in(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_release_has_one_canonical_name_per_language_and_repeats_itself(terminal, tmp_path):
    assert terminal.release(tmp_path / "out") == 0
    labs = {f"{lang}/{lab}/{lab}.ipynb" for lang in LANGUAGES for lab in lab_ids(PROJECT)}
    first = files_in(tmp_path / "out")
    assert set(first) == labs | {MANIFEST}
    assert terminal.release(tmp_path / "out") == 0
    assert files_in(tmp_path / "out") == first
    for name in labs:
        nbformat.validate(nbformat.reads(first[name].decode(), as_version=4))
        assert b"BEGIN SOLUTION" not in first[name]


def test_one_lab_in_one_language(terminal, tmp_path):
    assert terminal.release(tmp_path / "out", lab_id="matmul", lang="pt") == 0
    assert set(files_in(tmp_path / "out")) == {"pt/matmul/matmul.ipynb", MANIFEST}
    assert terminal.said.startswith("Notebooks em ")
    assert terminal.release(tmp_path / "out", lab_id="matmul", lang="es") == 0
    manifest = json.loads((tmp_path / "out" / MANIFEST).read_text())
    assert manifest["files"] == ["es/matmul/matmul.ipynb", "pt/matmul/matmul.ipynb"]


def test_a_folder_that_is_somebody_elses_is_left_alone(terminal, tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    assert terminal.release(tmp_path) == 2
    assert "no está vacía y no la hizo esta orden" in terminal.complained
    assert files_in(tmp_path) == {"mine.txt": b"x"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"lab_id": "x"}, "no hay ningún laboratorio 'x': existen"),
        ({"lab_id": "x", "lang": "pt"}, "não há nenhum laboratório 'x'"),
        ({"lang": "fr"}, "idioma desconocido 'fr'"),
    ],
)
def test_a_wrong_command_is_one_line_and_writes_nothing(terminal, tmp_path, options, said):
    assert terminal.release(tmp_path / "out", **options) == 2
    assert said in terminal.complained
    assert terminal.complained.count("\n") == 1
    assert not (tmp_path / "out").exists()
