"""``grades.csv``: one row per learner, in the order of their names.

Columns: learner, language, lab, score, max_score, status, message, then one per exercise. UTF-8 with a byte order mark,
without which Excel shows accents as rubbish; numbers with a point, whatever the language.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graders.lab import Lab

COLUMNS = ("learner", "language", "lab", "score", "max_score", "status", "message")

# A spreadsheet runs a cell that begins with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Row:
    """One learner's line; ``exercises`` are points in the order of the lab, ``language`` is empty when unknown."""

    learner: str
    language: str
    score: float
    status: str
    message: str
    exercises: Sequence[float]


def write_table(path: Path, lab: Lab, rows: Sequence[Row]) -> None:
    """Write the file whole or not at all."""
    partial = path.with_name(path.name + ".part")
    with partial.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*COLUMNS, *lab.exercises])
        for row in rows:
            writer.writerow(
                [
                    _text(row.learner),
                    row.language,
                    lab.id,
                    _number(row.score),
                    _number(lab.points),
                    row.status,
                    _text(row.message),
                    *map(_number, row.exercises),
                ]
            )
    partial.replace(path)


def _text(value: str) -> str:
    flat = " ".join(value.split())
    return f"'{flat}" if flat.startswith(_FORMULA) else flat


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
