"""The stemmers: what a reader types and what a page says end at the same stem."""

import re
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sphinx.search.es import SearchSpanish
from sphinx.search.pt import SearchPortuguese

from sistolica.site.search import (
    PORTUGUESE_PLURALS,
    SPANISH_PLURALS,
    ForgivingPortuguese,
    ForgivingSpanish,
    fold,
    forgiving_stopwords,
    stem,
)

PLURALS = {"es": SPANISH_PLURALS, "pt": PORTUGUESE_PLURALS}
SAME_STEM = {
    "es": [
        ("matriz", "matrices"),
        ("operación", "operaciones"),
        ("multiplicación", "multiplicacion", "Multiplicaciones"),
        ("computación", "computacion"),
        ("análisis", "analisis"),
        ("rápido", "rapido", "rápida", "rápidos", "RÁPIDAS"),
        ("tensor", "tensores"),
        ("núcleo", "nucleos"),
        ("vector", "vectores"),
        ("red", "red"),
        ("memoria", "memorias"),
        ("chip", "chip"),
        ("ancho", "anchos"),
        ("función", "funciones"),
        ("corazón", "corazones"),
        ("año", "ano"),
        ("señal", "senal", "señales"),
        ("acelerador", "aceleradores"),
    ],
    "pt": [
        ("matriz", "matrizes"),
        ("operação", "operacao", "operações", "operacoes", "OPERAÇÕES"),
        ("informação", "informacao", "informações"),
        ("coração", "coracao", "corações"),
        ("rápido", "rapido", "rápidas"),
        ("memória", "memoria", "memórias"),
        ("análise", "analise", "análises"),
        ("canal", "canais"),
        ("nível", "niveis", "níveis"),
        ("nuvem", "nuvens"),
        ("tensor", "tensores"),
        ("núcleo", "nucleos"),
        ("avião", "aviao", "aviões"),
        ("treinamento", "treinamentos"),
        ("acelerador", "aceleradores"),
        ("nó", "no"),
    ],
}
APART = {
    "es": [("matriz", "motriz"), ("carga", "cargador"), ("red", "rede"), ("peso", "pesado")],
    "pt": [("matriz", "motriz"), ("peso", "pesado"), ("nó", "nós"), ("canal", "cana")],
}


@pytest.mark.parametrize(("lang", "words"), [(lang, words) for lang, rows in SAME_STEM.items() for words in rows])
def test_forms_of_a_word_share_a_stem(lang, words):
    stems = {stem(word, PLURALS[lang]) for word in words}
    assert len(stems) == 1, stems
    assert stems.pop()


@pytest.mark.parametrize(("lang", "words"), [(lang, words) for lang, rows in APART.items() for words in rows])
def test_other_words_keep_theirs(lang, words):
    assert len({stem(word, PLURALS[lang]) for word in words}) == len(words)


letters = st.text(string.ascii_letters + "áéíóúüñçãõâêôàÁÉÍÓÚÑÇÃÕ" + string.digits, max_size=14)


@given(letters, st.sampled_from(sorted(PLURALS)))
def test_accents_and_capitals_never_count(word, lang):
    wanted = stem(word, PLURALS[lang])
    assert stem(fold(word), PLURALS[lang]) == wanted
    assert stem(word.upper(), PLURALS[lang]) == wanted
    assert stem(unicodedata.normalize("NFD", word), PLURALS[lang]) == wanted
    assert wanted == fold(wanted)


@given(letters)
def test_folding_twice_is_folding_once(word):
    assert fold(fold(word)) == fold(word)
    assert fold(word).isascii()


@given(st.from_regex(r"[a-záéíóú]{4,9}[bdfgjlmnprt]", fullmatch=True))
def test_a_spanish_plural_in_es_meets_its_singular(word):
    assert stem(word + "es", SPANISH_PLURALS) == stem(word, SPANISH_PLURALS)


@given(st.from_regex(r"[a-záéíóúç]{3,9}", fullmatch=True))
def test_a_portuguese_word_in_cao_meets_its_plural(word):
    assert stem(word + "ções", PORTUGUESE_PLURALS) == stem(word + "ção", PORTUGUESE_PLURALS)


@given(st.text(string.ascii_lowercase, min_size=5, max_size=12), st.sampled_from(sorted(PLURALS)))
def test_a_stem_is_never_empty_nor_longer_by_more_than_its_rule(word, lang):
    found = stem(word, PLURALS[lang])
    assert found
    assert len(found) <= len(word)


@pytest.mark.parametrize(
    ("language", "plurals"), [(ForgivingSpanish, SPANISH_PLURALS), (ForgivingPortuguese, PORTUGUESE_PLURALS)]
)
def test_sphinx_gets_both_halves_of_the_same_rules(language, plurals):
    assert language({}).stem("Operação") == stem("operacao", plurals)
    for ending, _ in plurals:
        assert f"[/{ending}$/," in language.js_stemmer_code
    assert language.js_stemmer_rawcode == ""


def test_words_that_do_not_count_do_not_count_without_accents_either():
    assert {"también", "tambien", "más", "mas"} <= ForgivingSpanish.stopwords
    assert {"também", "tambem", "não", "nao"} <= ForgivingPortuguese.stopwords
    assert ForgivingSpanish.stopwords >= SearchSpanish.stopwords
    assert SearchPortuguese.stopwords - ForgivingPortuguese.stopwords == {"no", "nos", "nós"}
    assert forgiving_stopwords(["é"], kept=["e"]) == {"é"}


def test_the_index_of_a_built_book_holds_stems(site):
    for lang, wanted, absent in (
        ("es", {"rapid", "multiplicacion", "matriz", "senal", "ano"}, {"rápid", "matrices", "tambien"}),
        ("pt", {"rapid", "operaca", "matriz", "memori", "no", "nivel", "canal"}, {"matrizes", "memória", "tambem"}),
    ):
        index = (site.folder / lang / "searchindex.js").read_text(encoding="utf-8")
        words = index[index.index('"terms"') : index.index('"titles"')] + index[index.index('"titleterms"') :]
        terms = set(re.findall(r'"([^"]+)"', words))
        assert wanted <= terms, wanted - terms
        assert terms.isdisjoint(absent)
