"""Search in the real search page: what people type, without accents and in the plural, finds what pages say."""

import re
from itertools import chain

import pytest
from bs4 import BeautifulSoup

from sistolica.site.search import PORTUGUESE_PLURALS, SPANISH_PLURALS, stem

pytestmark = pytest.mark.browser

PLURALS = {"es": SPANISH_PLURALS, "pt": PORTUGUESE_PLURALS}
IN_THE_COURSE = {
    "es": [
        *("rapido", "rápidos", "matrices", "matriz", "MATRIZ", "multiplicacion", "operacion", "operaciones"),
        *("corazon", "el corazón de una tpu", "tambien una matriz", "memoria", "celdas", "celda"),
    ],
    "pt": [
        *("rapido", "matriz", "matrizes", "operacao", "operacoes", "operações", "memoria", "memórias"),
        *("coracao", "o coração de uma tpu", "nao é uma matriz", "celula", "células"),
    ],
}
IN_THE_SMALL_COURSE = {
    "es": ["computacion", "Programación", "ano 2026", "año 2026", "senal", "analisis", "tensor", "cache", "corazones"],
    "pt": [
        "informacao",
        "informações",
        "ano 2026",
        "sinais",
        "analise",
        "tensor",
        "nó",
        "no",
        "nivel",
        "niveis",
        "canal",
    ],
}
NOWHERE = ["xilófono", "zzzz"]
ENGLISH = re.compile(r"\b(?:search|found|your|did not match|results?|hide)\b", re.I)


def results(page):
    """The pages found, once the search has ended; an excerpt is shown under each."""
    page.wait_for_function(
        "document.querySelector('#search-results h2 span, #search-results h2')?.textContent.length > 0"
    )
    page.wait_for_function("document.querySelector('.search-summary')?.textContent.trim().length > 0")
    return {link.get_attribute("href").partition("#")[0] for link in page.locator("#search-results li > a").all()}


@pytest.mark.parametrize(("lang", "query"), [(lang, query) for lang, rows in IN_THE_COURSE.items() for query in rows])
def test_a_query_finds_the_chapter(watch, lang, query):
    page = watch().goto(f"{lang}/search.html?q={query}")
    assert "tpu/architecture.html" in results(page)


@pytest.mark.parametrize(
    ("lang", "query"), [(lang, query) for lang, rows in IN_THE_SMALL_COURSE.items() for query in rows]
)
def test_words_that_no_chapter_has_yet_are_found_where_they_are(watch, small_origin, lang, query):
    page = watch(at=small_origin).goto(f"{lang}/search.html?q={query}")
    assert results(page) == {"words.html"}


@pytest.mark.parametrize("lang", ["es", "pt"])
@pytest.mark.parametrize("query", NOWHERE)
def test_what_is_nowhere_is_not_found_and_is_told_in_the_language(watch, lang, query):
    page = watch().goto(f"{lang}/search.html?q={query}")
    assert results(page) == set()
    said = page.locator("#search-results").inner_text()
    assert len(said) > 20
    assert not ENGLISH.search(said)


@pytest.mark.parametrize(("lang", "query", "word"), [("es", "rapido", "rápid"), ("pt", "operacoes", "operaç")])
def test_an_excerpt_shows_the_word_in_its_sentence(watch, lang, query, word):
    page = watch().goto(f"{lang}/search.html?q={query}")
    results(page)
    for excerpt in page.locator("#search-results li > p.context").all():
        text = excerpt.inner_text()
        assert word in text.lower()
        assert len(text) > 100
        assert "Português" not in text
    summary = page.locator("#search-results").inner_text()
    assert not ENGLISH.search(page.locator(".search-summary").inner_text()), summary


def test_search_opens_and_runs_from_the_keyboard_on_any_page(watch):
    watched = watch()
    page = watched.goto("es/tpu/architecture.html")
    page.keyboard.press("Control+k")
    field = page.locator("#pst-search-dialog input[type=search]")
    field.wait_for(state="visible")
    page.keyboard.type("matrices")
    page.keyboard.press("Enter")
    page.wait_for_url("**/es/search.html?q=matrices")
    assert "tpu/architecture.html" in results(page)
    page.locator("#search-results li > a[href^='tpu/architecture.html']").first.click()
    page.wait_for_url("**/es/tpu/architecture.html*")
    assert (
        not ENGLISH.search(page.locator("body").inner_text().replace("results", ""))
        or page.locator("text=Hide Search Matches").count() == 0
    )
    assert watched.faults == []


@pytest.mark.parametrize("lang", ["es", "pt"])
def test_the_browser_stems_every_word_of_the_books_as_the_index_does(watch, project, small_course, lang):
    pages = chain.from_iterable((course.build / "site" / lang).rglob("*.html") for course in (project, small_course))
    words = set()
    for path in pages:
        if "_static" not in path.parts:
            words |= set(re.findall(r"\w+", BeautifulSoup(path.read_text("utf-8"), "html.parser").get_text(" ")))
    words |= {word.upper() for word in words} | {"İstanbul", "ﬁn", "ñandú", "ÀÉÎÕÜ", "a\u0303o"}
    assert len(words) > 500

    page = watch().goto(f"{lang}/search.html")
    in_order = sorted(words)
    stemmed = page.evaluate(
        "(words) => { const it = new Stemmer(); return words.map((w) => it.stemWord(w)); }", in_order
    )

    wanted = [stem(word, PLURALS[lang]) for word in in_order]
    assert {w: (js, py) for w, js, py in zip(in_order, stemmed, wanted, strict=True) if js != py} == {}
