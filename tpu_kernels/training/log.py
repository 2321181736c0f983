"""A log of a run: one JSON object a line, added at the end, so that a kill loses at most the line being written."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Log:
    """The log in the file ``path``, which is one run's: a run that starts again from step 0 writes it anew.

    Raises ``OSError`` where the file cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()

    def rewind(self, step: int) -> None:
        """Drops the lines after ``step``, which the run is about to write again, and one that a kill cut short."""
        kept = 0
        with self.path.open("rb") as lines:
            for line in lines:
                try:
                    if not line.endswith(b"\n") or json.loads(line)["step"] > step:
                        break
                except (ValueError, KeyError, TypeError):
                    break
                kept += len(line)
        os.truncate(self.path, kept)

    def write(self, record: Mapping[str, Any]) -> None:
        """Adds ``record``, which must hold ``"step"``; it is the system's to keep when this returns."""
        line = json.dumps(record, allow_nan=False) + "\n"
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line)

    def records(self) -> list[dict[str, Any]]:
        """What was written, in order."""
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]
