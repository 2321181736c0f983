"""Navigation that is never stale: when a title or the order of pages changes, every page is written again.

An incremental Sphinx build writes only the pages whose text changed, and leaves an old title in the others' side bar.
"""

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

_SHOWN = "sistolica_navigation"


def rewrite_when_titles_change(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The pages to write besides those that changed: all of them, or none."""
    titles = {name: title.astext() for name, title in env.titles.items()}
    shown = {"titles": titles, "order": env.toctree_includes}
    if getattr(env, _SHOWN, None) == shown:
        return []
    setattr(env, _SHOWN, shown)  # kept with the environment from build to build
    return sorted(env.found_docs)


def setup(app: Sphinx) -> None:
    app.connect("env-updated", rewrite_when_titles_change)
