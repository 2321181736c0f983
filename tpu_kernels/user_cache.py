"""Where the user's cache is: what can be made again, and should not have to be."""

import os
from pathlib import Path

VARIABLE = "SISTOLICA_CACHE"


def cache_folder(name: str) -> Path:
    """The folder ``name`` in ``$SISTOLICA_CACHE``, else among ours in the user's cache folder; it may not exist yet."""
    chosen = os.environ.get(VARIABLE)
    return (Path(chosen) if chosen else _user_cache() / "sistolica") / name


def _user_cache() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    if named:
        return Path(named)
    try:
        return Path.home() / ".cache"
    except RuntimeError:  # a user without a home, as in some containers
        return Path(os.devnull)
