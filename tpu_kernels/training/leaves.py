"""What a state is made of, leaf by leaf: enough to tell another model from this one before its numbers are read."""

from typing import Any

import jax


def forms(tree: Any) -> dict[str, str]:
    """The form of every leaf by its name, as ``{".params['up']": "float32[4, 128, 512]"}``."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path): f"{leaf.dtype}{list(leaf.shape)}" for path, leaf in leaves}


def first_difference(saved: dict[str, str], here: dict[str, str]) -> str | None:
    """The first name that has not the same form in both, or is in one only; None when there is none."""
    return next((name for name in [*here, *saved] if saved.get(name) != here.get(name)), None)
