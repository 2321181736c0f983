"""Search as people type: no accents, plurals, in the search page that readers use."""

import json
import re

import pytest

from sistolica.site.search import PORTUGUESE_PLURALS, SPANISH_PLURALS, stem

pytestmark = pytest.mark.browser

CHAPTER = "tpu/architecture.html"
# (language, what is typed, a page that holds a form of it)
QUERIES = [
    ("es", "rapido", CHAPTER),
    ("es", "rápido", CHAPTER),
    ("es", "matrices", CHAPTER),
    ("es", "matriz", CHAPTER),
    ("es", "multiplicacion", CHAPTER),
    ("es", "multiplicaciones", CHAPTER),
    ("es", "operacion", CHAPTER),
    ("es", "arreglo sistolico", CHAPTER),
    ("es", "arreglos sistolicos", CHAPTER),
    ("es", "ciclos", CHAPTER),
    ("es", "memoria", CHAPTER),
    ("es", "codigo", CHAPTER),
    ("es", "calificar", "using-the-course.html"),
    ("pt", "operacao", CHAPTER),
    ("pt", "operacoes", CHAPTER),
    ("pt", "operação", CHAPTER),
    ("pt", "matriz", CHAPTER),
    ("pt", "matrizes", CHAPTER),
    ("pt", "multiplicacao", CHAPTER),
    ("pt", "arranjo sistolico", CHAPTER),
    ("pt", "memoria", CHAPTER),
    ("pt", "codigo", CHAPTER),
    ("pt", "laboratorio", "using-the-course.html"),
    ("pt", "correcao", "using-the-course.html"),
]


@pytest.fixture(scope="module")
def search_pages(site, browser):
    """One search page a language, kept open: loading it again for each query would only test patience."""
    context = browser.new_context()
    pages = {}
    for lang in ("es", "pt"):
        pages[lang] = context.new_page()
        pages[lang].goto(f"{site}/{lang}/search.html", wait_until="networkidle")
    yield pages
    context.close()


def found(page, site, lang, query):
    page.goto(f"{site}/{lang}/search.html?q={query}", wait_until="networkidle")
    page.wait_for_function("document.querySelector('#search-results .search-summary')?.textContent.length > 0")
    links = page.locator("#search-results ul.search a").all()
    return {link.evaluate("link => link.pathname").removeprefix(f"/{lang}/") for link in links}


@pytest.mark.parametrize(("lang", "query", "expected"), QUERIES)
def test_a_query_finds_its_page(search_pages, site, lang, query, expected):
    assert expected in found(search_pages[lang], site, lang, query)


@pytest.mark.parametrize("lang", ["es", "pt"])
def test_nonsense_finds_nothing(search_pages, site, lang):
    assert found(search_pages[lang], site, lang, "xyzzyq") == set()


@pytest.mark.parametrize(("lang", "plurals"), [("es", SPANISH_PLURALS), ("pt", PORTUGUESE_PLURALS)])
def test_browser_and_index_agree_on_every_word_of_the_course(search_pages, lang, plurals, request):
    text = " ".join(path.read_text("utf-8") for path in (request.config.rootpath / "book" / lang).rglob("*.md"))
    words = sorted({word.lower() for word in re.findall(r"[^\W\d_]+", text)})
    assert len(words) > 500
    in_browser = search_pages[lang].evaluate(
        f"(() => {{ const stemmer = new Stemmer(); return {json.dumps(words)}.map(w => stemmer.stemWord(w)) }})()"
    )
    assert in_browser == [stem(word, plurals) for word in words]


@pytest.mark.parametrize(("lang", "said"), [("es", "Búsqueda"), ("pt", "Buscar")])
def test_the_search_box_opens_from_any_page(visit, site, lang, said):
    page = visit(f"{lang}/index.html").page
    page.keyboard.press("Control+k")
    box = page.locator("#pst-search-dialog input[type=search]")
    box.wait_for(state="visible")
    box.fill("matriz")
    box.press("Enter")
    page.wait_for_url(re.compile(rf"/{lang}/search\.html\?q=matriz"))
