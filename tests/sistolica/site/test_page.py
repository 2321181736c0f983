"""What the parts of a lesson become on a page, in each language."""

import pytest

from sistolica.phrases import phrase
from tpu_kernels.messages import LANGUAGES
from tpu_kernels.models import hardware


@pytest.fixture(params=LANGUAGES)
def lang(request):
    return request.param


@pytest.fixture
def page(site, lang):
    return site.page(f"{lang}/part/cells.html").article


def test_a_catalogue_value_has_its_unit_and_says_where_it_comes_from(page, lang):
    bandwidth = hardware.chip("v5e").hbm_bandwidth.format(lang)
    source = hardware.chip("v5e").source("hbm_bandwidth").format(lang)
    in_prose = page.find("abbr", class_="spec")
    assert (in_prose.text, in_prose["title"]) == (bandwidth, source)


def test_a_computed_value_is_written_in_the_language(page, lang):
    shown = [span.text for span in page.find("p").find_all("span", class_="calc")]
    assert shown == [hardware.chip("v5e").hbm_bandwidth.format(lang), "0,7"]


def test_cells_show_code_comments_and_outputs_of_the_language(page, lang):
    cell = page.find("div", class_="cell")
    code = cell.find("div", class_="cell_input").text
    assert ("comentario" in code, "comentário" in code) == (lang == "es", lang == "pt")
    assert cell.find("div", class_="cell_output").find("table")


def test_an_image_has_the_text_of_the_page(page, lang):
    (image,) = page.select(".cell_output img")
    assert image["alt"] == {"es": "una recta que sube de 1 a 2", "pt": "uma reta que sobe de 1 a 2"}[lang]


def test_a_folded_cell_opens_with_words_of_the_language_and_no_other_label(page, lang):
    (folded,) = page.select(".cell details.hide")
    summary = folded.summary
    words = [text.text for text in summary.find_all("p")]
    assert words == [phrase("page.show_code", lang=lang), phrase("page.hide_code", lang=lang)]
    assert not summary.has_attr("aria-label")
    assert "sum" in folded.text
    assert not folded.has_attr("open")


def test_a_question_opens_to_the_feedback_of_each_option(page, lang):
    (quiz,) = page.select("div.quiz")
    asked = quiz.find("p", class_="quiz-question").text
    assert f"({phrase('quiz.single', lang=lang)})" in asked
    assert hardware.chip("v5e").hbm_bandwidth.format(lang) in asked
    options = quiz.find_all("details")
    assert [option.summary.text for option in options] == {"es": ["Mucho", "Poco"], "pt": ["Muito", "Pouco"]}[lang]
    assert [option.strong.text for option in options] == [
        phrase("quiz.right", lang=lang),
        phrase("quiz.wrong", lang=lang),
    ]
    assert "0,7" in options[1].text
    assert quiz["id"] == "quiz-which"


def test_a_solution_opens_to_prose_with_formulas_and_links(page, lang):
    (solution,) = page.select("details.solution")
    assert solution.summary.text == phrase("page.solution", lang=lang)
    assert solution.select(".math")
    assert solution.a["href"] == "../words.html#small-words-exercise-2"


def test_a_reference_is_written_in_the_language(page, lang):
    (entry,) = page.select("div.citation")
    assert phrase("reference.others", lang=lang) in entry.text
    assert phrase("reference.read", lang=lang, date="2026-11-30") in entry.text
    assert " and " not in entry.text
    assert not entry.find_parent(attrs={"role": "list"}), "links alone are no list for a screen reader"


class TestAnchors:
    """Born of links to accented and repeated titles, and of a place in the page lost when the language changes."""

    def test_are_the_labels_in_contents_permalinks_and_search(self, site, lang):
        page = site.page(f"{lang}/words.html")
        wanted = ["small-words-multiplication", "small-words-exercise-1", "small-words-exercise-2"]
        contents = [link["href"] for link in page.select("#pst-page-toc-nav > ul > li > a")]
        assert contents == [f"#{label}" for label in wanted]
        assert [link["href"] for link in page.select("article h2 > a.headerlink")] == contents
        index = (site.folder / lang / "searchindex.js").read_text(encoding="utf-8")
        assert '"small-words-exercise-2"' in index

    def test_of_headings_without_a_label_come_from_their_place(self, site, lang):
        page = site.page(f"{lang}/words.html")
        assert [section["id"] for section in page.select("section section section")] == [
            "small-words-exercise-1-1",
            "small-words-exercise-1-2",
        ]

    def test_made_from_titles_keep_working(self, site):
        assert site.page("es/words.html").find(id="multiplicacion-de-matrices")
        assert site.page("pt/words.html").find(id="multiplicacao-de-matrizes")

    def test_are_the_same_in_every_language(self, site):
        for name in ("index.html", "words.html", "part/cells.html"):
            found = {
                lang: [section["id"] for section in site.page(f"{lang}/{name}").select("article section")]
                for lang in LANGUAGES
            }
            assert found["es"] == found["pt"]
            assert found["es"]

    def test_stand_once_on_a_page(self, site, lang):
        for name, page in site.pages(lang).items():
            anchors = [tag["id"] for tag in page.select("[id]")]
            assert len(anchors) == len(set(anchors)), name
