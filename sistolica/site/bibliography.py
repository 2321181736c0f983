"""References on a page, in the reader's language and in HTML that a screen reader can follow."""

from typing import Any

from docutils import nodes
from pybtex.database import Entry
from pybtex.plugin import register_plugin
from pybtex.richtext import HRef, Tag, Text
from pybtex.style.formatting import BaseStyle
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.writers.html5 import HTML5Translator

from sistolica.languages import LANGUAGES
from sistolica.lesson.references import reference


class CourseStyle(BaseStyle):  # type: ignore[misc]  # pybtex ships no types
    """The same line for every kind of entry, see :class:`~sistolica.lesson.references.Reference`."""

    default_name_style = "plain"
    default_label_style = "number"
    default_sorting_style = "none"
    lang: str

    def get_misc_template(self, entry: Entry) -> "_Ready":
        said = reference(entry, self.lang)
        line = Text(f"{said.authors}. ", Tag("em", said.title), f" {said.where}.")
        if said.address:
            line += Text(" ", HRef(said.address, said.address), f" {said.note}")
        return _Ready(line)

    get_article_template = get_misc_template
    get_book_template = get_misc_template
    get_inproceedings_template = get_misc_template
    get_techreport_template = get_misc_template


class _Ready:
    """A finished line where pybtex expects a template."""

    def __init__(self, line: Text) -> None:
        self._line = line

    def format_data(self, context: dict[str, Any]) -> Text:
        return self._line


def _choose_style(app: Sphinx, config: Config) -> None:
    config.bibtex_default_style = f"course-{config.sistolica_language}"


def _open_citation(translator: HTML5Translator, node: nodes.Element) -> None:
    # docutils marks a list whose items are links, which no reader of screens can make sense of
    translator.body.append(translator.starttag(node, "div", CLASS="citation"))


def _close_citation(translator: HTML5Translator, node: nodes.Element) -> None:
    translator.body.append("</div>\n")


def setup(app: Sphinx) -> None:
    for language in LANGUAGES:
        style = type("LanguageStyle", (CourseStyle,), {"lang": language.code})
        register_plugin("pybtex.style.formatting", f"course-{language.code}", style)
    app.connect("config-inited", _choose_style)
    app.add_node(nodes.citation, override=True, html=(_open_citation, _close_citation))
