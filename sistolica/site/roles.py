"""Numbers in prose: ``{spec}`` reads the hardware catalogue, ``{calc}`` reads what the page's own cells computed."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from sistolica.lesson.quote import QuoteError, format_calc, format_spec, spec_source


class SpecRole(SphinxRole):
    """``{spec}`v5e.hbm_bandwidth```: the value with its unit; its source and date on hover."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        lang = self.config.sistolica_language
        try:
            shown = format_spec(self.text, lang)
        except QuoteError as error:
            return _refuse(self, error)
        explanation = spec_source(self.text, lang)
        return [nodes.abbreviation(self.rawtext, shown, explanation=explanation, classes=["spec"])], []


class CalcRole(SphinxRole):
    """``{calc}`name``` or ``{calc}`name:.1f```: the final value of a variable of the page's cells."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        values: dict[str, Any] = self.env.temp_data.get("sistolica_values", {})
        try:
            shown = format_calc(self.text, values, self.config.sistolica_language)
        except QuoteError as error:
            return _refuse(self, error)
        return [nodes.inline(self.rawtext, shown, classes=["calc"])], []


def _refuse(role: SphinxRole, error: QuoteError) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    report = role.inliner.reporter.error(str(error), line=role.lineno)
    return [role.inliner.problematic(role.rawtext, role.rawtext, report)], [report]


def setup(app: Sphinx) -> None:
    app.add_role("spec", SpecRole())
    app.add_role("calc", CalcRole())
