"""A sum of each file in a folder, to know later that none was cut short, changed or lost."""

import json
import zlib
from pathlib import Path

NAME = "sums.json"
CHUNK = 1 << 20  # bytes read at a time


def write_sums(folder: Path) -> None:
    """Records the files in ``folder``, in :data:`NAME` there. All or nothing, should the program be killed."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path != folder / NAME]
    sums = {str(path.relative_to(folder)): _crc32(path) for path in files}
    unfinished = folder / f"{NAME}.tmp"
    unfinished.write_text(json.dumps(sums), encoding="utf-8")
    unfinished.replace(folder / NAME)


def damaged(folder: Path) -> str | None:
    """The first file that is not what was recorded, or the record itself; None when all are, or nothing was recorded.

    Reads all of them. Raises ``OSError`` for one that cannot be read.
    """
    record = folder / NAME
    if not record.exists():
        return None
    try:
        sums = {str(name): int(crc32) for name, crc32 in json.loads(record.read_bytes()).items()}
    except (ValueError, AttributeError, TypeError):
        return NAME
    for name, crc32 in sums.items():
        path = folder / name
        if not path.is_file() or _crc32(path) != crc32:
            return name
    return None


def _crc32(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            found = zlib.crc32(chunk, found)
    return found
