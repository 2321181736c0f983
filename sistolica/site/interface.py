"""The interface in the reader's language: what Sphinx, its themes and extensions still say in English is said by us.

Sphinx's Spanish and Brazilian catalogues are good but not whole, pydata-sphinx-theme has no Portuguese at all, and two
extensions keep their texts out of any catalogue. Every such string stands in ``messages.toml`` under ``[interface]``,
by its English text, and is offered to the translators as a fall-back.
"""

import gettext
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.locale import translators

from sistolica.phrases import phrase


class CourseTranslations(gettext.NullTranslations):
    """Our translations of other people's English."""

    def __init__(self, lang: str) -> None:
        super().__init__()
        self._texts = {
            entry["en"]: entry[lang] for key, entry in phrase.entries.items() if key.startswith("interface.")
        }

    def gettext(self, message: str) -> str:
        return self._texts.get(message, message)


def speak(app: Sphinx) -> None:
    """Add our translations behind those of every catalogue in use."""
    ours = CourseTranslations(app.config.sistolica_language)
    for catalog in ("sphinx", "booktheme", "togglebutton"):
        domain = ("general", catalog)
        if domain in translators:
            translators[domain].add_fallback(ours)
        else:
            translators[domain] = ours


def name_things(app: Sphinx, config: Config) -> None:
    """Fill in the texts that are configuration, not catalogue: search, contents, the words of folded cells."""
    lang = config.sistolica_language
    config.html_theme_options.update(
        search_bar_text=phrase("page.search", lang=lang),
        toc_title=phrase("page.contents", lang=lang),
        logo={"text": config.project, "alt_text": ""},
    )
    config.nb_mime_priority_overrides = []
    config.nb_code_prompt_show = phrase("page.show_code", lang=lang, type="{type}")
    config.nb_code_prompt_hide = phrase("page.hide_code", lang=lang, type="{type}")
    config.togglebutton_hint = phrase("page.open", lang=lang)
    config.togglebutton_hint_hide = phrase("page.close", lang=lang)


def translate_copy_button(app: Sphinx, exception: Exception | None) -> None:
    """sphinx-copybutton knows no ``pt-BR`` and has no setting for it: add ours to the table in its script."""
    if exception is not None:
        return
    script = Path(app.outdir) / "_static" / "copybutton.js"
    source = script.read_text(encoding="utf-8")
    anchor = "let locale = 'en'"
    if anchor not in source:
        raise ExtensionError("copybutton.js has changed: found no place for its Portuguese texts", modname="sistolica")
    names = ("copy", "copy_to_clipboard", "copy_success", "copy_failure")
    table = ", ".join(f"{name}: {phrase('copy.' + name, lang='pt')!r}" for name in names)
    ours = f"messages['pt-BR'] = {{{table}}};\n"
    if ours not in source:
        script.write_text(source.replace(anchor, ours + anchor), encoding="utf-8")


def setup(app: Sphinx) -> None:
    # before the themes read their options
    app.connect("config-inited", name_things, priority=100)
    app.connect("builder-inited", speak, priority=100)
    app.connect("build-finished", translate_copy_button)
