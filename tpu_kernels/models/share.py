"""A part of a whole, checked at the edge."""

from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.phrases import phrase


def share(name: str, value: object) -> float:
    """``value`` as a float from 0 to 1; ``ValueError`` for anything else, a ``bool`` and a percentage included."""
    number = not_negative(name, value)
    if number > 1:
        raise ValueError(phrase("share.above_one", name=name, got=repr(value)))
    return number


def positive_share(name: str, value: object) -> float:
    """``value`` as a float above 0 and up to 1; ``ValueError`` otherwise."""
    number = share(name, value)
    if not number:
        raise ValueError(phrase("share.zero", name=name, got=repr(value)))
    return number
