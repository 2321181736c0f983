"""The two files that the build reads: what is in them with another shape is said in one line, whatever it is."""

import pytest

from sistolica.project import Project
from sistolica.site.build import build
from sistolica.site.settings import BuildError, read_config, read_toc

TOC = "format: jb-book\nroot: book/es/index\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "got NoneType, expected a table of key: value"),
        ("- a", "got list, expected a table"),
        ("html: 5", "html: got 5, expected a table of key: value"),
        ("sphinx: [a]", r"sphinx: got \['a'\], expected a table"),
        ("sphinx:\n  config: x", "sphinx.config: got 'x', expected a table"),
        ("bibtex_bibfiles: references.bib", "bibtex_bibfiles: got 'references.bib', expected a list"),
        ("a: [", "_config.yml: while parsing"),
    ],
)
def test_a_misshapen_configuration(tmp_path, text, said):
    path = tmp_path / "_config.yml"
    path.write_text(text)
    with pytest.raises(BuildError, match=said):
        read_config(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("format: jb-book", "no root, the page that comes first"),
        ("root: 5", "root: got 5, expected a text"),
        (f"{TOC}parts: x", "parts: got 'x', expected a list"),
        (f"{TOC}parts: [x]", "part 1: got 'x', expected a table"),
        (f"{TOC}parts:\n- captions: x", "captions of part 1: got 'x', expected a table"),
        (f"{TOC}parts:\n- captions:\n    es: a", "caption of part 1 in pt: got nothing, expected a text"),
    ],
)
def test_a_misshapen_table_of_contents(tmp_path, text, said):
    path = tmp_path / "_toc.yml"
    path.write_text(text)
    with pytest.raises(BuildError, match=said):
        read_toc(path)


def test_what_is_absent_or_left_blank_is_no_fault(tmp_path):
    (tmp_path / "_config.yml").write_text("title: x\nhtml:\nsphinx:\n  config:\n")
    (tmp_path / "_toc.yml").write_text(f"{TOC}parts:\n")
    assert read_config(tmp_path / "_config.yml")["title"] == "x"
    assert read_toc(tmp_path / "_toc.yml")["root"] == "book/es/index"


def test_the_build_says_it_before_it_starts_anything(tmp_path):
    (tmp_path / "_config.yml").write_text("html: 5")
    (tmp_path / "_toc.yml").write_text(TOC)
    with pytest.raises(BuildError, match="html: got 5"):
        build(Project(tmp_path))
