"""A KV cache of single blocks: what :mod:`tpu_kernels.models.serving.prefix_cache` must do, without its shortcuts."""

from typing import Any

from tpu_kernels.models.serving.request import Prefix


class BlockCache:
    """Blocks, one by one: ``idle`` lists the keys of those that nobody holds, the oldest first."""

    def __init__(self, capacity: int, block: int) -> None:
        self.capacity, self.block = capacity, block
        self.blocks: dict[Any, list[int]] = {}  # key -> sizes of its blocks in memory, from its start
        self.holders: dict[Any, int] = {}
        self.idle: list[Any] = []
        self.private = 0
        self.nameless = 0

    def split(self, tokens: int) -> list[int]:
        """Full blocks, and what is left over."""
        return [min(self.block, tokens - start) for start in range(0, tokens, self.block)]

    def held(self) -> int:
        """Tokens that cannot be dropped."""
        return self.private + sum(sum(sizes) for key, sizes in self.blocks.items() if self.holders.get(key))

    def drop(self) -> None:
        """Frees the oldest blocks until everything fits."""
        while self.private + sum(map(sum, self.blocks.values())) > self.capacity:
            key = self.idle.pop(0)
            self.blocks[key].pop()
            if not self.blocks[key]:
                del self.blocks[key]

    def matched(self, prefix: Prefix, prompt: int) -> int:
        """Tokens of a prompt that need no computing."""
        tokens = 0
        for key, length in prefix:
            here = sum(self.blocks.get(key, []))
            tokens += here
            if here < length:
                break
        return min(tokens, prompt - 1) // self.block * self.block

    def needed(self, prefix: Prefix) -> int:
        """Tokens for which holding a chain needs room."""
        return sum(length for key, length in prefix if not self.holders.get(key))

    def hold(self, prefix: Prefix) -> int:
        """Takes a chain; how many of its keys, from the start, were complete."""
        complete, whole = 0, True
        for key, length in prefix:
            whole = whole and sum(self.blocks.get(key, [])) == length
            complete += whole
            self.idle = [other for other in self.idle if other != key]
            self.blocks[key] = self.split(length)
            self.holders[key] = self.holders.get(key, 0) + 1
        return complete

    def let_go(self, prefix: Prefix) -> None:
        """Lets go of a chain, its end first."""
        for key, _ in reversed(prefix):
            self.holders[key] -= 1
            if not self.holders[key]:
                self.idle += [key] * len(self.blocks[key])

    def forget(self, prefix: Prefix) -> None:
        """Drops keys that were never computed."""
        for key, _ in prefix:
            self.holders[key] = 0
            del self.blocks[key]

    def leave(self, own: int, keep: int | None) -> None:
        """A request's own tokens stay under a key until room is needed."""
        self.private -= own
        key: Any = keep
        if keep is None or keep in self.blocks:
            self.nameless += 1
            key = ("nobody's", self.nameless)
        self.blocks[key] = self.split(own)
        self.idle += [key] * len(self.blocks[key])
