"""Reports kept by content: the same program, for the same target, by the same versions, is compiled once.

An entry is JSON, never code, with a digest of itself; it is written whole or not at all. So any number of processes can
share the folder, and an entry that is damaged, or made by other versions, is not used.
"""

import gzip
import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from tpu_kernels import data
from tpu_kernels.user_cache import cache_folder

MOST_ENTRIES = 1000
MOST_BYTES = 2**26  # of an entry unpacked; a report takes less than a megabyte
SUFFIX = ".json.gz"


def key(**parts: Any) -> str:
    """A name for what the parts determine; bytes and anything that JSON takes. Our own code is always one of them."""
    digest = hashlib.sha256(_own_code())
    for name in sorted(parts):
        value = parts[name]
        written = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
        digest.update(f"{name}:{len(written)}:".encode() + written)
    return digest.hexdigest()


class Cache:
    """Entries in a folder; by default ``xray`` in ``$SISTOLICA_CACHE``, else in the user's cache folder.

    Nothing here raises: without a folder that can be written, nothing is kept.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = cache_folder("xray") if folder is None else folder

    def get(self, name: str) -> dict[str, Any] | None:
        """What was kept under this name, if it is whole."""
        try:
            with gzip.open(self.folder / f"{name}{SUFFIX}") as file:
                entry = json.loads(file.read(MOST_BYTES))
            value = entry["value"]
            whole = entry["name"] == name and entry["digest"] == _digest(value)
        except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError, zlib.error):
            return None
        return value if whole and isinstance(value, dict) else None

    def put(self, name: str, value: Mapping[str, Any]) -> None:
        """Keep a value, and drop the oldest entries when there are too many."""
        entry = {"name": name, "digest": _digest(value), "value": value}
        packed = gzip.compress(json.dumps(entry).encode(), mtime=0)
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".part")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(packed)
                Path(temporary).replace(self.folder / f"{name}{SUFFIX}")
            finally:
                Path(temporary).unlink(missing_ok=True)
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        entries = sorted(self.folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime)
        for path in entries[:-MOST_ENTRIES]:
            path.unlink(missing_ok=True)


def _digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@cache
def _own_code() -> bytes:
    """A digest of the modules that read dumps, and of the catalogue of chips."""
    digest = hashlib.sha256()
    for path in (*sorted(Path(__file__).parent.glob("*.py")), Path(data.__file__).with_name("hardware.toml")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.digest()
