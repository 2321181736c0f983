"""What Cloud Storage lets through: requests a second on a bucket, the size of an object, parts of one upload.

The request rates are those of a bucket before it scales by itself (facts ``gcs.rate.*``); Google publishes no bandwidth
per stream, so that is the reader's to measure.
"""

from typing import NamedTuple

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.network.facts import number
from tpu_kernels.models.network.link_rates import bits_per_second
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.phrases import phrase


class StorageLoad(NamedTuple):
    """``requests`` in all, against ``request_rate`` a second; ``stream_rate`` bit/s of one request, ``None`` when it
    does not limit; ``objects`` and how many requests move one."""

    objects: int
    requests: int
    request_rate: Quantity
    stream_rate: Quantity | None = None


def upload(objects: int, *, parts: int = 1, stream_rate: float | None = None) -> StorageLoad:
    """``objects`` written, each in ``parts`` that are then composed (one more request). ``stream_rate`` in bit/s.

    ``ValueError`` for more than 32 parts (fact ``gcs.pcu.max``) and counts below one.
    """
    pieces = _checked_parts(parts)
    each = pieces if pieces == 1 else pieces + 1
    return _load(objects, each, "gcs.rate.write", stream_rate)


def download(objects: int, *, stream_rate: float | None = None) -> StorageLoad:
    """``objects`` read whole. ``stream_rate`` in bit/s of one request."""
    return _load(objects, 1, "gcs.rate.read", stream_rate)


def checked_object_size(size: float, objects: int) -> float:
    """Bytes of one of ``objects`` equal parts of ``size``; ``ValueError`` above the largest object (5 TiB)."""
    each, most = positive_number("size", size) / whole("objects", objects), number("gcs.obj.max")
    if each > most:
        raise ValueError(phrase("storage.large_object", got=Quantity(each, "bytes"), most=most))
    return each


def parallel_upload_time(
    size: float, *, line_rate: float, stream_rate: float, parts: int, setup: float = 0.0, compose: float = 0.0
) -> Quantity:
    """Seconds to upload one object in ``parts`` at once: ``setup + max(size / line, size / parts / stream) + compose``.

    Formula F19; ``size`` in bytes, rates in bit/s, ``setup`` and ``compose`` in seconds. ``ValueError`` for more
    parts than 32 and an object above 5 TiB.
    """
    pieces, total = _checked_parts(parts), 8 * checked_object_size(size, 1)
    stream = bits_per_second("stream_rate", stream_rate)
    moving = max(total / bits_per_second("line_rate", line_rate), total / pieces / stream)
    return Quantity(not_negative("setup", setup) + moving + not_negative("compose", compose), "s")


def _checked_parts(parts: int) -> int:
    pieces, most = whole("parts", parts), int(number("gcs.pcu.max"))
    if pieces > most:
        raise ValueError(phrase("storage.too_many_parts", got=pieces, most=most))
    return pieces


def _load(objects: int, each: int, rate: str, stream_rate: float | None) -> StorageLoad:
    count = whole("objects", objects)
    stream = None if stream_rate is None else Quantity(bits_per_second("stream_rate", stream_rate), "bit/s")
    return StorageLoad(count, count * each, number(rate), stream)
