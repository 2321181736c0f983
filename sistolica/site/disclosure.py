"""Text that the reader opens: solutions of exercises, quiz answers and folded cells, as plain HTML ``<details>``."""

from html import escape

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from sistolica.lesson import Lesson, Option
from sistolica.phrases import phrase


class disclosure(nodes.General, nodes.Element):  # noqa: N801  docutils finds visitors by the node's name
    """Closed until asked for; its first child is a :class:`disclosure_summary`."""


class disclosure_summary(nodes.Part, nodes.TextElement):  # noqa: N801
    """What the reader sees of a closed disclosure."""


def _open_details(translator: HTML5Translator, node: nodes.Element) -> None:
    translator.body.append(translator.starttag(node, "details"))


def _close_details(translator: HTML5Translator, node: nodes.Element) -> None:
    translator.body.append("</details>\n")


def _open_summary(translator: HTML5Translator, node: nodes.Element) -> None:
    translator.body.append(translator.starttag(node, "summary", suffix=""))


def _close_summary(translator: HTML5Translator, node: nodes.Element) -> None:
    translator.body.append("</summary>\n")


def _open_folded_cell(translator: HTML5Translator, node: nodes.Element) -> None:
    """As MyST-NB does, without the English label that would hide the summary's text from a screen reader."""
    classes = " ".join(["admonition", "hide", *node["classes"]])
    translator.body.append(f'<details class="{classes}">\n<summary>\n')
    for state, prompt in (("collapsed", node["prompt_show"]), ("expanded", node["prompt_hide"])):
        translator.body.append(f'<p class="{state} admonition-title">{escape(prompt)}</p>\n')
    translator.body.append("</summary>\n")


class SolutionDirective(SphinxDirective):
    """A worked solution, closed until asked for."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        summary = phrase("page.solution", lang=self.config.sistolica_language)
        box = disclosure("", disclosure_summary("", summary), classes=["solution"])
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


class QuizDirective(SphinxDirective):
    """One question of the chapter's quiz file: each option opens to its feedback."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        lesson: Lesson = self.env.temp_data["sistolica_lesson"]
        lang = lesson.lang
        question = lesson.questions[self.arguments[0]]
        kind = phrase(f"quiz.{question.kind}", lang=lang)
        box = nodes.container(classes=["quiz"], ids=[f"quiz-{question.key}"])
        asked = nodes.paragraph(classes=["quiz-question"])
        asked += self._inline(question.text[lang])
        asked += [nodes.Text(" "), nodes.inline("", f"({kind})", classes=["quiz-kind"])]
        box += asked
        for option in question.options:
            box += self._option(option, lang)
        return [box]

    def _option(self, option: Option, lang: str) -> nodes.Node:
        verdict = "right" if option.correct else "wrong"
        summary = disclosure_summary()
        summary += self._inline(option.text[lang])
        feedback = nodes.paragraph()
        feedback += [nodes.strong("", phrase(f"quiz.{verdict}", lang=lang)), nodes.Text(" ")]
        feedback += self._inline(option.feedback[lang])
        return disclosure("", summary, feedback, classes=["quiz-option", f"quiz-{verdict}"])

    def _inline(self, text: str) -> list[nodes.Node]:
        return self.state.inline_text(text, self.lineno)[0]


def setup(app: Sphinx) -> None:
    app.add_node(disclosure, html=(_open_details, _close_details))
    app.add_node(disclosure_summary, html=(_open_summary, _close_summary))
    app.setup_extension("myst_nb")
    app.add_node(HideCodeCellNode, override=True, html=(_open_folded_cell, _close_details))
    app.add_directive("solution", SolutionDirective)
    app.add_directive("quiz", QuizDirective)
