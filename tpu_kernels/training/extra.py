"""What the extra ``train`` installs, asked for only when it is used, with the cure when it is missing."""

from collections.abc import Iterator
from contextlib import contextmanager

from tpu_kernels.phrases import phrase

DISTRIBUTIONS = {"jax": "jax", "optax": "optax", "orbax": "orbax-checkpoint", "sklearn": "scikit-learn"}


class MissingExtraError(ImportError):
    """A library of the extra ``train`` is not installed."""


@contextmanager
def extra() -> Iterator[None]:
    """Around imports: :class:`MissingExtraError`, with the line that installs it, for a library of the extra."""
    try:
        yield
    except ModuleNotFoundError as missing:
        distribution = DISTRIBUTIONS.get((missing.name or "").partition(".")[0])
        if distribution is None:
            raise
        raise MissingExtraError(phrase("training.missing_extra", distribution=distribution)) from missing
