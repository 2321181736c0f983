"""One defect at a time is put into a sound course: exactly that fault is reported, with its kind, file and line."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Course

DEFECTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("defects.toml").read_text(encoding="utf-8"))


def test_sound_course_has_no_fault(course: "Course") -> None:
    assert course.faults() == []


@pytest.mark.parametrize("name", DEFECTS)
def test_defect_is_the_one_fault_reported(course: "Course", name: str) -> None:
    defect = DEFECTS[name]
    for file, old, new in defect["edits"]:
        course.replace(file, old, new)
    faults = course.faults()
    expected = sorted((file, course.line(file, words), defect["kind"]) for file, words in defect["at"])
    assert [(fault.file, fault.line, fault.kind) for fault in faults] == expected
    assert defect.get("says", "") in str(faults[0])
