"""No English is left on a page: every text a reader sees or hears, against the English of Sphinx and its themes.

Born of books whose search box, side bar and buttons stayed in English after the language was set. Texts that scripts
write into a page are looked at by the browser tests.
"""

import gettext
import re
from importlib.resources import files

import pytest
from babel.messages.pofile import read_po
from bs4 import BeautifulSoup, Comment
from docutils.languages import en as docutils_english
from sphinx.locale import admonitionlabels

from sistolica.languages import LANGUAGES
from sistolica.phrases import phrase
from sistolica.site.interface import CourseTranslations

SPOKEN_ATTRIBUTES = ("alt", "aria-description", "aria-label", "data-bs-title", "placeholder", "title", "value")
# Code is English; a span marked as another language says so itself; a reference keeps the title that it has.
NOT_OURS = "pre, code, script, style, kbd, [lang]:not(html), .citation em, .bibtex-citation"
# Sphinx's catalogue also holds what it says to authors; these parts of it write pages.
PAGE_SOURCES = re.compile(
    r"themes/|builders/html|writers/html5|domains/std|transforms/__init__|locale/__init__|environment"
)
HARD_CODED = (
    "Search this book...",
    "Toggle primary sidebar",
    "Toggle secondary sidebar",
    "Toggle hidden content",
    "Link to this heading",
    "Color mode",
    "Dark",
    "Light",
    "System Settings",
    "Fullscreen mode",
    "Source repositories",
    "Site navigation",
    "Version warning",
    "Main",
    "Page",
    "Copy",
    "Copied!",
    "Show code cell content",
    "Hide code cell content",
    "Click to show",
    "Click to hide",
    "Print to PDF",
    "Download this page",
    "Download source file",
    "Launch interactive content",
    "Directory listing",
    "and",
    "visited on",
)
FUNCTION_WORDS = re.compile(
    r"\b(?:the|this|these|and|with|of|to|your|you|is|are|not|click|toggle|show|hide|page)\b", re.I
)


def english_sources() -> set[str]:
    """The English of everything that may write into a page."""
    found = (
        set(HARD_CODED) | {str(label) for label in admonitionlabels.values()} | set(docutils_english.labels.values())
    )
    found |= {entry["en"] for key, entry in phrase.entries.items() if key.startswith("interface.")}
    with files("sphinx").joinpath("locale", "sphinx.pot").open("rb") as catalogue:
        for message in read_po(catalogue):
            if any(PAGE_SOURCES.search(path) for path, _ in message.locations):
                found |= _plain(message.id)
    with files("pydata_sphinx_theme").joinpath("locale", "sphinx.pot").open("rb") as catalogue:
        for message in read_po(catalogue):
            found |= _plain(message.id)
    locales = files("sphinx_book_theme").joinpath("theme/sphinx_book_theme/static/locales/es/LC_MESSAGES/booktheme.po")
    with locales.open("rb") as catalogue:
        for message in read_po(catalogue):
            found |= _plain(message.id)
    return {text for text in found if re.search("[A-Za-z]{2}", text)}


def _plain(message: str | tuple[str, ...]) -> set[str]:
    """The pieces of a message around its placeholders and tags."""
    whole = message if isinstance(message, tuple) else (message,)
    return {
        piece.strip() for text in whole for piece in re.split(r"%\(\w+\)s|%[sd]|\{\w*\}|<[^>]*>|\$\{\w+\}", text)
    } - {""}


@pytest.fixture(scope="module")
def english():
    sources = english_sources()
    assert {"Search", "Skip to main content", "Table of Contents", "Note", "On this page"} <= sources
    return sources


def said_the_same(lang) -> set[str]:
    """English that is also Spanish or Portuguese, by the catalogues: ``Error``, ``Copyright``."""
    catalogue = gettext.translation("sphinx", files("sphinx").joinpath("locale"), languages=[lang.sphinx])
    return {
        text for text in english_sources() if text and catalogue.gettext(text) == text and text in catalogue._catalog
    }


def spoken(page: BeautifulSoup) -> set[str]:
    """What the page says to eyes and ears, piece by piece."""
    for tag in page.select(NOT_OURS):
        tag.decompose()
    texts = {str(text) for text in page.find_all(string=True) if not isinstance(text, Comment)}
    texts |= {tag[name] for tag in page.find_all(True) for name in SPOKEN_ATTRIBUTES if tag.get(name)}
    return {" ".join(text.split()) for text in texts} - {"", "html"}


def english_in(texts, sources):
    """Texts that are an English message, or hold one of two words or more."""
    alone = {source.casefold() for source in sources}
    inside = [
        re.compile(rf"(?<!\w){re.escape(source)}(?!\w)", re.I)
        for source in sources
        if len(re.findall(r"\w+", source)) > 1
    ]
    return sorted(
        text for text in texts if text.casefold().strip(" :.…") in alone or any(look.search(text) for look in inside)
    )


@pytest.mark.parametrize("lang", LANGUAGES, ids=lambda lang: lang.code)
def test_no_english_of_sphinx_and_its_themes_is_left(site, english, lang):
    sources = english - said_the_same(lang)
    left = {name: english_in(spoken(page), sources) for name, page in site.pages(lang.code).items()}
    assert {name: texts for name, texts in left.items() if texts} == {}


@pytest.mark.parametrize("lang", LANGUAGES, ids=lambda lang: lang.code)
def test_no_english_is_left_around_the_article(site, lang):
    for name, page in site.pages(lang.code).items():
        for article in page.select("article"):
            article.decompose()
        assert sorted(filter(FUNCTION_WORDS.search, spoken(page))) == [], name


def test_the_search_would_see_english(english):
    """The tests above can fail: here is a page that was left half in English."""
    body = [
        '<button aria-label="Toggle primary sidebar"></button>',
        "<p>Note</p>",
        '<input placeholder="Search this book...">',
        '<a title="Link to this heading">#</a>',
        "<p>Vuelve a <i>skip to main content</i></p>",
        '<code>Search</code> <span lang="en">Search</span> <!-- Search -->',
        '<nav aria-label="Page">Buscar</nav>',
    ]
    page = BeautifulSoup(f'<html lang="es">{"".join(body)}</html>', "html.parser")
    assert english_in(spoken(page), english) == [
        "Link to this heading",
        "Note",
        "Page",
        "Search this book...",
        "Toggle primary sidebar",
        "skip to main content",
    ]


@pytest.mark.parametrize("lang", LANGUAGES, ids=lambda lang: lang.code)
def test_what_scripts_say_is_translated(site, lang):
    """Sphinx's search page, the copy button and folded blocks speak from scripts."""
    static = site.folder / lang.code / "_static"
    translations = (static / "translations.js").read_text(encoding="utf-8")
    for english_text in ("Searching", "Search Results", "Preparing search..."):
        translated = re.search(rf'"{re.escape(english_text)}": "([^"]+)"', translations)
        assert translated, english_text
        assert translated[1] != english_text
    page = (site.folder / lang.code / "words.html").read_text(encoding="utf-8")
    assert f"toggleHintShow = '{phrase('page.open', lang=lang.code)}'" in page
    script = (static / "copybutton.js").read_text(encoding="utf-8")
    assert f"'copy': '{phrase('copy.copy', lang='es')}'" in script
    assert f"copy: '{phrase('copy.copy', lang='pt')}'" in script
    assert f"copy_success: '{phrase('copy.copy_success', lang='pt')}'" in script


def test_our_translations_are_a_fall_back_that_lets_the_unknown_through():
    ours = CourseTranslations("pt")
    assert ours.gettext("Back to top") == phrase.entries["interface.back_to_top"]["pt"]
    assert ours.gettext("Something else") == "Something else"


def test_messages_are_sound():
    assert phrase.faults() == []
    for key, entry in phrase.entries.items():
        if key.startswith("interface."):
            assert entry["en"] not in {entry["es"], entry["pt"]}, key
