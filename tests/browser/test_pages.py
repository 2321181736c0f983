"""Every kind of page, in both languages, light and dark, on a desk and on a phone: sound, whole and accessible."""

from itertools import product

import pytest
from axe_playwright_python.sync_playwright import Axe

pytestmark = pytest.mark.browser

PHONE = {"width": 360, "height": 740}
WIDE = {"width": 1440, "height": 900}
SLUGS = ("index", "using-the-course", "tpu/architecture", "search")
PAGES = [*(f"{lang}/{slug}.html" for lang, slug in product(("es", "pt"), SLUGS)), "index.html"]


def violations(page):
    """What axe finds, by rule: how grave, how often, and the first place."""
    return {
        found["id"]: (found["impact"], len(found["nodes"]), found["nodes"][0]["html"][:200])
        for found in Axe().run(page).response["violations"]
    }


def sideways(page):
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


@pytest.fixture(params=["light", "dark"])
def theme(request):
    return request.param


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_sound_on_a_desk_and_on_a_phone(watch, path, theme):
    """One visit a page, because each costs a second: errors, foreign requests, accessibility, width."""
    # the root page would lead away at once
    watched = watch(color_scheme=theme, java_script_enabled=path != "index.html")
    page = watched.goto(f"{path}?q=matriz" if path.endswith("search.html") else path)
    page.wait_for_load_state("networkidle")
    if path.endswith("search.html"):
        page.wait_for_selector("#search-results li p.context")

    assert (watched.faults, watched.foreign) == ([], [])  # before axe, which asks for style sheets by wrong names
    assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") == (theme == "dark")
    assert violations(page) == {}
    assert sideways(page) <= 0

    page.set_viewport_size(PHONE)
    page.evaluate("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
    assert sideways(page) <= 0
    assert violations(page) == {}, "on a phone, with everything open"
    page.set_viewport_size(WIDE)


def test_the_checks_would_see_a_bad_page(watch):
    """The test above can fail: here is a page with a fault of each kind."""
    watched = watch()
    page = watched.goto("es/index.html")
    page.evaluate(
        """() => {
          document.querySelector("article").insertAdjacentHTML("beforeend",
            '<img src="none.png" style="width: 3000px"><p style="color: #eee; background: #fff">pale</p>');
          setTimeout(() => { throw new Error("thrown"); });
          fetch("http://localhost:9/").catch(() => {});
        }"""
    )
    page.wait_for_load_state("networkidle")
    page.set_viewport_size(PHONE)

    assert {"image-alt", "color-contrast"} <= set(violations(page))
    assert sideways(page) > 0
    assert any("thrown" in fault for fault in watched.faults)
    assert any("404" in fault and "none.png" in fault for fault in watched.faults)
    assert any("Content Security Policy" in fault for fault in watched.faults), "the server lets nothing out"
    page.set_viewport_size(WIDE)


@pytest.mark.parametrize(("lang", "tag"), [("es", "es"), ("pt", "pt-BR")])
def test_each_language_loads_with_its_name_and_theme(watch, lang, tag):
    page = watch(color_scheme="dark").goto(f"{lang}/index.html")
    assert page.locator("html").get_attribute("lang") == tag
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert page.locator("h1:visible").inner_text() == "Sistólica\n#" or page.locator("article h1").is_visible()


@pytest.mark.parametrize("lang", ["es", "pt"])
def test_formulas_are_set_with_fonts_of_our_own(watch, lang):
    watched = watch()
    page = watched.goto(f"{lang}/tpu/architecture.html")
    page.wait_for_selector("mjx-container mjx-math")
    page.wait_for_load_state("networkidle")

    assert page.locator("article .math").count() == page.locator("article .math mjx-container").count()
    fonts = [url for url in watched.requests if "/mathjax/" in url and url.endswith(".woff")]
    assert fonts
    assert watched.foreign == []
    assert page.evaluate("document.fonts.check('1em MJXTEX')")


@pytest.mark.parametrize(("lang", "copy", "copied"), [("es", "Copiar", "¡Copiado!"), ("pt", "Copiar", "Copiado!")])
def test_the_copy_button_speaks_the_language(watch, lang, copy, copied):
    page = watch().goto(f"{lang}/tpu/architecture.html")
    button = page.locator("button.copybtn").first
    assert button.get_attribute("data-tooltip") == copy
    page.locator(".cell_input .highlight").first.hover()
    button.click()
    assert button.get_attribute("data-tooltip") == copied


def test_the_theme_button_changes_the_theme_and_it_stays(watch):
    page = watch().goto("es/index.html")
    modes = []
    for _ in range(3):
        page.locator("button.theme-switch-button:visible").first.click()
        modes.append(page.locator("html").get_attribute("data-mode"))
    assert sorted(modes) == ["auto", "dark", "light"]
    while page.locator("html").get_attribute("data-mode") != "dark":
        page.locator("button.theme-switch-button:visible").first.click()
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.evaluate("localStorage.clear()")


def test_a_table_wider_than_a_phone_scrolls_by_keyboard_and_keeps_its_title_in_sight(watch):
    page = watch().goto("es/tpu/architecture.html")
    page.set_viewport_size(PHONE)
    box = page.locator(".cell_output div[tabindex='0']:has(table caption)").last
    box.scroll_into_view_if_needed()
    assert box.evaluate("(box) => box.scrollWidth > box.clientWidth")
    caption = box.locator("caption")
    box.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("(box) => box.scrollLeft > 0", arg=box.element_handle())
    where = caption.bounding_box()
    assert where["x"] >= 0
    assert where["x"] + where["width"] <= PHONE["width"]
    page.set_viewport_size(WIDE)


class TestWithoutScripts:
    @pytest.mark.parametrize("lang", ["es", "pt"])
    def test_the_chapter_is_whole(self, watch, lang):
        def parts(page):
            return {
                selector: page.locator(f"article {selector}").count()
                for selector in ("section", "p", ".cell_input pre", ".cell_output", "img", "svg", "table", "details")
            }

        page = watch(java_script_enabled=False).goto(f"{lang}/tpu/architecture.html")
        assert parts(page) == parts(watch().goto(f"{lang}/tpu/architecture.html"))
        for selector in (".cell_output svg", ".cell_output table", ".cell_output img", "article .quiz"):
            assert page.locator(selector).first.is_visible(), selector
        images = page.locator("article img").evaluate_all("(all) => all.map((image) => image.naturalWidth)")
        assert images
        assert all(images)
        assert not page.locator(".pst-js-only:visible").count(), "a button that does nothing is shown"

    def test_answers_solutions_and_folded_cells_open(self, watch):
        page = watch(java_script_enabled=False).goto("pt/tpu/architecture.html")
        for kind in ("details.quiz-option", "details.solution", "details.hide"):
            box = page.locator(f"article {kind}").first
            content = box.locator("> :not(summary)").first
            assert not content.is_visible()
            box.locator("> summary").click()
            assert content.is_visible()

    def test_the_other_language_and_the_pages_are_links(self, watch):
        watched = watch(java_script_enabled=False)
        page = watched.goto("es/tpu/architecture.html")
        page.locator("a.language-switch").click()
        assert watched.path == "pt/tpu/architecture.html"
        page.locator("a.right-next, a.left-prev").first.click()
        assert watched.path.startswith("pt/")

    def test_search_says_what_it_needs(self, watch):
        page = watch(java_script_enabled=False).goto("pt/search.html")
        assert page.get_by_text("Ative o JavaScript para usar a busca.").is_visible()
