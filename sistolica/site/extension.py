"""The course's Sphinx extension: lists its parts. ``_config.yml`` names it, so plain ``jupyter-book build .`` works."""

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

from sistolica import __version__
from sistolica.site import (
    anchors,
    bibliography,
    cells,
    disclosure,
    interface,
    languages,
    navigation,
    roles,
    search,
    termbase,
    theme,
)

PARTS = (languages, theme, interface, navigation, search, cells, roles, disclosure, anchors, bibliography, termbase)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Set up every part, languages first: the others ask for the language."""
    for part in PARTS:
        part.setup(app)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}
