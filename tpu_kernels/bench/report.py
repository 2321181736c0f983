"""What a benchmark shows: a table for people, JSON for programs, and on what both were measured."""

import os
import platform
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tpu_kernels.backend import Here
from tpu_kernels.machine.distributions import installed_versions
from tpu_kernels.messages import decimal
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase

SCHEMA = 1
PACKAGES = ("jax", "jaxlib", "libtpu", "numpy", "optax", "sistolica")
# Flags change what is measured, so they belong to the result.
VARIABLES = ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "JAX_PLATFORMS", "JAX_DEFAULT_MATMUL_PRECISION")


class Recorded(Protocol):
    """A row of results."""

    def to_dict(self) -> dict[str, Any]: ...


def environment(found: Here) -> dict[str, Any]:
    """The machine and the versions behind a result."""
    return {
        "platform": found.platform,
        "devices": found.count,
        "kind": found.kind,
        "chip": found.chip,
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "versions": installed_versions(PACKAGES),
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }


def to_dict(found: Here, rows: Sequence[Recorded]) -> dict[str, Any]:
    """The whole result: ``schema``, ``environment``, ``rows``."""
    return {"schema": SCHEMA, "environment": environment(found), "rows": [row.to_dict() for row in rows]}


def machine_line(found: Here) -> str:
    """One line that says where the table under it was measured."""
    known = environment(found)
    versions = ", ".join(f"{name} {version}" for name, version in known["versions"].items())
    flags = " ".join(f"{name}={value}" for name, value in known["variables"].items())
    line = phrase("bench.machine", count=found.count, kind=found.kind, cpus=known["cpus"], versions=versions)
    return f"{line}\n{flags}" if flags else line


def matmul_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Rows of :mod:`~tpu_kernels.bench.matmul`, as dicts."""
    headings = [
        phrase("bench.shape"),
        phrase("bench.dtype"),
        phrase("bench.implementation"),
        phrase("bench.block"),
        phrase("bench.host"),
        phrase("bench.host_slow"),
        phrase("bench.device"),
        phrase("bench.rate"),
        phrase("bench.of_roofline"),
        phrase("bench.ratio"),
        phrase("bench.error"),
    ]
    return Table(phrase("bench.matmul_caption"), headings, [_matmul_row(row) for row in rows])


def _matmul_row(row: Mapping[str, Any]) -> list[TableCell]:
    host = row["host_seconds"]
    interpreted = host is None
    return [
        TableCell(f"{row['m']}x{row['k']}x{row['n']}"),
        TableCell(row["dtype"]),
        TableCell(row["implementation"]),
        TableCell(row["block"] or ""),
        TableCell(phrase("bench.interpreted")) if interpreted else number(host["median"] * 1e3, 3),
        number(None if interpreted else host["p90"] * 1e3, 3),
        number(_scaled(row["device_seconds"], 1e3), 3),
        number(_scaled(row["flops_per_s"], 1e-9), 1),
        number(_scaled(row["of_roofline"], 100), 1),
        number(row["ratio_to_jnp"], 3),
        _verdict(row["max_error"], row["right"]),
    ]


def training_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Rows of :mod:`~tpu_kernels.bench.training`, as dicts."""
    headings = [
        phrase("bench.parallelism"),
        phrase("bench.form"),
        phrase("bench.devices"),
        phrase("bench.dtype"),
        phrase("bench.host"),
        phrase("bench.tokens"),
        phrase("bench.mfu"),
        phrase("bench.ratio_first"),
        phrase("bench.gradient"),
    ]
    return Table(phrase("bench.training_caption"), headings, [_training_row(row) for row in rows])


def _training_row(row: Mapping[str, Any]) -> list[TableCell]:
    return [
        TableCell(row["parallelism"]),
        TableCell(row["form"]),
        TableCell(str(row["devices"]), numeric=True),
        TableCell(row["dtype"]),
        number(row["host_seconds"]["median"] * 1e3, 1),
        number(row["tokens_per_s"], 0),
        number(_scaled(row["mfu"], 100), 1),
        number(row["ratio_to_first"], 2),
        _verdict(row["gradient_error"], row["right"]),
    ]


def _verdict(error: float, right: bool) -> TableCell:
    words = phrase("bench.right") if right else phrase("bench.wrong")
    return TableCell(f"{decimal(format(error, '.1e'))} {words}")


def number(value: float | None, digits: int) -> TableCell:
    """A number as the language writes it; an empty cell for what is not known."""
    return TableCell("" if value is None else decimal(f"{value:.{digits}f}"), numeric=True)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
