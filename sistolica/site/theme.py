"""The theme, trimmed and repaired.

What is taken away and why: sphinx-thebe, which Jupyter Book always loads, declares the same script variable twice on
every page (a page error) and names a foreign host; ``fontawesome.js`` weighs more than all the rest of a page, and the
icons come from the web font anyway; the search index, which only the search page needs. MathJax is served from our own
origin.
"""

import importlib.util
import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from sistolica.phrases import phrase

HERE = Path(__file__).parent
UNUSED_EXTENSIONS = frozenset({"sphinx_thebe", "sphinx_comments"})
MATHJAX_FOLDER = "mathjax"
MATHJAX_PARTS = ("tex-chtml.js", "output/chtml/fonts/woff-v2")  # what a page loads; the package holds 24 MB more
_SEARCH_SCRIPTS = re.compile(r'\s*<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"></script>')
_FONTAWESOME_SCRIPT = re.compile(r"\s*<!--[^>]*custom icons -->\s*<script[^>]*fontawesome\.js[^>]*></script>")


def configure(app: Sphinx, config: Config) -> None:
    """Point Sphinx at our templates and assets."""
    config.templates_path.insert(0, str(HERE / "templates"))  # before the theme's own, which it lists there too
    config.html_static_path.append(str(HERE / "static"))
    config.html_favicon = str(HERE / "static" / "favicon.svg")
    config.html_context.setdefault("default_mode", "auto")
    config.mathjax_path = f"{MATHJAX_FOLDER}/tex-chtml.js"
    # its context menu speaks English
    config.mathjax3_config = {"options": {"enableMenu": False}, **(config.mathjax3_config or {})}


def equip_templates(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Give the templates what they call."""
    if pagename == "search":
        app.add_js_file("search-excerpts.js", loading_method="defer")  # on this page only
    lang = app.config.sistolica_language
    context["say"] = lambda key, **values: phrase(key, lang=lang, **values)
    context["without_fontawesome_script"] = lambda html: _FONTAWESOME_SCRIPT.sub("", html)
    context["without_search_scripts"] = lambda html: _SEARCH_SCRIPTS.sub("", html)


def silence_unused_extensions(app: Sphinx) -> None:
    """Disconnect the extensions that Jupyter Book loads unasked and that would put scripts on every page."""
    for listeners in app.events.listeners.values():
        for listener in tuple(listeners):
            if listener.handler.__module__.partition(".")[0] in UNUSED_EXTENSIONS:
                app.disconnect(listener.id)
    app.registry.css_files = [entry for entry in app.registry.css_files if entry[0] != "sphinx-thebe.css"]


def copy_mathjax(app: Sphinx, exception: Exception | None) -> None:
    """Serve MathJax from our own origin: the script and its fonts, from the package that carries them."""
    if exception is not None:
        return
    package = importlib.util.find_spec("sphinx-mathjax-offline")
    assert package is not None
    assert package.origin is not None
    source = Path(package.origin).parent / "static" / "mathjax"
    target = Path(app.outdir) / "_static" / MATHJAX_FOLDER
    for part in MATHJAX_PARTS:
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part, dirs_exist_ok=True)
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / part, target / part)


def setup(app: Sphinx) -> None:
    silence_unused_extensions(app)
    app.connect("config-inited", configure)
    app.add_css_file("sistolica.css")
    app.add_js_file("sistolica.js", loading_method="defer")
    app.connect("html-page-context", equip_templates, priority=100)  # pydata's own handler renders templates
    app.connect("build-finished", copy_mathjax)
