"""The root page picks the reader's language; the switch keeps the page and the place."""

import pytest

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("locale", "lang"),
    [("es-MX", "es"), ("pt-BR", "pt"), ("pt-PT", "pt"), ("pt", "pt"), ("en-US", "es"), ("fr-CA", "es")],
)
def test_the_root_page_leads_to_the_language_of_the_browser(fresh, locale, lang):
    watched = fresh(locale=locale)
    page = watched.goto("#course-home-today")
    page.wait_for_url("**/index.html#course-home-today")
    assert watched.path == f"{lang}/index.html#course-home-today"
    assert (watched.faults, watched.foreign) == ([], [])


def test_going_back_from_it_leaves_the_course(fresh):
    watched = fresh(locale="es")
    page = watched.page
    page.goto("about:blank")
    watched.goto("")
    page.wait_for_url("**/es/index.html")
    page.go_back()
    assert page.url == "about:blank"


def test_a_choice_made_before_wins_over_the_browser(fresh):
    watched = fresh(locale="es-MX")
    page = watched.goto("es/index.html")
    page.locator("a.language-switch").click()
    page.wait_for_url("**/pt/index.html")
    watched.goto("")
    page.wait_for_url("**/pt/index.html")

    page.locator("a.language-switch").click()
    page.wait_for_url("**/es/index.html")
    watched.goto("")
    page.wait_for_url("**/es/index.html")


@pytest.mark.parametrize("stored", ["xx", "", "es; DROP", "portugués"])
def test_a_stored_choice_that_is_no_language_of_the_course_is_harmless(fresh, stored):
    watched = fresh(locale="pt-BR")
    page = watched.goto("es/index.html")
    page.evaluate("(value) => localStorage.setItem('sistolica-language', value)", stored)
    watched.goto("")
    page.wait_for_url("**/index.html")
    wanted = stored[:2] if stored[:2] in {"es", "pt"} else "pt"
    assert watched.path == f"{wanted}/index.html"


@pytest.mark.parametrize("path", ["index.html", "using-the-course.html", "tpu/architecture.html", "search.html"])
def test_the_switch_goes_to_the_same_page_and_back(watch, path):
    watched = watch()
    page = watched.goto(f"es/{path}")
    for there, name in (("pt", "Español"), ("es", "Português")):
        page.locator("a.language-switch").click()
        page.wait_for_url(f"**/{there}/{path}*")
        assert page.locator("a.language-switch").inner_text() == name
    assert watched.faults == []


def in_sight(page, anchor):
    """Whether the reader sees the place below the fixed header, at the top of the window."""
    top = page.locator(f"[id='{anchor}']").bounding_box()["y"]
    return 0 <= top < 200


def test_the_place_survives_the_switch(watch):
    watched = watch()
    page = watched.goto("es/tpu/architecture.html#tpu-architecture-vmem")
    page.locator("a.language-switch").click()
    page.wait_for_url("**/pt/tpu/architecture.html#tpu-architecture-vmem")
    page.wait_for_function("window.scrollY > 0")
    assert in_sight(page, "tpu-architecture-vmem")


def test_a_place_reached_from_the_contents_survives_too(watch):
    watched = watch()
    page = watched.goto("pt/tpu/architecture.html")
    page.locator("#pst-page-toc-nav a").nth(3).click()
    page.wait_for_url("**#*")
    anchor = page.url.partition("#")[2]
    page.locator("a.language-switch").click()
    page.wait_for_url(f"**/es/tpu/architecture.html#{anchor}")
    page.wait_for_function("window.scrollY > 0")
    assert in_sight(page, anchor)


def test_a_query_survives_the_switch(watch):
    watched = watch()
    page = watched.goto("es/search.html?q=matriz")
    page.locator("a.language-switch").click()
    page.wait_for_url("**/pt/search.html?q=matriz")
    page.wait_for_selector("#search-results li")
