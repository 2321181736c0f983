"""The same page in every language: the switch, ``hreflang`` and canonical links."""

from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

from sistolica.languages import LANGUAGES, language
from sistolica.site.cells import project_of, slug_of

BUILT_PAGES = frozenset({"search", "genindex"})  # every build has them


def link_languages(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Tell the templates where this page is in each language.

    Addresses are absolute when ``html_baseurl`` names the site, else relative to the page, which is what a copy on a
    USB stick needs. A plain build of one language alone has nothing to switch to.
    """
    here = language(app.config.sistolica_language)
    context["course_language"] = here
    context["course_alternates"] = []
    context["course_canonical"] = None
    if not app.config.sistolica_site:
        return
    project = project_of(app)
    slug = pagename if pagename in BUILT_PAGES else slug_of(app, pagename)
    target = app.builder.get_target_uri(pagename)
    up = "../" * (target.count("/") + 1)
    base = (app.config.html_baseurl or "").rstrip("/")
    site = f"{base.removesuffix('/' + here.code)}/" if base else up
    for other in LANGUAGES:
        translated = slug in BUILT_PAGES or project.prose(other.code, slug).is_file()
        page = target if translated else app.builder.get_target_uri("index")
        context["course_alternates"].append(
            {"language": other, "href": f"{up}{other.code}/{page}", "address": f"{site}{other.code}/{page}"}
        )
    context["course_canonical"] = f"{site}{here.code}/{target}"
    context["course_root"] = site


def refuse_other_language(app: Sphinx, config: Config) -> None:
    """Written in the wrong place of ``_config.yml`` it is ignored without a word, and the book comes out in English."""
    wanted = language(config.sistolica_language).sphinx
    if config.language != wanted:
        raise ConfigError(
            f"Sphinx's language is {config.language!r}, expected {wanted!r} for sistolica_language "
            f"{config.sistolica_language!r}; write it in _config.yml under sphinx: config: language"
        )


def setup(app: Sphinx) -> None:
    app.add_config_value("sistolica_language", LANGUAGES[0].code, "env")
    app.add_config_value("sistolica_platform", "", "env")  # when the platform changes, every page is read again
    app.add_config_value("sistolica_site", False, "html")
    app.connect("config-inited", refuse_other_language)
    app.connect("html-page-context", link_languages, priority=100)
