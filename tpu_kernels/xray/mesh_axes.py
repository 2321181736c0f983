"""The axes of a mesh in plain words, as a program is asked for, compiled and reported with them."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Axes:
    """Names and sizes of the axes of a mesh, and their types as jax names them."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    types: tuple[str, ...]

    @property
    def devices(self) -> int:
        return math.prod(self.sizes)

    @property
    def sides(self) -> dict[str, int]:
        """Sizes by name; empty for one device."""
        return dict(zip(self.names, self.sizes, strict=True)) if self.devices > 1 else {}


ONE_DEVICE = Axes(("device",), (1,), ("Auto",))
