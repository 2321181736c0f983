"""Finds text that is the same in Spanish and Portuguese and so was probably never translated.

Born of dual-tree books whose pages keep whole paragraphs of the other language, which no count of headings shows. The
two languages share many short texts, so a text may be the same when few words of its own are left once these are taken
away: code, mathematics, roles and numbers; what is set apart as another language's (italics, the title of an outside
page); acronyms and identifiers; names (a capital inside a sentence); the terms that the termbase writes alike in both;
and the small words that both spell alike.

It cannot see a paragraph of the other language that was changed by one letter, nor a page in the wrong language.
"""

import re

from sistolica.check.passage import OPAQUE, Passage
from sistolica.check.terms import Termbase

_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE_END = re.compile(r"(?:^|[.:!?¿¡…])\W*$")
# Words that Spanish and Portuguese spell alike and that short texts are made of.
_SHARED = frozenset(
    """
    a de e entre o para por que se sobre como cada contra base bases bit bits byte bytes capítulo capítulos
    central ciclo ciclos código códigos curso cursos fase fases figura figuras final forma formas formato formatos
    global hora horas igual inicial anterior letra letras lista listas local máximo mínimo minuto minutos modelo
    modelos nota notas número números página páginas parte partes problema problemas programa programas real
    resultado resultados segundo segundos sistema sistemas texto textos tipo tipos total valor valores
    """.split()  # noqa: SIM905 - a list of a hundred quoted words would be harder to read and to keep
)


def own_words(passage: Passage, termbase: Termbase) -> list[str]:
    """The words of a passage that should differ between the two languages."""
    found = []
    for word in _WORD.finditer(passage.text):
        text = word.group()
        inside_sentence = _SENTENCE_END.search(passage.text, 0, word.start()) is None
        name = text[0].isupper() and inside_sentence
        identifier = any(letter.isupper() for letter in text[1:])
        alike = text.casefold() in _SHARED or text.casefold() in termbase.alike
        if not (name or identifier or alike or passage.set_apart(word.start(), word.end())):
            found.append(text)
    return found


def same_text(spanish: Passage, portuguese: Passage, termbase: Termbase, *, at_least: int) -> bool:
    """Whether the two say the same, letter by letter, with ``at_least`` so many words of their own."""
    return normal(spanish) == normal(portuguese) and len(own_words(portuguese, termbase)) >= at_least


def normal(passage: Passage) -> str:
    """The text by which two passages are compared."""
    return " ".join(passage.text.replace(OPAQUE, " ").split())
