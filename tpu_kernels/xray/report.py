"""The report of an X-ray: what the compiler says of a program, and what can be counted in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tpu_kernels.xray.collectives import Collective
from tpu_kernels.xray.record import MODELLED, SCHEMA, SIMULATED, Cycles, Kernel, Move, decode, encode


@dataclass(frozen=True)
class Report:
    """One program, compiled for one generation.

    A program for many devices is the same on each of them, and all figures are of one device: ``mesh`` has the sizes of
    the axes that it is spread over, ``devices`` and ``chips`` are how many take part. ``cycles`` and ``seconds`` are of
    one run of all kernels, one after the other; what XLA moves beside them (``moves``) and what devices send each other
    (``collectives``) is not in them. ``flops`` are those of products of matrices. ``of_peak`` compares the time with
    that of these products at the published rate of their type, ``of_roofline`` also with the time that it takes
    to read the arguments from HBM and write the results there, once, at the published bandwidth; neither is known when
    the cycles are fewer than that, since they leave something out then. ``memory`` is in bytes of
    HBM, as the compiler has it, ``hbm`` what the device has. ``None`` is "not known".
    """

    schema: int
    name: str
    chip: str
    topology: str
    device_kind: str
    mesh: dict[str, int]
    devices: int
    chips: int
    versions: dict[str, str]
    flags: tuple[str, ...]
    clock: float
    cycles: Cycles
    seconds: float | None
    flops: int | None
    of_peak: float | None
    of_roofline: float | None
    memory: dict[str, int]
    hbm: int
    kernels: tuple[Kernel, ...]
    moves: tuple[Move, ...]
    collectives: tuple[Collective, ...]

    @property
    def hbm_used(self) -> int | None:
        """Bytes of HBM that the program takes on a device; ``None`` when the compiler does not say."""
        taken = ("argument", "output", "temp", "generated_code")
        if not {*taken, "alias"} <= set(self.memory):
            return None
        return sum(self.memory[name] for name in taken) - self.memory["alias"]

    @property
    def hbm_read(self) -> int | None:
        """Bytes that kernels and moves read from HBM in one run; ``None`` when one of them is not known."""
        return self._hbm("read")

    @property
    def hbm_written(self) -> int | None:
        """Bytes that kernels and moves write to HBM in one run; ``None`` when one of them is not known."""
        return self._hbm("written")

    def _hbm(self, direction: str) -> int | None:
        parts = [(kernel.hbm(direction), kernel.runs) for kernel in self.kernels]
        ends = [(move.source if direction == "read" else move.destination, move) for move in self.moves]
        parts += [(move.bytes, move.runs) for memory, move in ends if memory == "hbm"]
        if any(None in part for part in parts):
            return None
        return sum((size or 0) * (runs or 0) for size, runs in parts)

    def to_dict(self) -> dict[str, Any]:
        """Dicts, lists, strings and numbers, for JSON. ``schema`` changes whenever a key or its meaning does."""
        found: dict[str, Any] = encode(self)
        return found

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> "Report":
        """What :meth:`to_dict` gave. Raises ``TypeError`` for another form, or another version of it."""
        if found.get("schema") != SCHEMA:
            raise TypeError(f"schema {found.get('schema')!r}, expected {SCHEMA}")
        report: Report = decode(cls, found)
        return report

    def text(self) -> str:
        """For people, in the language in force."""
        from tpu_kernels.xray.text import text

        return text(self)

    def html(self) -> str:
        """A page that stands by itself, in the language in force: no request, no script."""
        from tpu_kernels.xray.markup import contents
        from tpu_kernels.xray.page import page
        from tpu_kernels.xray.words import title

        return page(title(self), contents(self))

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from tpu_kernels.xray.markup import markup

        return markup(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython shows in a terminal."""
        printer.text(self.text())


def total(kernels: Sequence[Kernel]) -> Cycles:
    """Cycles of a program: simulated when all of them are, not known when one of them is not."""
    counted = [
        None if kernel.cycles.value is None or kernel.runs is None else kernel.cycles.value * kernel.runs
        for kernel in kernels
    ]
    odd = [kernel.cycles for kernel in kernels if kernel.cycles.reason]
    label = MODELLED if any(one.label == MODELLED for one in odd) else SIMULATED
    value = None if None in counted or not counted else sum(filter(None, counted))
    return Cycles(value, label, odd[0].reason if odd else "")


def ideal_cycles(kernels: Sequence[Kernel], flops: int | None) -> float | None:
    """What the program's products would take at the published rate of the types that they are multiplied in."""
    given = [(kernel.mxu_flops, kernel.mxu_cycles, kernel.runs) for kernel in kernels]
    if flops is None or any(None in one for one in given):
        return None
    work = sum((done or 0) * (runs or 0) for done, _, runs in given)
    held = sum((cycles or 0.0) * (runs or 0) for _, cycles, runs in given)
    return held * flops / work if work and flops else None
