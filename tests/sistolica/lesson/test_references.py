"""The bibliography as text: what is wrong with it is said with its file."""

import pytest

from sistolica.lesson import LessonError
from sistolica.lesson.references import read_references


@pytest.mark.parametrize("content", [b"@book{kung, title = {x", b"\xff\xfe", b"@book{kung, author = {"])
def test_a_file_that_is_no_bibtex_is_named(tmp_path, content):
    path = tmp_path / "references.bib"
    path.write_bytes(content)
    with pytest.raises(LessonError, match=r"references\.bib:1: not BibTeX"):
        read_references(path, "es")


def test_no_file_is_no_reference(tmp_path):
    assert read_references(tmp_path / "absent.bib", "pt") == {}
