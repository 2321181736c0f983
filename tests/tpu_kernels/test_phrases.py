"""What the library says: every key has both languages, every key that the code asks for exists, and none is idle."""

import re
from pathlib import Path

import pytest

import tpu_kernels
from tpu_kernels.models import hardware
from tpu_kernels.models.quantity import UNITS, WORDED
from tpu_kernels.phrases import phrase

SOURCES = sorted(Path(tpu_kernels.__file__).parent.rglob("*.py"))
ASKED = re.compile(r"""phrase\(\s*["']([a-z_]+\.[a-z_]+)["']""")


def asked_for() -> set[str]:
    """Keys written out in the code, and those that it builds from units, fields and words of the catalogue."""
    literal = {key for path in SOURCES for key in ASKED.findall(path.read_text(encoding="utf-8"))}
    units = {f"unit.{UNITS[unit].symbol}" for unit in WORDED}
    recorded = [value for chip in hardware.chips() for value in chip.values.values()]
    fields = {f"field.{value.field}" for value in recorded if not value.field.startswith("peak_flops.")}
    words = {f"text.{v.value}" for v in recorded if isinstance(v.value, hardware.Text) and not v.value[0].isnumeric()}
    numbered = {f"text.{v.value}" for v in recorded if isinstance(v.value, hardware.Text) and "torus" in v.value}
    return literal | units | fields | words | numbered


def test_every_message_has_both_languages_with_the_same_placeholders() -> None:
    assert phrase.faults() == []


def test_every_key_that_the_code_asks_for_exists() -> None:
    assert asked_for() - set(phrase.entries) == set()


def test_no_message_is_idle() -> None:
    assert set(phrase.entries) - asked_for() == set()


@pytest.mark.parametrize("key", ["picture.title", "systolic.cell", "hardware.no_source", "systolic.idle"])
def test_the_languages_are_not_copies_of_each_other(key: str) -> None:
    assert phrase.entries[key]["es"] != phrase.entries[key]["pt"]
