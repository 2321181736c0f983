"""Lines of keys in TOML, found by a scan and held against the standard library's reading of the same text."""

import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sistolica.check.spoken import key_lines, spoken_texts

SOURCE = '''\
# comment
title = { es = "Uno", pt = "Um" }

[question]
es.text = """
Dos [líneas]
key = "not a key"
"""
pt.text = "Duas linhas"

[[question.options]] # first
key = "a"
es.text = "A"
pt.text = "B"

[[question.options]]
es = "solo"
'''


def test_each_text_has_its_line() -> None:
    missing: list[tuple[str, str, int]] = []
    found = spoken_texts(
        SOURCE, tomllib.loads(SOURCE), lambda key, language, line: missing.append((key, language, line))
    )
    assert [(text.key, text.lines["es"], text.lines["pt"]) for text in found] == [
        ("title", 2, 2),
        ("question.text", 6, 9),
        ("question.options.0.text", 13, 14),
    ]
    assert missing == [("question.options.1", "pt", 17)]


def places(value: Any, place: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    """Every table, array and value by its place, except what lies in inline tables and arrays of values."""
    found = {place} if place else set()
    if isinstance(value, dict):
        for key, inner in value.items():
            found |= places(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found |= places(inner, (*place, index))
    return found


names = st.text("abc-_", min_size=1, max_size=3)


@settings(deadline=None)
@given(st.dictionaries(names, st.dictionaries(names, st.lists(st.dictionaries(names, st.integers(), min_size=1)))))
def test_scan_finds_the_places_that_tomllib_finds(tables: dict[str, dict[str, list[dict[str, int]]]]) -> None:
    lines = []
    for table, arrays in tables.items():
        lines.append(f"[{table}]")
        for array, entries in arrays.items():
            for entry in entries:
                lines.append(f"[[{table}.{array}]]")
                lines += [f"{key} = {value}" for key, value in entry.items()]
    source = "\n".join(lines)
    known = key_lines(source)
    expected = {place for place in places(tomllib.loads(source)) if len(place) != 2}  # an array has no line of its own
    assert set(known) == expected
    assert sorted(known.values()) == list(range(1, len(lines) + 1))
