"""What ``data/serving.toml`` holds: defaults of routers by version, measured servers, language models, benchmarks."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from tpu_kernels.models.catalogue import Source, Value, read_values
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.phrases import phrase


@cache
def document() -> Mapping[str, Any]:
    """The whole of ``serving.toml``, parsed on first use."""
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("tpu_kernels.data").joinpath("serving.toml").read_text(encoding="utf-8"))


@cache
def sources() -> Mapping[str, Source]:
    """Every source by key."""
    return {key: Source(key=key, **entry) for key, entry in document()["sources"].items()}


def names(kind: str) -> tuple[str, ...]:
    """The keys of a kind: ``systems`` (routers), ``models``, ``replicas`` or ``tables``."""
    return tuple(document()[kind])


@cache
def values(kind: str, key: str) -> Mapping[str, Value]:
    """Every value of an entry by field, with unit, published text and source; ``ValueError`` for an unknown key."""
    entry = _entry(kind, key)
    return read_values(entry["name"], entry["values"])


def number(kind: str, key: str, field: str) -> float:
    """One value as a float: ``number("systems", "llm_d_router_2026_08_22", "queue_weight")``.

    Raises ``ValueError`` for an entry or a field that the file does not have.
    """
    recorded = values(kind, key)
    if field not in recorded:
        raise ValueError(phrase("serving.not_published", got=repr(field), of=key, known=", ".join(recorded)))
    known = recorded[field].known()
    if not isinstance(known, Quantity):
        raise TypeError(f"serving.toml: {kind}.{key}.{field} is no number")
    return float(known)


class PublishedTable(NamedTuple):
    """A benchmark as its source prints it: ``rows`` of numbers and words under ``columns``."""

    title: str
    source: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str | None = None


def table(key: str) -> PublishedTable:
    """A published benchmark: ``V6``, ``V6_stages``, ``V6_by_rate``, ``V7``, ``V8`` or ``V9``; ``ValueError`` for
    others."""
    return PublishedTable(**_entry("tables", key))


class LanguageModel(NamedTuple):
    """The sizes that a step depends on: weights, and what each token leaves in the KV cache."""

    name: str
    parameters: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int


def language_model(name: str) -> LanguageModel:
    """A model by its name (``"Qwen3-32B"``) or key (``"qwen3_32b"``); ``ValueError`` with the known ones otherwise."""
    for key, entry in document()["models"].items():
        if name in (key, entry["name"]):
            fields = LanguageModel._fields[1:]
            return LanguageModel(entry["name"], **{field: int(number("models", key, field)) for field in fields})
    known = ", ".join(entry["name"] for entry in document()["models"].values())
    raise ValueError(phrase("serving.unknown_entry", got=repr(name), known=known))


def _entry(kind: str, key: str) -> Mapping[str, Any]:
    entries: Mapping[str, Mapping[str, Any]] = document()[kind]
    if key not in entries:
        raise ValueError(phrase("serving.unknown_entry", got=repr(key), known=", ".join(entries)))
    return entries[key]
