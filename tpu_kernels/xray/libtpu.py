"""Where the TPU's compiler is: the ``libtpu`` wheel, in a folder of its own or installed like any package.

Installed beside jax it makes every jax program look for a TPU first, so ``make`` unpacks it in a folder that only the
process that compiles knows of.
"""

import os
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from tpu_kernels.phrases import phrase
from tpu_kernels.xray.errors import MissingCompilerError

VARIABLE = "SISTOLICA_LIBTPU"
LIBRARY = Path("libtpu", "libtpu.so")


@dataclass(frozen=True)
class Libtpu:
    """The compiler: its library, and the version of its wheel."""

    library: Path
    version: str


def find() -> Libtpu:
    """The compiler in the folder that ``SISTOLICA_LIBTPU`` names, in the environment's ``libtpu`` folder, or installed.

    Raises :class:`MissingCompilerError`, which says what to install; also when the variable names a folder without it.
    """
    named = os.environ.get(VARIABLE)
    if named:
        found = _in_folder(Path(named))
        if found is None:
            raise MissingCompilerError(phrase("xray.no_libtpu_there", variable=VARIABLE, folder=named))
        return found
    for folder in (Path(sys.prefix) / "libtpu", *map(Path, sys.path)):
        found = _in_folder(folder)
        if found:
            return found
    raise MissingCompilerError(phrase("xray.no_libtpu", variable=VARIABLE))


def _in_folder(folder: Path) -> Libtpu | None:
    library = folder / LIBRARY
    if not library.is_file():
        return None
    for distribution in metadata.distributions(name="libtpu", path=[str(folder)]):
        return Libtpu(library.resolve(), distribution.version)
    return None
