"""Links to the same page in the other language, and what happens where it is not written."""

from types import SimpleNamespace

import pytest
from sphinx.errors import ConfigError

from sistolica.site.languages import link_languages, refuse_other_language


@pytest.fixture
def links(course):
    """The addresses that the templates of a page get."""

    def look(page, lang="es", address="", site=True):
        app = SimpleNamespace(
            srcdir=course.book / lang,
            config=SimpleNamespace(sistolica_language=lang, sistolica_site=site, html_baseurl=address),
            env=SimpleNamespace(doc2path=lambda name: str(course.prose(lang, name))),
            builder=SimpleNamespace(get_target_uri=lambda name: f"{name}.html"),
        )
        context = {}
        link_languages(app, page, "page.html", context, None)
        return context

    return look


def test_a_page_that_the_other_language_lacks_leads_to_its_first_page(links, course):
    course.prose("pt", "part/cells").unlink()
    context = links("part/cells")
    assert [(page["language"].code, page["href"]) for page in context["course_alternates"]] == [
        ("es", "../../es/part/cells.html"),
        ("pt", "../../pt/index.html"),
    ]
    assert context["course_canonical"] == "../../es/part/cells.html"


@pytest.mark.parametrize("address", ["https://example.org/x/es/", "https://example.org/x/es"])
def test_with_an_address_machines_get_it_whole_and_readers_do_not(links, address):
    context = links("part/cells", address=address)
    assert context["course_canonical"] == "https://example.org/x/es/part/cells.html"
    assert context["course_root"] == "https://example.org/x/"
    assert context["course_alternates"][1]["address"] == "https://example.org/x/pt/part/cells.html"
    assert context["course_alternates"][1]["href"] == "../../pt/part/cells.html"


def test_the_search_page_exists_in_every_language(links):
    assert [page["href"] for page in links("search", lang="pt")["course_alternates"]] == [
        "../es/search.html",
        "../pt/search.html",
    ]


def test_a_book_of_one_language_links_to_no_other(links):
    context = links("words", site=False)
    assert (context["course_alternates"], context["course_canonical"]) == ([], None)


@pytest.mark.parametrize(("ours", "sphinx"), [("es", "en"), ("es", "pt_BR"), ("pt", "pt"), ("pt", "es")])
def test_a_language_that_sphinx_does_not_speak_is_refused(ours, sphinx):
    with pytest.raises(ConfigError, match="under sphinx: config: language"):
        refuse_other_language(None, SimpleNamespace(sistolica_language=ours, language=sphinx))


@pytest.mark.parametrize(("ours", "sphinx"), [("es", "es"), ("pt", "pt_BR")])
def test_the_right_one_is_not(ours, sphinx):
    refuse_other_language(None, SimpleNamespace(sistolica_language=ours, language=sphinx))
