"""The languages of the course and what each is called elsewhere."""

from dataclasses import dataclass

from tpu_kernels.messages import UnknownLanguageError


@dataclass(frozen=True)
class Language:
    """One language: ``code`` in folders and addresses, ``tag`` in HTML (BCP 47), ``sphinx`` in Sphinx's catalogues."""

    code: str
    tag: str
    sphinx: str
    name: str


SPANISH = Language(code="es", tag="es", sphinx="es", name="Español")
PORTUGUESE = Language(code="pt", tag="pt-BR", sphinx="pt_BR", name="Português")  # Sphinx's own `pt` has no text at all
LANGUAGES = (SPANISH, PORTUGUESE)


def language(code: str) -> Language:
    """The language with this code; raises :class:`~tpu_kernels.messages.UnknownLanguageError`."""
    for known in LANGUAGES:
        if known.code == code:
            return known
    raise UnknownLanguageError(code)
