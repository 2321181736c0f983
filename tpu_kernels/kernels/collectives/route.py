"""Over which rings of a mesh a collective goes, stage by stage.

``ring`` and ``bidirectional`` go along one axis. ``torus`` cuts what it carries in as many parts as there are axes:
part ``p`` starts on axis ``p`` and takes the others in turn, so that every link of the torus is busy in every stage.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from tpu_kernels.kernels.collectives.lanes import Ring, both_ways, one_way

RING, BIDIRECTIONAL, TORUS, XLA = "ring", "bidirectional", "torus", "xla"
IMPLEMENTATIONS = (RING, BIDIRECTIONAL, TORUS, XLA)


@dataclass(frozen=True)
class Route:
    """Mesh axes of ``sizes`` devices, all more than one, and the rings along them."""

    axes: tuple[str, ...]
    sizes: tuple[int, ...]
    ring: Callable[[str, int], Ring]

    @property
    def devices(self) -> int:
        return prod(self.sizes)

    @property
    def parts(self) -> int:
        return len(self.axes)

    def order(self, part: int) -> tuple[int, ...]:
        """The axes that a part takes, by number, one a stage."""
        return tuple((part + stage) % self.parts for stage in range(self.parts))

    def rings(self, stage: int) -> list[Ring]:
        """The ring of each part in a stage."""
        axes = (self.order(part)[stage] for part in range(self.parts))
        return [self.ring(self.axes[axis], self.sizes[axis]) for axis in axes]


def route(impl: str, sizes: dict[str, int]) -> Route:
    """The route of an implementation over mesh axes of these sizes; an axis of one device is nowhere to go."""
    used = {axis: size for axis, size in sizes.items() if size > 1}
    return Route(tuple(used), tuple(used.values()), one_way if impl == RING else both_ways)
