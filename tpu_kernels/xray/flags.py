"""Options for the compiler, ``--name=value``: it takes in silence, and ignores, what is written in another way."""

from collections.abc import Sequence

from tpu_kernels.phrases import phrase
from tpu_kernels.xray.errors import FlagError


def require_flags(flags: Sequence[str]) -> None:
    """Raise :class:`FlagError` for the first flag that does not begin with two dashes."""
    for flag in flags:
        if not flag.startswith("--"):
            raise FlagError(phrase("xray.bad_flag", got=flag))
