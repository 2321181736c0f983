"""Versions of what is installed, and what the installed jax asks of its companions. Imports none of them."""

from collections.abc import Iterable, Mapping
from importlib import metadata

from packaging.requirements import Requirement

# jax's compiled half and what drives each kind of hardware, by the name of the distribution.
COMPANIONS = ("jaxlib", "libtpu", "jax-cuda12-plugin", "jax-cuda13-plugin", "jax-rocm7-plugin")
SHOWN = ("jax", *COMPANIONS, "numpy", "torch", "torch_xla")


def installed_versions(names: Iterable[str]) -> dict[str, str]:
    """The versions of those distributions that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def asked_by_jax() -> Mapping[str, str]:
    """Version ranges (PEP 440) of jax's companions, as the installed jax declares them; empty without jax."""
    try:
        declared = metadata.requires("jax") or []
    except metadata.PackageNotFoundError:
        return {}
    ranges: dict[str, str] = {}
    for requirement in sorted(map(Requirement, declared), key=lambda one: one.marker is not None):
        if requirement.name in COMPANIONS:
            ranges.setdefault(requirement.name, str(requirement.specifier))  # an extra's narrower range comes second
    return ranges
