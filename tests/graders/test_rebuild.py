"""The notebook that runs: the learner's answers in the master, nothing of theirs in place of a test."""

import copy
import json

import pytest

from graders.notebook_file import UnreadableNotebookError, read_notebook
from graders.rebuild import rebuild


@pytest.fixture
def handed_in(tiny):
    """A notebook, a way to look one of its cells up, and to rebuild it."""
    return Workbench(tiny)


class Workbench:
    def __init__(self, tiny):
        self.tiny = tiny
        self.notebook = tiny.notebook("pt", add="def add(a, b):\n    return mine(a, b)")

    @property
    def cells(self):
        return self.notebook["cells"]

    def index(self, name):
        return next(i for i, cell in enumerate(self.cells) if cell["id"] == name)

    def cell(self, name):
        return self.cells[self.index(name)]

    def insert(self, at, source, **more):
        self.cells.insert(at, {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], **more})

    def rebuild(self, lang="es"):
        data = json.dumps(self.notebook).encode()
        return rebuild(self.tiny.masters.releases, read_notebook(data), lang)

    def code(self, lang="es"):
        return {cell.id: cell.source for cell in self.rebuild(lang).notebook.cells if cell.cell_type == "code"}

    def notices(self, lang="es"):
        return [(notice.key, notice.values) for notice in self.rebuild(lang).notices]


def test_an_untouched_release_gives_the_master_with_the_answers(handed_in):
    code = handed_in.code()
    master = {cell.id: cell.source for cell in handed_in.tiny.masters.releases["pt"].cells if cell.cell_type == "code"}
    assert list(code) == list(master)
    assert {name for name in code if code[name] != master[name]} == {"add", "scale"}
    assert "mine" in code["add"]
    assert handed_in.notices() == []


def test_the_language_is_that_of_the_metadata_then_of_the_prose_then_the_default(handed_in):
    assert handed_in.rebuild("es").lang == "pt"
    del handed_in.notebook["metadata"]["sistolica"]
    assert handed_in.rebuild("es").lang == "pt"
    handed_in.notebook["cells"] = [cell for cell in handed_in.cells if cell["cell_type"] == "code"]
    assert handed_in.rebuild("es").lang == "es"
    handed_in.notebook["metadata"]["sistolica"] = {"lang": "fr"}
    assert handed_in.rebuild("pt").lang == "pt"


def test_of_repeated_answers_the_last_counts_and_the_cells_are_named(handed_in):
    again = copy.deepcopy(handed_in.cell("add"))
    again["source"] = "def add(a, b):\n    return 'last'"
    at = handed_in.index("scale")
    handed_in.cells.insert(at, again)
    code = handed_in.code()
    assert "last" in code["add"]
    order = list(code)
    assert "mine" in code[order[order.index("add") - 1]]
    numbers = f"{handed_in.index('add') + 1}, {at + 1}"
    assert handed_in.notices() == [("repeated-answer", {"cell": "add", "numbers": numbers})]


def test_both_halves_of_a_split_answer_run_in_order(handed_in):
    half = copy.deepcopy(handed_in.cell("add"))
    half["source"] = "def mine(a, b):\n    return a + b"
    handed_in.cells.insert(handed_in.index("add"), half)
    handed_in.insert(handed_in.index("add") + 1, "between = 1")
    code = list(handed_in.code().values())
    halves = [
        next(i for i, source in enumerate(code) if start in source) for start in ("def mine", "return mine(a, b)")
    ]
    assert halves == sorted(halves)
    assert "between = 1" in code


def test_a_repeated_test_counts_once(handed_in):
    handed_in.cells.append(copy.deepcopy(handed_in.cell("add-check")))
    assert list(handed_in.code()).count("add-check") == 1
    assert len([cell for cell in handed_in.rebuild().notebook.cells if cell.source == 'check("add")']) == 1
    assert [key for key, _ in handed_in.notices()] == ["repeated-test"]


def test_an_edited_test_is_the_masters_again_and_only_it_is_named(handed_in):
    handed_in.cell("scale-check")["source"] = "pass  # always right"
    handed_in.cell("add-check")["source"] = 'check("add")  \n\n'
    assert handed_in.code()["scale-check"] == 'check("scale")'
    assert "always right" not in json.dumps(handed_in.rebuild().notebook)
    assert handed_in.notices() == [("changed", {"cell": "scale-check"})]


@pytest.mark.parametrize("lost", ["nbgrader", "sistolica"])
def test_either_of_the_two_marks_of_a_cell_is_enough(handed_in, lost):
    handed_in.cell("scale-check")["source"] = "pass"
    for name in ("add", "scale-check"):
        del handed_in.cell(name)["metadata"][lost]
    assert "mine" in handed_in.code()["add"]
    assert handed_in.notices() == [("changed", {"cell": "scale-check"})]


def test_points_and_flags_are_the_masters(handed_in):
    for cell in handed_in.cells:
        cell["metadata"].get("nbgrader", {}).update(points=1000, grade=False, solution=True)
    checks = [cell for cell in handed_in.rebuild().notebook.cells if cell.id.endswith("-check")]
    assert [cell.metadata.nbgrader.points for cell in checks] == [2.0, 3.0]
    assert all(cell.metadata.nbgrader.grade and not cell.metadata.nbgrader.solution for cell in checks)


def test_deleted_tests_are_there_again(handed_in):
    handed_in.notebook["cells"] = [cell for cell in handed_in.cells if not cell["id"].endswith("-check")]
    assert {"add-check", "scale-check"} <= set(handed_in.code())


def test_a_test_turned_into_text_is_code_again(handed_in):
    handed_in.cell("add-check")["cell_type"] = "markdown"
    assert handed_in.code()["add-check"] == 'check("add")'


def test_an_answer_turned_into_text_is_taken_as_code_and_said(handed_in):
    handed_in.cell("add")["cell_type"] = "markdown"
    assert "mine" in handed_in.code()["add"]
    assert handed_in.notices() == [("retyped", {"cell": "add"})]


def test_a_missing_answer_is_empty_and_said(handed_in):
    del handed_in.cells[handed_in.index("scale")]
    assert handed_in.code()["scale"] == ""
    assert handed_in.notices() == [("missing", {"cell": "scale"})]


def test_extra_cells_run_where_they_stand(handed_in):
    handed_in.insert(handed_in.index("add"), "def mine(a, b): return a + b")
    handed_in.insert(0, "import math")
    handed_in.insert(len(handed_in.cells), "print('end')")
    handed_in.insert(3, "   \n")
    order = list(handed_in.code())
    code = handed_in.code()
    where = {code[name].split("\n")[0]: order.index(name) for name in order}
    assert where["import math"] == 0
    assert where["def mine(a, b): return a + b"] < order.index("add")
    assert where["print('end')"] == len(order) - 1
    assert len(order) == 8
    assert handed_in.notices() == []


def test_what_was_added_to_a_cell_of_ours_runs_after_it(handed_in):
    setup = handed_in.cell("setup")
    setup["source"] = ["import math\n", *setup["source"]]
    code = handed_in.code()
    order = list(code)
    assert "import math" not in code["setup"]
    assert code[order[order.index("setup") + 1]].startswith("import math")
    assert handed_in.notices() == [("changed", {"cell": "setup"})]


def test_a_copy_of_ours_whose_metadata_is_gone_does_not_run_twice(handed_in):
    for cell in handed_in.cells:
        if cell["id"] in ("setup", "add-check"):
            cell["metadata"] = {}
    assert list(handed_in.code()) == ["setup", "add", "add-check", "scale", "scale-check"]


def test_pasted_into_a_new_notebook_the_answers_are_known_by_what_they_define(handed_in):
    for cell in handed_in.cells:
        cell["metadata"] = {}
        cell["id"] = f"x{len(cell['source'])}"
    code = handed_in.code()
    assert "mine" in code["add"]
    assert "factor" in code["scale"]
    assert [key for key, _ in handed_in.notices()] == ["by-definition"]


def test_a_syntax_error_does_not_hide_what_a_cell_defines(handed_in):
    handed_in.notebook["cells"] = [{"cell_type": "code", "source": "def add(a, b:\n    return", "metadata": {}}]
    assert handed_in.code()["add"].startswith("def add(a, b:")


@pytest.mark.parametrize(
    "cells", [[], [{"cell_type": "code", "source": "x = 1"}], [{"cell_type": "markdown", "source": "a"}]]
)
def test_a_notebook_of_something_else_is_refused(handed_in, cells):
    handed_in.notebook["cells"] = cells
    with pytest.raises(UnreadableNotebookError, match="unrecognised"):
        handed_in.rebuild()


def test_no_output_or_foreign_metadata_comes_along(handed_in):
    handed_in.notebook["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"a": {}}}
    handed_in.cell("add")["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "old"}]
    handed_in.cell("add")["metadata"]["secret"] = 1
    assert not {"widgets", "old", "secret"} & set(json.dumps(handed_in.rebuild().notebook).replace('"', " ").split())
