"""Files that have no peer, no page or no reader."""

import shutil
from typing import TYPE_CHECKING

import pytest

from sistolica.check import run
from sistolica.project import Project

if TYPE_CHECKING:
    from conftest import Course


def places(course: "Course") -> list[tuple[str, str]]:
    return [(fault.kind, fault.file) for fault in course.faults()]


@pytest.mark.parametrize(("written", "missing"), [("es", "pt"), ("pt", "es")])
def test_page_in_one_language(course: "Course", written: str, missing: str) -> None:
    course.write(f"book/{written}/more.md", "(more)=\n# Más\n")
    assert places(course) == [("files", f"book/{missing}/more.md")]


def test_other_file_in_one_language(course: "Course") -> None:
    course.write("book/es/tpu/figures/drawing.svg", "<svg/>")
    assert places(course) == [("files", "book/pt/tpu/figures/drawing.svg")]


def test_page_that_is_not_myst(course: "Course") -> None:
    for language in ("es", "pt"):
        course.write(f"book/{language}/old.ipynb", "{}")
    assert places(course) == [("files", "book/es/old.ipynb")]


def test_page_outside_the_trees(course: "Course") -> None:
    course.write("book/notes.md", "# Notes\n")
    assert places(course) == [("files", "book/notes.md")]


@pytest.mark.parametrize("file", ["lessons/tpu/other.py", "lessons/tpu/other.quiz.toml"])
def test_lesson_without_prose(course: "Course", file: str) -> None:
    course.write(file, "# nothing\n")
    assert places(course) == [("files", file)]


def test_prose_without_its_lesson(course: "Course") -> None:
    (course.root / "lessons/tpu/array.py").unlink()
    unknown = [("cell", f"book/{language}/tpu/array.md") for language in ("es", "es", "pt", "pt")]
    assert places(course) == unknown


def test_lab_without_prose_in_one_language(course: "Course") -> None:
    (course.root / "labs/sums/pt.md").unlink()
    assert places(course) == [("files", "labs/sums/pt.md")]


def test_no_termbase(course: "Course") -> None:
    (course.root / "book/terms.csv").unlink()
    assert ("termbase", "book/terms.csv") in places(course)


def test_empty_book_is_a_fault_not_a_pass(course: "Course") -> None:
    shutil.rmtree(course.root / "book/es")
    shutil.rmtree(course.root / "book/pt")
    shutil.rmtree(course.root / "lessons/tpu")
    assert places(course) == [("files", "book")]


def test_text_that_is_not_toml_costs_one_fault(course: "Course") -> None:
    course.write("tpu_kernels/messages.toml", '[array]\ncycle = "no end\n')
    (fault,) = course.faults()
    assert (fault.kind, fault.file, fault.line) == ("toml", "tpu_kernels/messages.toml", 2)


def test_message_outside_an_area(course: "Course") -> None:
    course.write("tpu_kernels/messages.toml", 'cycle = "Ciclo"\n')
    assert places(course) == [("message", "tpu_kernels/messages.toml")]


def test_page_that_the_lesson_model_refuses_costs_one_fault(course: "Course") -> None:
    course.replace("book/pt/tpu/array.md", "```bash", "````bash")
    (fault,) = course.faults()
    assert (fault.kind, fault.file) == ("prose", "book/pt/tpu/array.md")


def test_two_pages_that_the_lesson_model_refuses_cost_two_faults(course: "Course") -> None:
    for language in ("es", "pt"):
        course.replace(f"book/{language}/tpu/array.md", "```bash", "````bash")
    assert places(course) == [("prose", "book/es/tpu/array.md"), ("prose", "book/pt/tpu/array.md")]


def test_requirements_without_a_ceiling(course: "Course") -> None:
    course.write("requirements.txt", "numpy\njupyter-book\n")
    (fault,) = course.faults()
    assert (fault.kind, fault.file, fault.line) == ("builder", "requirements.txt", 2)


def test_requirements_with_a_hash_are_read(course: "Course") -> None:
    course.write("constraints.txt", "jupyter-book==1.0.4.post1 --hash=sha256:00\n")
    assert course.faults() == []


def test_outcome_counts_what_was_compared_and_repeats(course: "Course") -> None:
    outcome = run(Project(course.root))
    assert outcome == run(Project(course.root))
    assert outcome.sound
    expected = {"pages": 6, "cells": 4, "quiz questions": 1, "quiz options": 3, "tables": 1, "messages": 2, "terms": 9}
    assert {what: outcome.counts[what] for what in expected} == expected
