"""A build that fails says which page and which cell, and leaves the last good site as it was."""

import re
import shutil
import subprocess
import sys
import time

import pytest
from bs4 import BeautifulSoup

from sistolica.site.build import BuildError, build


def edit(path, before, after):
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{before!r} stands {text.count(before)} times in {path}"
    path.write_text(text.replace(before, after), encoding="utf-8")


def append(path, text):
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def failure(course):
    """What a failed build says; the site must not have moved."""
    site = course.build / "site"
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*")}
    with pytest.raises(BuildError) as caught:
        build(course)
    assert {path: path.stat().st_mtime_ns for path in site.rglob("*")} == before
    assert "Traceback" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("header", "code", "reason"),
    [
        ("# %% folded", "raise ValueError('fallo en la página')", "ValueError: fallo en la página"),
        ("# %% folded", "name = input('¿Nombre? ')", "StdinNotImplementedError"),
        ('# %% folded timeout="2"', "while True:\n    pass", "it took more than 2 s"),
    ],
    ids=["fails", "waits for input", "never ends"],
)
def test_a_cell_that_does_not_finish_stops_the_build(course, header, code, reason):
    script = course.lessons / "part" / "cells.py"
    edit(script, "# %% folded\nsum(range(10))", f"{header}\n{code}")
    started = time.monotonic()

    said = failure(course)

    assert time.monotonic() - started < 60
    line = script.read_text("utf-8").split("\n").index(header) + 1
    for lang, name in (("es", "Español"), ("pt", "Português")):
        assert f"{name} ({lang}) was not built" in said
        assert f"{script}:{line}: page 'part/cells' ({lang}), cell 'folded' failed: {reason}" in said


def test_every_fault_of_the_prose_is_told_with_its_line_each_time_until_it_is_mended(course):
    page = course.prose("es", "words")
    good = page.read_text("utf-8")
    line = good.count("\n") + 2
    append(page, "\n{spec}`v9.hbm_bandwidth` {calc}`nothing` {ref}`nowhere` [a](#nowhere) [b](no.md) {cite}`nobody`\n")
    append(page, "\n```{figure} no.png\n:alt: x\n```\n\n{nonsense}`x`\n\n```{nonsense}\n```\n")

    # `calc` on a page without cells stops the page; the rest are warnings, and all of them are told
    assert f"{page}:{line}: quotes 'nothing' but runs no cell" in failure(course)
    edit(page, " {calc}`nothing`", "")

    for _ in range(2):  # what was read in a failed build is read again: a fault does not pass at the second try
        said = failure(course)
        for fault in (
            r"\{spec\}`v9.hbm_bandwidth`: .*v9",
            "undefined label: 'nowhere'",
            "cross-reference target not found: 'nowhere'",
            "cross-reference target not found: 'no.md'",
            'could not find bibtex key "nobody"',
        ):
            assert re.search(rf"{re.escape(str(page))}:{line}: .*{fault}", said), (fault, said)
        assert re.search(r"words\.md:\d+: .*image file not readable: .*no\.png", said)
        assert said.count("nonsense") >= 2
        assert "Português" not in said

    page.write_text(good, encoding="utf-8")
    assert not build(course).changed, "what was mended is what the last good site was built from"
    append(page, "\nTexto nuevo.\n")
    assert build(course).changed


def test_links_to_headings_by_their_titles_are_refused(course):
    """Ids lose accents and repeat as ``id1``: a link goes to a label, which every heading has."""
    page = course.prose("es", "words")
    line = page.read_text("utf-8").count("\n") + 2
    append(page, "\n[ir](#multiplicación-de-matrices) [página](words.md#palabras) [repetida](#ejercicio-1)\n")
    said = failure(course)
    for target in ("multiplicación-de-matrices", "palabras", "ejercicio-1"):
        assert re.search(rf"{re.escape(str(page))}:{line}: WARNING: .*{target}", said), (target, said)


class TestPlainJupyterBook:
    def build(self, root, out):
        command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", str(root)]
        command += ["--path-output", str(out), "-W", "-n", "--keep-going", "--quiet"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_builds_the_spanish_book_of_this_course(self, tmp_path, pytestconfig):
        done = self.build(pytestconfig.rootpath, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr

        html = tmp_path / "_build" / "html"
        found = sorted(path.relative_to(html).as_posix() for path in (html / "book").rglob("*.html"))
        written = (pytestconfig.rootpath / "book" / "es").rglob("*.md")
        assert found == sorted(
            path.relative_to(pytestconfig.rootpath).with_suffix(".html").as_posix() for path in written
        )
        for name in (*found, "search.html"):
            page = BeautifulSoup((html / name).read_text("utf-8"), "html.parser")
            assert page.html["lang"] == "es"
            assert not page.select("a.language-switch, link[rel=alternate][hreflang]"), "there is no other language"
        assert "book/es/index.html" in (html / "index.html").read_text("utf-8")

    def test_a_language_in_the_wrong_place_is_refused_by_it_and_mended_by_ours(self, course, tmp_path):
        config = course.root / "_config.yml"
        edit(config, "    language: es\n", "")
        edit(config, "sphinx:\n", "sphinx:\n  language: es\n")

        done = self.build(course.root, tmp_path / "out")
        assert done.returncode != 0
        assert "write it in _config.yml under sphinx: config: language" in done.stdout + done.stderr

        shutil.rmtree(course.build / "site")
        site = build(course).site
        for lang, tag in (("es", "es"), ("pt", "pt-BR")):
            pages = [path for path in (site / lang).rglob("*.html") if "_static" not in path.parts]
            assert pages
            for path in pages:
                assert f'<html lang="{tag}"' in path.read_text("utf-8"), path
