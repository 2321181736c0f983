"""The horizontal axis that pictures of a program share: its bundles, in order."""

from collections.abc import Iterable
from dataclasses import dataclass

from tpu_kernels.messages import language
from tpu_kernels.models.numerals import number
from tpu_kernels.models.picture import BORDER, MUTED, text

WIDTH = 492  # of a picture: two stand side by side on a page
LEFT = 92
RIGHT = 16
SMALL = 12
APART = 40  # pixels between numbers on the axis


@dataclass(frozen=True)
class Axis:
    """Bundles ``first`` to ``last`` over the width of the plot."""

    first: int
    last: int

    def x(self, bundle: int) -> float:
        """Where a bundle begins, in CSS pixels."""
        part = (bundle - self.first) / (self.last + 1 - self.first)
        return round(LEFT + part * (WIDTH - LEFT - RIGHT), 1)

    def ticks(self, bundles: Iterable[int], y: float) -> list[str]:
        """Numbers under the plot: its two ends, and as many of ``bundles`` as fit between them."""
        shown = {self.first, self.last}
        for bundle in sorted(bundles):
            if all(abs(self.x(bundle) - self.x(other)) >= APART for other in shown):
                shown.add(bundle)
        marks = []
        for bundle in sorted(shown):
            x = self.x(bundle)
            marks.append(f'<path d="M{x:g} {y:g}v5" stroke="{BORDER}"/>')
            marks.append(text(x, y + 17, number(bundle, language()), size=SMALL, colour=MUTED))
        return marks


def lane_name(name: str, y: float) -> str:
    """To the left of the plot, on this baseline."""
    return text(LEFT - 8, y, name, size=SMALL, anchor="end", fit=LEFT - 12)
