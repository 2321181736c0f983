"""Every string a reader, learner or instructor sees, by key, in each language of the course.

A package keeps its strings in one ``messages.toml`` beside its code::

    [systolic.cycle]
    es = "Ciclo {cycle}"
    pt = "Ciclo {cycle}"

and reads them through a :class:`Catalogue`. The language is, in this order: the one given in the call, the one set with
:func:`use`, the environment variable ``SISTOLICA_LANG``, the locale (``LC_ALL``, ``LC_MESSAGES``, ``LANG``), Spanish.
"""

import os
import string
import tomllib
from functools import cached_property
from pathlib import Path

LANGUAGES = ("es", "pt")

_chosen: str | None = None


class MessageError(LookupError):
    """A message that does not exist, or that was asked for with the wrong values."""


class UnknownLanguageError(ValueError):
    """A language that the course is not written in."""

    def __init__(self, got: str) -> None:
        super().__init__(
            f"unknown language {got!r}: expected one of {', '.join(LANGUAGES)}; "
            f"idioma desconocido: usa es o pt; idioma desconhecido: use es ou pt"
        )
        self.got = got


def checked(code: str) -> str:
    """The language code itself, or :class:`UnknownLanguageError`."""
    if code not in LANGUAGES:
        raise UnknownLanguageError(code)
    return code


def use(code: str | None) -> None:
    """Speak this language from now on in this process; ``None`` goes back to the environment's."""
    global _chosen
    _chosen = None if code is None else checked(code)


def language() -> str:
    """The language in force, ``"es"`` or ``"pt"``."""
    if _chosen is not None:
        return _chosen
    named = os.environ.get("SISTOLICA_LANG")
    if named:
        return checked(named)
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        prefix = os.environ.get(variable, "")[:2]
        if prefix in LANGUAGES:
            return prefix
    return LANGUAGES[0]


class Catalogue:
    """The messages of one package, read from its ``messages.toml`` when first needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def entries(self) -> dict[str, dict[str, str]]:
        """``{"area.key": {"es": …, "pt": …}}``."""
        tables = tomllib.loads(self.path.read_text(encoding="utf-8"))
        return {f"{area}.{key}": texts for area, messages in tables.items() for key, texts in messages.items()}

    def __call__(self, key: str, /, *, lang: str | None = None, **values: object) -> str:
        """The message in ``lang`` (default: the language in force) with ``values`` filled in.

        Raises :class:`MessageError` for an unknown key, a missing language, or a placeholder without a value.
        """
        try:
            texts = self.entries[key]
        except KeyError:
            raise MessageError(f"no message {key!r} in {self.path.name}; add it in {' and '.join(LANGUAGES)}") from None
        code = checked(lang) if lang else language()
        try:
            return texts[code].format(**values)
        except KeyError as missing:
            raise MessageError(f"message {key!r} in {code}: no text or no value for {missing}") from None

    def faults(self) -> list[str]:
        """What is wrong with the catalogue: a language missing, or placeholders that differ. Empty when sound."""
        found = []
        for key, texts in self.entries.items():
            for code in LANGUAGES:
                if not texts.get(code, "").strip():
                    found.append(f"{self.path.name}: {key}: no text in {code}")
            names = {code: sorted(_placeholders(text)) for code, text in texts.items()}
            if len({tuple(v) for v in names.values()}) > 1:
                found.append(f"{self.path.name}: {key}: placeholders differ: {names}")
        return found


def _placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def decimal(text: str, lang: str | None = None) -> str:
    """A number written with a point, as the language writes it: ``1.5`` becomes ``1,5`` in both of the course's."""
    checked(lang or language())
    return text.replace(".", ",")
