"""A small text in each language of the course, cut into windows of bytes: what a byte-level transformer trains on.

The texts are in the public domain and travel with the package; ``texts/sources.toml`` says what they are and where they
were read.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tpu_kernels.messages import checked
from tpu_kernels.phrases import phrase

FOLDER = Path(__file__).with_name("texts")
VALIDATION = 0.1  # the share of a text that is kept for validation


class Source(NamedTuple):
    """What a text is: ``part`` of ``title``, by ``author``, first published in the year ``first_published``."""

    author: str
    title: str
    part: str
    first_published: int


def text(lang: str) -> str:
    """The text in ``lang``, ``"es"`` or ``"pt"``. Raises ``UnknownLanguageError`` for another."""
    return (FOLDER / f"{checked(lang)}.txt").read_bytes().decode("utf-8")  # newlines as they are, on every system


@cache
def source(lang: str) -> Source:
    """Author, title, part and year of the text in ``lang``. Raises ``UnknownLanguageError`` for an unknown one."""
    entry = tomllib.loads((FOLDER / "sources.toml").read_text(encoding="utf-8"))[checked(lang)]
    return Source(*(entry[field] for field in Source._fields))


def split(whole: str, validation: float = VALIDATION) -> tuple[str, str]:
    """Training and validation text: ``whole`` cut once, so that neither has seen the other.

    The cut falls at the last line end before the share ``1 - validation``, or exactly there in a text without line
    ends. Raises ``ValueError`` unless ``validation`` lies between 0 and 1 and both parts hold something.
    """
    if not 0 < validation < 1:
        raise ValueError(phrase("corpus.share", got=validation))
    target = round(len(whole) * (1 - validation))
    at = whole.rfind("\n", 0, target) + 1 or target
    if not whole[:at] or not whole[at:]:
        raise ValueError(phrase("corpus.too_short_to_split", got=len(whole)))
    return whole[:at], whole[at:]


def windows(of: str, context: int, stride: int | None = None) -> dict[str, npt.NDArray[np.uint8]]:
    """Examples for a model that reads ``context`` bytes and predicts the next one at each place.

    ``{"tokens": [N, context + 1] uint8}``: the UTF-8 bytes of ``of`` from each multiple of ``stride`` bytes on. With
    the default, ``context``, the last byte of a window is the first of the next, so that each byte but the first is
    predicted once; fewer than ``context`` bytes at the end, which fill no window, are left out. A smaller stride gives
    more windows, which overlap. Raises ``ValueError`` for a text shorter than a window and for sizes below 1.
    """
    stride = context if stride is None else stride
    for name, size in (("context", context), ("stride", stride)):
        if size < 1:
            raise ValueError(phrase("training.size", name=name, got=size))
    data = np.frombuffer(of.encode("utf-8"), dtype=np.uint8)
    if len(data) < context + 1:
        raise ValueError(phrase("corpus.shorter_than_window", got=len(data), expected=context + 1))
    views = np.lib.stride_tricks.sliding_window_view(data, context + 1)[::stride]
    return {"tokens": np.ascontiguousarray(views)}
