"""What editors, browsers and merges do to a file: read where the answers are there, refused with a line where not."""

import codecs
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.notebook_file import UnreadableNotebookError, read_notebook


@pytest.fixture
def notebook(tiny):
    return tiny.notebook("pt")


def answers(data: bytes) -> dict[str, str]:
    return {cell.grade_id: cell.source for cell in read_notebook(data).cells if cell.grade_id in ("add", "scale")}


def refusal(data: bytes) -> tuple[str, dict]:
    with pytest.raises(UnreadableNotebookError) as caught:
        read_notebook(data)
    return caught.value.status, caught.value.values


def test_a_notebook_as_jupyter_saves_it(notebook):
    read = read_notebook(json.dumps(notebook).encode())
    assert read.lang == "pt"
    assert [cell.number for cell in read.cells] == list(range(1, len(read.cells) + 1))
    assert "return a + b" in next(cell.source for cell in read.cells if cell.grade_id == "add")


def as_format_3(notebook):
    cells = []
    for cell in notebook["cells"]:
        cell = {**cell, "input": cell["source"], "language": "python"}
        del cell["source"]
        cells.append(cell)
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": notebook["metadata"], "worksheets": [{"cells": cells}]}


def with_metadata(notebook, **metadata):
    return {**notebook, "metadata": {**notebook["metadata"], **metadata}}


def without(notebook, *keys):
    return {**notebook, "metadata": {key: value for key, value in notebook["metadata"].items() if key not in keys}}


WIDGETS = {"application/vnd.jupyter.widget-state+json": {"a1": {"model_name": "HBoxModel", "state": {}}}}
MENDED = {
    "colab widgets without state": lambda nb: with_metadata(nb, widgets=WIDGETS, colab={"provenance": []}),
    "no kernelspec": lambda nb: without(nb, "kernelspec", "language_info"),
    "a kernel of the learner's machine": lambda nb: with_metadata(nb, kernelspec={"name": "conda-env-tpu-py"}),
    "kaggle and papermill": lambda nb: with_metadata(nb, papermill={"duration": 1.5}, kaggle={"accelerator": "tpu"}),
    "ids in a file that says 4.4": lambda nb: {**nb, "nbformat_minor": 4},
    "repeated cell ids": lambda nb: {**nb, "cells": [{**cell, "id": "same"} for cell in nb["cells"]]},
    "format 3": as_format_3,
    "no metadata in a cell": lambda nb: {**nb, "cells": [*nb["cells"], {"cell_type": "code", "source": "x"}]},
    "rubbish among the cells": lambda nb: {**nb, "cells": [*nb["cells"], 3, None, {"metadata": []}]},
    "metadata that is a list": lambda nb: {**nb, "metadata": []},
    "source as one string": lambda nb: {**nb, "cells": [{**c, "source": "".join(c["source"])} for c in nb["cells"]]},
}


@pytest.mark.parametrize("mend", MENDED)
def test_what_can_be_mended_gives_the_same_answers(notebook, mend):
    assert answers(json.dumps(MENDED[mend](notebook)).encode()) == answers(json.dumps(notebook).encode())


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: codecs.BOM_UTF8 + text.encode(),
        lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
        lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.encode("cp1252"),
    ],
    ids=["utf-8 mark", "utf-16-le", "utf-16-be", "crlf", "cp1252"],
)
def test_encodings_and_line_ends_do_not_matter(notebook, encode):
    written = json.dumps(notebook, ensure_ascii=False, indent=1)
    assert answers(encode(written)) == answers(written.encode())


def test_a_source_is_always_writable_and_runnable_text():
    cell = {"cell_type": "code", "source": ["a\ud800\0\r\n", "b\r", 3]}
    (read,) = read_notebook(json.dumps({"cells": [cell]}).encode()).cells
    assert read.source == "a?\nb\n"


LINES = json.dumps({"cells": [{"cell_type": "code", "source": ["x"], "metadata": {}}]}, indent=1).splitlines()


@pytest.mark.parametrize(
    ("data", "status", "values"),
    [
        (b"", "empty", {}),
        (b" \r\n\t", "empty", {}),
        (codecs.BOM_UTF8, "empty", {}),
        ("\n".join(LINES[:4]).encode(), "not-json", {"line": 4}),
        (b"{\n ]", "not-json", {"line": 2}),
        (b"\x89PNG\r\n\x1a\n\0\0", "not-json", {"line": 1}),
        (b'{"cells":' + b"[" * 100_000, "not-json", {"line": 1}),
        (b'{"cells": ' + b"1" * 5000 + b"}", "not-json", {"line": 1}),
        ("\n".join([*LINES[:3], "<<<<<<< HEAD", *LINES[3:]]).encode(), "conflict", {"line": 4}),
        ("\r\n".join([*LINES[:2], "=======", *LINES[2:]]).encode(), "conflict", {"line": 3}),
        ("\n".join([*LINES, ">>>>>>> theirs"]).encode(), "conflict", {"line": len(LINES) + 1}),
        (b"\n <!DOCTYPE html>\n<title>x</title>", "html", {}),
        (b"<HTML lang='es'>", "html", {}),
        (b"[1, 2]", "not-notebook", {}),
        (b'"text"', "not-notebook", {}),
        (b'{"cells": 3}', "not-notebook", {}),
        (b"{}", "not-notebook", {}),
    ],
)
def test_what_cannot_is_refused_with_its_reason(data, status, values):
    assert refusal(data) == (status, values)


def test_marks_inside_a_cell_of_a_sound_file_are_the_learners_business():
    cell = {"cell_type": "code", "source": "<<<<<<< HEAD\nx"}
    assert read_notebook(json.dumps({"cells": [cell]}).encode()).cells[0].source.startswith("<<<")


@settings(deadline=None)
@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_read_or_refused(data):
    try:
        read_notebook(data)
    except UnreadableNotebookError as error:
        assert error.status in {"empty", "not-json", "conflict", "html", "not-notebook"}


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["cells", "metadata", "source", "x"]), inner),
    )
)
def test_any_json_is_read_or_refused(value):
    try:
        read_notebook(json.dumps(value).encode())
    except UnreadableNotebookError as error:
        assert error.status == "not-notebook"
