"""What ``data/cost.toml`` holds: spot prices, and the record of a training run's interruptions."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from tpu_kernels.models.catalogue import Price, Source, Value, read_price, read_values
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.phrases import phrase


@cache
def document() -> Mapping[str, Any]:
    """The whole of ``cost.toml``, parsed on first use."""
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("tpu_kernels.data").joinpath("cost.toml").read_text(encoding="utf-8"))


@cache
def sources() -> Mapping[str, Source]:
    """Every source by key."""
    return {key: Source(key=key, **entry) for key, entry in document()["sources"].items()}


@cache
def spot_prices() -> Mapping[str, tuple[Price, ...]]:
    """Spot prices by chip id, each with region, slice and source."""
    found: dict[str, tuple[Price, ...]] = {}
    for entry in document()["spot"]:
        price = read_price({**entry, "terms": "spot", "derived": "slice price / chips in slice"})
        found[entry["chip"]] = (*found.get(entry["chip"], ()), price)
    return found


@cache
def run_record(key: str = "llama_3_405b") -> Mapping[str, Value]:
    """The values of a published training run by field; ``ValueError`` for an unknown one."""
    runs = document()["runs"]
    if key not in runs:
        raise ValueError(phrase("cost.unknown_run", got=repr(key), known=", ".join(runs)))
    return read_values(runs[key]["name"], runs[key]["values"])


def run_number(field: str, key: str = "llama_3_405b") -> Quantity:
    """One value of a published training run, as a :class:`Quantity`."""
    known = run_record(key)[field].known()
    if not isinstance(known, Quantity):
        raise TypeError(f"cost.toml: runs.{key}.{field} is no number")
    return known


@cache
def slice_sizes(chip: str) -> tuple[int, ...]:
    """The sizes (chips) in which slices of a chip id are sold, smallest first; empty where no list was read."""
    entry = document()["slices"].get(chip)
    if entry is None:
        return ()
    steps = range(entry["step"], entry["last"] + 1, entry["step"]) if "step" in entry else ()
    return (*entry["first"], *steps)


class Causes(NamedTuple):
    """A published count of causes."""

    title: str
    source: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str | None = None


def causes() -> Causes:
    """What interrupted the training of Llama 3 405B: table V11."""
    return Causes(**document()["tables"]["V11"])
