"""The KV cache of one replica: what running requests hold, and what earlier ones left behind for prompts that repeat.

Memory is counted in tokens. Content is known by key (see :class:`tpu_kernels.models.serving.request.Request`): the
stretch of tokens under one key is shared, kept and dropped together, except that it may lose whole blocks from its end.
Nothing that a running request holds is dropped. What nobody holds waits in the order in which it was let go, the end of
a prompt before its beginning, and the oldest goes first when room is needed: the order of vLLM's queue of free blocks.
"""

from collections import OrderedDict
from typing import Final

from tpu_kernels.models.serving.request import Prefix
from tpu_kernels.phrases import phrase


class Stretch:
    """Tokens under one key: how many there are, how many are still in memory, how many requests hold them."""

    __slots__ = ("holders", "key", "present", "tokens")

    def __init__(self, key: int, tokens: int) -> None:
        self.key = key
        self.tokens = tokens
        self.present = tokens
        self.holders = 0


class PrefixCache:
    """``capacity`` tokens of KV cache, shared in blocks of ``block``. ``held`` tokens cannot be dropped."""

    __slots__ = ("_anonymous", "_waiting", "block", "capacity", "held", "known", "left")

    def __init__(self, capacity: int, block: int) -> None:
        self.capacity: Final = capacity
        self.block: Final = block
        self.held = 0
        self.left = 0  # tokens in memory that nobody holds
        self.known: dict[int, Stretch] = {}
        self._waiting: OrderedDict[int, Stretch] = OrderedDict()
        self._anonymous = 0  # keys of what nobody can ask for again: -1, -2, …

    def matched(self, prefix: Prefix, prompt: int) -> int:
        """Tokens of a prompt that need no computing: whole blocks from its start, and never its last token."""
        tokens = 0
        known = self.known
        for key, length in prefix:
            stretch = known.get(key)
            if stretch is None:
                break
            tokens += stretch.present
            if stretch.present < length:
                break
        return min(tokens, prompt - 1) // self.block * self.block

    def missing(self, prefix: Prefix) -> tuple[int, int]:
        """How many tokens of a chain are not in memory, and how many are there but held by nobody.

        To take the chain, room must be made for the first without dropping the second.
        """
        absent = idle = 0
        known = self.known
        for key, length in prefix:
            stretch = known.get(key)
            if stretch is None:
                absent += length
            elif not stretch.holders:
                absent += length - stretch.present
                idle += stretch.present
        return absent, idle

    def hold(self, prefix: Prefix) -> tuple[list[Stretch], int]:
        """Takes a chain for a request, what is missing included; the caller has trimmed, and checked that it fits.

        Returns its stretches, and how many of them, from the start, were complete.
        """
        taken: list[Stretch] = []
        complete, unbroken = 0, True
        for key, length in prefix:
            stretch = self.known.get(key)
            if stretch is None:
                stretch = self.known[key] = Stretch(key, length)
                self.held += length
                unbroken = False
            elif stretch.tokens != length:
                raise ValueError(phrase("serving.key_reused", key=key, got=length, before=stretch.tokens))
            elif not stretch.holders:
                del self._waiting[key]
                self.left -= stretch.present
                self.held += length
                unbroken = unbroken and stretch.present == length
                stretch.present = length
            stretch.holders += 1
            complete += unbroken
            taken.append(stretch)
        return taken, complete

    def release(self, taken: list[Stretch]) -> None:
        """Lets go of a request's chain, which stays until room is needed: its end goes first."""
        for stretch in reversed(taken):
            stretch.holders -= 1
            if not stretch.holders:
                self.held -= stretch.tokens
                self.left += stretch.tokens
                self._waiting[stretch.key] = stretch

    def forget(self, taken: list[Stretch], complete: int, own: int) -> None:
        """Lets go of a request whose prompt was not computed to the end: only what was complete before it stays."""
        for stretch in taken[complete:]:
            self.held -= stretch.tokens
            del self.known[stretch.key]
        self.held -= own
        self.release(taken[:complete])

    def leave(self, own: int, keep: int | None) -> None:
        """A request's own tokens stay under the key ``keep`` until room is needed."""
        if keep in self.known:
            self.trim()
        if keep is None or keep in self.known:  # a second copy of the same content cannot be asked for
            self._anonymous -= 1
            key, stretch = self._anonymous, Stretch(self._anonymous, own)
        else:
            key, stretch = keep, Stretch(keep, own)
            self.known[keep] = stretch
        self.held -= own
        self.left += own
        self._waiting[key] = stretch

    def trim(self) -> None:
        """Drops what there is no room for. Due before anybody looks; until then ``held + left`` may exceed
        ``capacity``.

        To drop late is to drop the same, the oldest first and whole blocks, while nothing is given back in between.
        """
        excess = self.held + self.left - self.capacity
        while excess > 0:
            key, stretch = self._waiting.popitem(last=False)
            rest = (stretch.present - excess) // self.block * self.block
            gone = stretch.present - rest if rest > 0 else stretch.present
            self.left -= gone
            excess -= gone
            if rest > 0:
                stretch.present = rest
                self._waiting[key] = stretch
                self._waiting.move_to_end(key, last=False)
            elif key >= 0:
                del self.known[key]
