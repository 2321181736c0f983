"""``_config.yml`` and ``_toc.yml``: read, and refused where they lack the shape that the build reads them in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from sistolica.languages import LANGUAGES

TABLE, LIST, TEXT = "a table of key: value", "a list", "a text"
_SHAPES: dict[str, type[Any]] = {TABLE: dict, LIST: list, TEXT: str}


class BuildError(Exception):
    """The site was not built; the message holds what the reader of a terminal needs."""


def read_config(path: Path) -> dict[str, Any]:
    """``_config.yml``. Raises :class:`BuildError`."""
    return _checked(path, [("html", TABLE), ("sphinx", TABLE), ("sphinx.config", TABLE), ("bibtex_bibfiles", LIST)])


def read_toc(path: Path) -> dict[str, Any]:
    """``_toc.yml``. Raises :class:`BuildError`."""
    toc = _checked(path, [("root", TEXT), ("parts", LIST)])
    if "root" not in toc:
        raise BuildError(f"{path}: no root, the page that comes first")
    for number, part in enumerate(toc.get("parts") or [], start=1):
        _refuse(path, f"part {number}", part, TABLE)
        if part.get("captions") is not None:
            _refuse(path, f"captions of part {number}", part["captions"], TABLE)
            for lang in LANGUAGES:
                _refuse(path, f"caption of part {number} in {lang.code}", part["captions"].get(lang.code), TEXT)
    return toc


def _checked(path: Path, shapes: list[tuple[str, str]]) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BuildError(f"{path}: {error}") from None
    if not isinstance(found, dict):
        raise BuildError(f"{path}: got {type(found).__name__}, expected {TABLE}")
    for key, shape in shapes:
        for value in _values(found, key.split(".")):
            _refuse(path, key, value, shape)
    return found


def _values(table: dict[str, Any], keys: list[str]) -> Iterator[object]:
    """The value at the end of ``keys``, if all of them are there."""
    if table.get(keys[0]) is None:
        return
    if len(keys) == 1:
        yield table[keys[0]]
    else:
        yield from _values(table[keys[0]], keys[1:])


def _refuse(path: Path, key: str, got: object, shape: str) -> None:
    if not isinstance(got, _SHAPES[shape]):
        raise BuildError(f"{path}: {key}: got {'nothing' if got is None else repr(got)[:60]}, expected {shape}")
