"""The course itself: es and pt are peers, terms are kept, settings are sound."""

from pathlib import Path

from sistolica.check import run
from sistolica.project import find_project


def test_course_has_no_fault_of_parity_or_terms() -> None:
    outcome = run(find_project(Path(__file__)))
    assert [str(fault) for fault in outcome.faults] == []
    assert outcome.counts["pages"] > 0
    assert outcome.counts["terms"] > 0
