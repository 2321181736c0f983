"""The reader's language: picked from the browser, kept when chosen, one click to the same place in the other."""

import pytest

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("locale", "lands"),
    [("es-MX", "es"), ("es", "es"), ("pt-BR", "pt"), ("pt-PT", "pt"), ("en-US", "es"), ("de", "es")],
)
def test_the_root_page_picks_the_browsers_language(visit, site, locale, lands):
    page = visit("index.html", locale=locale).page
    assert page.url == f"{site}/{lands}/index.html"


def test_the_root_page_is_a_choice_where_scripts_do_not_run(visit):
    page = visit("index.html", java_script_enabled=False).page
    assert [link.inner_text() for link in page.locator("main a").all()] == ["Español", "Português"]


def test_a_choice_is_remembered(visit, site):
    page = visit("es/index.html", locale="es-MX").page
    page.locator("a.language-switch").click()
    page.wait_for_url(f"{site}/pt/index.html")
    page.goto(f"{site}/index.html", wait_until="networkidle")
    assert page.url == f"{site}/pt/index.html"


@pytest.mark.parametrize(("here", "there", "name"), [("es", "pt", "Português"), ("pt", "es", "Español")])
def test_the_switch_keeps_the_page_and_the_place(visit, site, here, there, name):
    page = visit(f"{here}/tpu/architecture.html#tpu-architecture-width").page
    switch = page.locator("a.language-switch")
    assert switch.inner_text() == name
    switch.click()
    page.wait_for_url(f"{site}/{there}/tpu/architecture.html#tpu-architecture-width")
    assert page.locator("#tpu-architecture-width").count() == 1


def test_a_search_keeps_its_question(visit, site):
    page = visit("es/search.html?q=matriz").page
    page.locator("a.language-switch").click()
    page.wait_for_url(f"{site}/pt/search.html?q=matriz")
    page.locator("#search-results .search-summary").wait_for(state="visible")


@pytest.mark.parametrize("lang", ["es", "pt"])
def test_pages_name_their_peers(visit, site, lang):
    page = visit(f"{lang}/tpu/architecture.html").page
    links = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('link[rel=alternate]')].map(l => [l.hreflang, l.href]))"
    )
    assert links == {
        "es": f"{site}/es/tpu/architecture.html",
        "pt-BR": f"{site}/pt/tpu/architecture.html",
        "x-default": f"{site}/",
    }
    canonical = page.evaluate("document.querySelector('link[rel=canonical]').href")
    assert canonical == f"{site}/{lang}/tpu/architecture.html"
