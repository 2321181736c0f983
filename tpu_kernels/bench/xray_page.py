"""The figures of ``bench xray`` and ``bench chooser`` as pages for contributors: Markdown, in English."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tpu_kernels.bench.fairness import BUNDLES, MODEL

UNKNOWN = "—"
SIMULATOR = (
    "The simulator leaves out that copies contend for the memory (each runs at full bandwidth, however many there "
    "are) and the fetch of instructions. No TPU was used: nothing here is a measurement of hardware."
)
CLASSES = (
    "Class H: both operands start in HBM in both programs. Class P: the left operand is in VMEM already in both, and "
    "the price of the copy that brings it is in the cycles of both. All kernels of a program count, and all copies "
    "beside them."
)
BY_BUNDLES = (
    "By bundles: the simulator gives no cycles for XLA's program, but it executes these bundles, of which each takes "
    "a cycle or more; the ratio is at most the one shown."
)
BY_MODEL = (
    "By model: the simulator gives no cycles for one of the programs, so both are those of the X-ray's own model, "
    "which sees no stall inside a step."
)
CANDIDATES = (
    "Every candidate that fits is simulated, but for those that could not win: which would take longer than the best "
    "so far if nothing took time but their products at the published rate and the transfers that nothing can hide, at "
    "the rate of one copy in the simulator."
)


def matmul_page(record: Mapping[str, Any]) -> str:
    """Our matrix product beside XLA's, from what ``bench xray --json`` gives."""
    rows = record["rows"]
    headings = ["chip", "m x k x n", "type", "class", "block", "ours", "% of peak", "XLA", "% of peak", "ratio", "by"]
    headings += ["bundles (XLA)", "spills (XLA)", "VMEM, MiB (XLA)"]
    parts = [
        "# Our matrix product beside XLA's, in cycles",
        _source(record, "matmul"),
        CLASSES,
        _table(headings, map(_contest, rows)),
    ]
    ways = {row["compared_by"] for row in rows}
    if BUNDLES in ways:
        parts.append(BY_BUNDLES)
    if MODEL in ways:
        parts.append(BY_MODEL)
    parts += _reasons(rows)
    return "\n\n".join([*parts, SIMULATOR]) + "\n"


def chooser_page(record: Mapping[str, Any]) -> str:
    """The model's choice of blocks beside the best, from what ``bench chooser --json`` gives."""
    rows = record["rows"]
    headings = ["chip", "m x k x n", "type", "pick", "cycles", "best", "cycles", "ratio", "candidates"]
    headings += ["simulated", "could not win", "refused"]
    parts = [
        "# The blocks that the model of the cost chooses, beside the best",
        _source(record, "chooser"),
        CANDIDATES,
        _table(headings, map(_choice, rows)),
        *_reasons(rows),
    ]
    return "\n\n".join([*parts, SIMULATOR]) + "\n"


def _source(record: Mapping[str, Any], name: str) -> str:
    versions = record["versions"]
    return (
        f"Cycles of the simulator in the TPU's compiler, libtpu {versions['libtpu']}, with jax {versions['jax']}; "
        f"{record['date']}. Made by `{record['command']} --out docs/xray/{name}.json --page docs/xray/{name}.md`."
    )


def _contest(row: Mapping[str, Any]) -> list[str]:
    sign = "≤ " if row["compared_by"] == BUNDLES else ""
    return [
        row["chip"],
        row["shape"],
        row["dtype"],
        row["class"],
        row["block"] or UNKNOWN,
        _count(row["cycles"]),
        _decimal(row["of_peak"], 1, 100),
        _count(row["cycles_xla"]),
        _decimal(row["of_peak_xla"], 1, 100),
        sign + _decimal(row["ratio"], 3),
        row["compared_by"] or UNKNOWN,
        f"{_count(row['bundles'])} ({_count(row['bundles_xla'])})",
        f"{_count(row['spilled'])} ({_count(row['spilled_xla'])})",
        f"{_decimal(row['vmem'], 1, 2**-20)} ({_decimal(row['vmem_xla'], 1, 2**-20)})",
    ]


def _choice(row: Mapping[str, Any]) -> list[str]:
    return [
        row["chip"],
        row["shape"],
        row["dtype"],
        row["pick"],
        _count(row["pick_cycles"]),
        row["best"] or UNKNOWN,
        _count(row["best_cycles"]),
        _decimal(row["ratio"], 3),
        *(_count(row[name]) for name in ("candidates", "simulated", "beaten", "refused")),
    ]


def _reasons(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    known = [f"- {row['chip']} {row['shape']} {row['dtype']}: {row['reason']}" for row in rows if row["reason"]]
    return ["Not known:\n\n" + "\n".join(known)] if known else []


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _count(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def _decimal(value: float | None, digits: int, factor: float = 1) -> str:
    return UNKNOWN if value is None else f"{value * factor:.{digits}f}"
