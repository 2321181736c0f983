"""Every kind of page, in both languages, light and dark, on a phone and on a desk."""

import pytest
from axe_playwright_python.sync_playwright import Axe

pytestmark = pytest.mark.browser

PAGES = [
    "index.html",
    *(
        f"{lang}/{page}.html"
        for lang in ("es", "pt")
        for page in ("index", "using-the-course", "tpu/architecture", "glossary", "search")
    ),
]


@pytest.mark.parametrize("width", [1440, 360])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("address", PAGES)
def test_a_page_has_no_fault_and_everyone_can_use_it(visit, address, dark, width):
    visited = visit(address, dark=dark, width=width)
    assert visited.faults == []
    assert visited.foreign == []
    too_wide = visited.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert too_wide <= 0, f"the page scrolls sideways by {too_wide} px"
    violations = Axe().run(visited.page).response["violations"]
    assert [(found["id"], found["nodes"][0]["html"][:200]) for found in violations] == []


@pytest.mark.parametrize(("lang", "tag"), [("es", "es"), ("pt", "pt-BR")])
def test_formulas_are_set_with_our_own_fonts(visit, lang, tag):
    page = visit(f"{lang}/tpu/architecture.html").page
    assert page.locator("html").get_attribute("lang") == tag
    assert page.locator("mjx-container").count() > 10
    fonts = page.evaluate("performance.getEntriesByType('resource').map(r => r.name).filter(n => n.includes('woff'))")
    assert any("mathjax" in font for font in fonts)


def test_the_copy_button_speaks_portuguese(visit):
    page = visit("pt/tpu/architecture.html").page
    assert page.locator("button.copybtn").first.get_attribute("data-tooltip") == "Copiar"
    scripted = page.evaluate("messages[locale].copy_to_clipboard")
    assert scripted == "Copiar para a área de transferência"


@pytest.mark.parametrize("lang", ["es", "pt"])
def test_without_scripts_the_chapter_is_whole(visit, lang):
    page = visit(f"{lang}/tpu/architecture.html", java_script_enabled=False).page
    assert page.locator("svg[role=img]").first.is_visible()
    assert page.locator(".cell_output").count() > 10
    assert page.locator("details.quiz-option").first.is_visible()
    assert page.locator("a.language-switch").is_visible()


@pytest.mark.parametrize("lang", ["es", "pt"])
def test_a_solution_opens_with_the_keyboard(visit, lang):
    page = visit(f"{lang}/tpu/architecture.html").page
    solution = page.locator("details.solution").first
    assert solution.get_attribute("open") is None
    solution.locator("summary").focus()
    page.keyboard.press("Enter")
    assert solution.get_attribute("open") is not None


def test_a_number_says_where_it_comes_from(visit):
    page = visit("es/tpu/architecture.html").page
    assert page.locator("abbr.spec").first.get_attribute("title").startswith("Fuente: ")


@pytest.mark.parametrize("lang", ["es", "pt"])
def test_the_page_can_be_taken_away_as_a_notebook(visit, lang, site):
    page = visit(f"{lang}/tpu/architecture.html").page
    address = page.locator("a.notebook-link").evaluate("link => link.href")
    notebook = page.request.get(address).json()
    assert notebook["metadata"]["sistolica"] == {"page": "tpu/architecture", "lang": lang}
    assert all(cell.get("outputs", []) == [] for cell in notebook["cells"])
