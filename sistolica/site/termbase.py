"""The glossary page: the termbase as a table, in the order of the page's language."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sistolica.check.fault import Findings
from sistolica.check.terms import Term, read_terms
from sistolica.languages import LANGUAGES, language
from sistolica.phrases import phrase
from sistolica.site.cells import project_of
from sistolica.site.search import fold


class TermbaseDirective(SphinxDirective):
    """``{termbase}``: what each term is called in this language, in English, and in the other language."""

    def run(self) -> list[nodes.Node]:
        project = project_of(self.env.app)
        path = project.book / "terms.csv"
        self.env.note_dependency(str(path))
        lang = self.config.sistolica_language
        others = [other.code for other in LANGUAGES if other.code != lang]
        terms = sorted(
            read_terms(path, Findings(project.root)).terms, key=lambda term: fold(term.local[lang]).casefold()
        )
        headings = [
            language(lang).name,
            phrase("glossary.english", lang=lang),
            *(language(code).name for code in others),
        ]
        table = nodes.table(classes=["glossary-terms"])
        group = nodes.tgroup(cols=len(headings))
        table += group
        group += [nodes.colspec(colwidth=1) for _ in headings]
        group += nodes.thead("", _row([nodes.paragraph("", heading) for heading in headings]))
        group += nodes.tbody("", *(_row(self._entries(term, lang, others)) for term in terms))
        return [table]

    @staticmethod
    def _entries(term: Term, lang: str, others: list[str]) -> list[nodes.Node]:
        own = nodes.paragraph("", "", nodes.strong("", term.local[lang]))
        english = nodes.paragraph("", "", nodes.inline("", term.english, lang="en"))
        return [own, english, *(nodes.paragraph("", term.local[code]) for code in others)]


def _row(entries: list[nodes.Node]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", entry) for entry in entries))


def setup(app: Sphinx) -> None:
    app.add_directive("termbase", TermbaseDirective)
