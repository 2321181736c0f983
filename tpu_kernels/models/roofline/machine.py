"""The side of a roofline that belongs to the hardware: dense rates by format, and levels that carry bytes.

``machine("v5e")`` takes them from the catalogue, for a whole chip; :func:`custom` takes the reader's own. A level
counts what it can carry at once: ``hbm`` and ``vmem`` share their bandwidth between reads and writes; ``ici``,
``interconnect``, ``dcn`` and ``pcie`` are counted **one way**, as the bytes that leave a chip per second. On a ring a
chip sends over both links of an axis at once, so ``ici`` is ``axes * 2 * bandwidth of a link one way``: the number that
the scaling book calls bidirectional.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from tpu_kernels.models.catalogue import Value, read_values
from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.hardware import Chip, UnknownFieldError, UnknownValueError, chip
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import BITS, one_of
from tpu_kernels.models.roofline.workload import HBM, VECTOR, label
from tpu_kernels.phrases import phrase

SHARED, ONE_WAY = "shared", "one way"
SCOPES = ("chip", "TensorCore")

# Level -> the field of the catalogue that gives its bandwidth.
FIELDS = {
    HBM: "hbm_bandwidth",
    "dram": "memory_bandwidth",
    "sram": "sram_bandwidth",
    "vmem": "vmem_bandwidth",
    "ici": "ici_bandwidth_per_link_oneway",
    "interconnect": "interconnect_bandwidth_oneway",
    "dcn": "dcn_bandwidth",
    "pcie": "pcie_bandwidth_oneway",
}
CAPACITIES = {HBM: "hbm_capacity", "dram": "memory_capacity", "sram": "sram_capacity", "vmem": "vmem_per_chip"}


class Level(NamedTuple):
    """One memory or link: ``bandwidth`` in bytes/s, ``capacity`` in bytes when it holds data, and how it is counted
    (:data:`SHARED` between reads and writes, or :data:`ONE_WAY`)."""

    name: str
    bandwidth: Quantity
    capacity: Quantity | None = None
    counted: str = SHARED


class Machine(NamedTuple):
    """Rates (FLOP/s, OP/s) by format and levels by name; ``scope`` says whose they are: a chip's or a TensorCore's."""

    name: str
    rates: Mapping[str, Quantity]
    levels: Mapping[str, Level]
    scope: str = SCOPES[0]
    chip: Chip | None = None

    def __repr__(self) -> str:
        rates = ", ".join(f"{label(key)} {value}" for key, value in self.rates.items())
        levels = ", ".join(f"{label(key)} {value.bandwidth}" for key, value in self.levels.items())
        return phrase("machine.summary", name=self.name, scope=self.scope, rates=rates, levels=levels)

    def rate(self, dtype: str) -> Quantity:
        """The dense peak of the matrix unit in ``dtype``, or of the vector unit for :data:`~workload.VECTOR`.

        Raises :class:`UnknownValueError` when no source gives it for this chip, and ``ValueError`` for a format that
        this machine does not have.
        """
        if dtype in self.rates:
            return self.rates[dtype]
        self._raise_if_unknown("vector_flops" if dtype == VECTOR else f"peak_flops.{dtype}")
        raise ValueError(phrase("machine.no_rate", name=self.name, got=repr(dtype), known=", ".join(self.rates)))

    def level(self, name: str) -> Level:
        """The level of that name. Raises :class:`UnknownValueError` when no source gives its bandwidth for this chip,
        and ``ValueError`` when the machine has no such level."""
        if name in self.levels:
            return self.levels[name]
        self._raise_if_unknown(FIELDS.get(name, name))
        raise ValueError(phrase("machine.no_level", name=self.name, got=repr(name), known=", ".join(self.levels)))

    def capacity(self, level: str = HBM) -> Quantity:
        """Bytes that ``level`` holds; ``ValueError`` when the machine does not say."""
        held = self.level(level).capacity
        if held is None:
            raise ValueError(phrase("machine.no_capacity", name=self.name, level=level))
        return held

    def with_rate(self, dtype: str, rate: float) -> "Machine":
        """The machine with a rate of the reader's own, in FLOP/s (OP/s for an integer format)."""
        return self._replace(rates={**self.rates, dtype: _rate(dtype, rate)})

    def with_level(self, name: str, bandwidth: float, *, capacity: float | None = None) -> "Machine":
        """The machine with a level of the reader's own: ``bandwidth`` in bytes/s, ``capacity`` in bytes."""
        return self._replace(levels={**self.levels, name: _level(name, bandwidth, capacity)})

    def _raise_if_unknown(self, field: str) -> None:
        if self.chip is None:
            return
        try:
            value = _record(self.chip, field)
        except UnknownFieldError:
            return
        value.known()


def machine(
    name: str | Chip | Machine, *, ici_axes: int = 1, ici_wrapped: bool = True, per: str = SCOPES[0]
) -> Machine:
    """The machine that the catalogue describes under ``name`` (any name that :func:`hardware.chip` knows).

    ``ici_axes``: how many axes of the torus carry the traffic (a chip has half as many axes as links);
    ``ici_wrapped``: the axes close into rings, so that a chip sends both ways (without it, one link an axis).
    ``per``: ``"chip"``, or ``"TensorCore"`` for one core's equal share of everything. A machine passes through as it
    is. What the catalogue does not know is left out, and asking for it raises. ``ValueError`` for more axes than the
    chip has.
    """
    if isinstance(name, Machine):
        return name
    found, scope = chip(name), one_of("per", per, SCOPES)
    share = 1.0 if scope == SCOPES[0] else 1 / found.tensorcores
    rates = {dtype: _rate(dtype, rate * share) for dtype, rate in found.peak_flops.items()}
    vector = _value(found, "vector_flops")
    if vector is not None:
        rates[VECTOR] = _rate(VECTOR, vector * share)
    links = _links(found, whole("ici_axes", ici_axes), ici_wrapped)
    levels = {}
    for level, field in FIELDS.items():
        bandwidth = _value(found, field)
        if bandwidth is not None:
            capacity = _value(found, CAPACITIES.get(level, ""))
            scaled = bandwidth * share * (links if level == "ici" else 1)
            levels[level] = _level(level, scaled, None if capacity is None else capacity * share)
    return Machine(found.name, rates, levels, scope, found)


def custom(
    name: str, *, rates: Mapping[str, float], levels: Mapping[str, float], capacities: Mapping[str, float] | None = None
) -> Machine:
    """A machine of the reader's own: ``rates`` in FLOP/s by format (dense), ``levels`` in bytes/s, ``capacities`` in
    bytes. ``ValueError`` for an amount that is not positive, an unknown format, or a capacity without a level."""
    held = capacities or {}
    for level in held:
        one_of("capacities", level, tuple(levels))
    return Machine(
        name,
        {dtype: _rate(dtype, rate) for dtype, rate in rates.items()},
        {level: _level(level, bandwidth, held.get(level)) for level, bandwidth in levels.items()},
    )


@cache
def supplement() -> Mapping[str, Mapping[str, Value]]:
    """What ``memory_levels.toml`` adds to the catalogue, by the id of the chip and the field; its sources are the
    catalogue's."""
    import tomllib
    from importlib.resources import files

    text = files("tpu_kernels.data").joinpath("memory_levels.toml").read_text(encoding="utf-8")
    entries: Mapping[str, Any] = tomllib.loads(text)["chips"]
    return {key: read_values(chip(key).name, entry["values"]) for key, entry in entries.items()}


def _record(of: Chip, field: str) -> Value:
    added = supplement().get(of.id, {})
    return added[field] if field in added else of.value(field)


def _value(of: Chip, field: str) -> float | None:
    """A number of the catalogue, or ``None`` when it is not recorded or has no source."""
    try:
        return float(_record(of, field).known())
    except (UnknownFieldError, UnknownValueError):
        return None


def _links(of: Chip, axes: int, wrapped: bool) -> int:
    links = _value(of, "ici_links")
    if links is not None and 2 * axes > links:
        raise ValueError(phrase("machine.too_many_axes", name=of.name, got=axes, most=int(links) // 2))
    return axes * (2 if wrapped else 1)


def _rate(dtype: str, rate: float) -> Quantity:
    if dtype != VECTOR:
        one_of("dtype", dtype, tuple(BITS))
    return Quantity(positive_number(dtype, rate), "OP/s" if dtype.startswith("int") else "FLOP/s")


def _level(name: str, bandwidth: float, capacity: float | None) -> Level:
    return Level(
        name,
        Quantity(positive_number(name, bandwidth), "bytes/s"),
        None if capacity is None else Quantity(positive_number(name, capacity), "bytes"),
        SHARED if name in CAPACITIES or capacity is not None else ONE_WAY,
    )
