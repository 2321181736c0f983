"""What a learner's process writes to its descriptors 1 and 2: two files in memory, for which nobody has to wait."""

import codecs
import fcntl
import os
from collections.abc import Callable

from graders.sandbox.frames import Mark

MAX_READ = 2**20  # bytes at a time

_STREAMS = ("stdout", "stderr")

Take = Callable[[str, str], None]  # a name of a stream, and some text


class Written:
    """The two files. The judge reads as far as it is told that they had been written, or as far as they are."""

    def __init__(self) -> None:
        self.descriptors = [os.memfd_create(name) for name in _STREAMS]
        for descriptor in self.descriptors:
            # Whatever writes to it writes at the end, which is the beginning again once all was read.
            fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND)
        self._read = [0, 0]
        self._new_decoders()

    @property
    def waiting(self) -> int:
        """Bytes that were not read yet."""
        return sum(max(size - read, 0) for size, read in zip(self._sizes(), self._read, strict=True))

    def read(self, take: Take, up_to: Mark | None, most: int) -> None:
        """Give ``take`` what is new, but no more than ``most`` bytes of each file.

        ``up_to``: sizes and an order, which are the learner's word for it and no more; ``None`` for all that there is.
        """
        sizes = self._sizes()
        mark = up_to or Mark(1, *sizes)
        ends = [min(said, size) for said, size in zip((mark.out, mark.err), sizes, strict=True)]
        for index in (0, 1) if mark.first == 1 else (1, 0):
            start, end = self._read[index], min(ends[index], self._read[index] + most)
            while start < end:
                data = os.pread(self.descriptors[index], min(end - start, MAX_READ), start)
                if not data:
                    break
                start += len(data)
                take(_STREAMS[index], self._decoders[index].decode(data))
            self._read[index] = max(self._read[index], ends[index])

    def forget(self) -> None:
        """Empty both: between two requests, when nothing of the learner's should be writing."""
        for descriptor in self.descriptors:
            os.ftruncate(descriptor, 0)
        self._read = [0, 0]
        self._new_decoders()

    def close(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = []

    def _sizes(self) -> list[int]:
        return [os.fstat(descriptor).st_size for descriptor in self.descriptors]

    def _new_decoders(self) -> None:
        # A character may have been cut in two.
        self._decoders = [codecs.getincrementaldecoder("utf-8")("replace") for _ in (1, 2)]
