"""Time and bus bandwidth over size on logarithmic axes, as a picture: points measured, a line where a model holds."""

from collections.abc import Callable, Sequence
from math import floor, log10
from typing import NamedTuple

from tpu_kernels.bench.collective_fit import Fitted, form_title
from tpu_kernels.bench.collective_row import Row
from tpu_kernels.bench.collective_sizes import written_size
from tpu_kernels.models.collective_cost import Fit, busbw
from tpu_kernels.models.picture import BACKGROUND, MUTED, PRIMARY, TEXT, Picture, svg, text
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.phrases import phrase

WIDTH, LEFT, RIGHT = 490.0, 76.0, 12.0  # narrow enough for a phone, so that nothing scrolls
PANEL, GAP, TOP, LINE = 210.0, 52.0, 52.0, 20.0
INSET = 14.0  # between the frame and the outermost points
MOST_LABELS = 5  # sizes that are named below
STEPS = 48  # straight pieces of a fitted curve
# Told apart without colour: by shape, filled or not, and by the pattern of the line.
SHAPES: tuple[Callable[[float, float], str], ...] = (
    lambda x, y: f"M{x - 4:.1f} {y:.1f}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z",
    lambda x, y: f"M{x - 4:.1f} {y - 4:.1f}h8v8h-8Z",
    lambda x, y: f"M{x:.1f} {y - 5:.1f}l5 9h-10Z",
    lambda x, y: f"M{x:.1f} {y - 5.5:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5Z",
)
PATTERNS = ("", "6 3", "2 3", "9 3 2 3")

Height = Callable[[float, float], float]  # of a point: bytes, seconds


class Axis(NamedTuple):
    """A logarithmic axis: values from ``least`` to ``most`` lie between ``start`` and ``end``, in pixels."""

    least: float
    most: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where ``value`` lies; one value alone is at the start."""
        span = log10(self.most / self.least) or 1.0
        return self.start + (self.end - self.start) * log10(value / self.least) / span


class Curve(NamedTuple):
    """What is drawn of a contestant: measured (bytes, seconds) by size, and a model that holds, if one does.

    ``name`` says in which form it was measured: not every library has the same.
    """

    name: str
    points: tuple[tuple[int, float], ...]
    model: Fit | None


def draw(rows: Sequence[Row], fits: Sequence[Fitted]) -> Picture:
    """Both panels and their key. ``ValueError`` when nothing was timed."""
    curves = [Curve(_name(one), _points(rows, one.contestant), one.accepted) for one in fits]
    if not curves:
        raise ValueError(phrase("collective_bench.nothing_to_draw"))
    case = rows[0].case
    title = phrase("collective_bench.plot_title", collective=case.collective, ranks=case.ranks)

    def bus(size: float, seconds: float) -> float:
        return busbw(case.collective, case.ranks, size, seconds)

    headings = phrase("collective_bench.plot_time"), phrase("collective_bench.plot_busbw")
    below = TOP + PANEL + GAP
    marks = [
        text(WIDTH / 2, 22, title, weight=700),
        *_panel(curves, lambda size, seconds: seconds, headings[0], "s", TOP),
        *_panel(curves, bus, headings[1], "bytes/s", below),
    ]
    bottom = below + PANEL + GAP
    for number, curve in enumerate(curves):
        y = bottom + LINE * number
        marks.append(_line([(LEFT, y), (LEFT + 36, y)], number) if curve.model else "")
        marks.append(_marker(number, LEFT + 18, y))
        marks.append(text(LEFT + 46, y + 5, curve.name, anchor="start"))
    return svg(marks, WIDTH, bottom + LINE * len(curves), _label(title, headings, curves, bus))


def _name(fit: Fitted) -> str:
    return phrase("collective_bench.plot_key", contestant=fit.contestant, form=form_title(fit.form))


def _points(rows: Sequence[Row], name: str) -> tuple[tuple[int, float], ...]:
    mine = (row for row in rows if row.contestant == name)
    return tuple(sorted((row.case.size, row.seconds) for row in mine if row.seconds is not None))


def _panel(curves: Sequence[Curve], height: Height, heading: str, unit: str, top: float) -> list[str]:
    sizes = sorted({size for curve in curves for size, _ in curve.points})
    heights = [height(*point) for curve in curves for point in curve.points]
    across = Axis(sizes[0], sizes[-1], LEFT + INSET, WIDTH - RIGHT - INSET)
    up = Axis(_decade(min(heights)), 10 * _decade(max(heights)), top + PANEL, top)
    marks = [text(LEFT, top - 8, heading, size=12, anchor="start"), *_grid(across, up, sizes, unit)]
    for number, curve in enumerate(curves):
        if curve.model is not None:
            places = [(size, height(size, curve.model.predict(size))) for size in _between(curve)]
            marks.append(_line([(across.at(size), up.at(value)) for size, value in places], number))
        marks += [_marker(number, across.at(point[0]), up.at(height(*point))) for point in curve.points]
    return marks


def _decade(value: float) -> float:
    return float(10.0 ** floor(log10(value)))


def _between(curve: Curve) -> list[float]:
    """Sizes at which the model is drawn: never beyond those measured."""
    first, last = curve.points[0][0], curve.points[-1][0]
    return [first * (last / first) ** (step / STEPS) for step in range(STEPS + 1)]


def _grid(across: Axis, up: Axis, sizes: Sequence[int], unit: str) -> list[str]:
    marks = []
    for exponent in range(round(log10(up.least)), round(log10(up.most)) + 1):
        value = 10.0**exponent
        y = up.at(value)
        marks.append(f'<path d="M{LEFT:g} {y:.1f}H{WIDTH - RIGHT:g}" stroke="{MUTED}" stroke-width="0.5"/>')
        marks.append(text(LEFT - 6, y + 4, str(Quantity(value, unit)), size=12, colour=MUTED, anchor="end"))
    for size in sizes[:: -(-len(sizes) // MOST_LABELS)]:
        marks.append(text(across.at(size), up.start + 18, written_size(size), size=12, colour=MUTED))
    return marks


def _line(places: Sequence[tuple[float, float]], number: int) -> str:
    pattern = PATTERNS[number % len(PATTERNS)]
    dashes = f' stroke-dasharray="{pattern}"' if pattern else ""
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    return f'<path d="M{path}" fill="none" stroke="{PRIMARY}" stroke-width="1.5"{dashes}/>'


def _marker(number: int, x: float, y: float) -> str:
    shape = SHAPES[number % len(SHAPES)](x, y)
    fill = TEXT if number < len(SHAPES) else BACKGROUND
    return f'<path d="{shape}" fill="{fill}" stroke="{TEXT}"/>'


def _label(title: str, headings: tuple[str, str], curves: Sequence[Curve], bus: Height) -> str:
    """The picture in words: what it shows, and each contestant at its smallest and its largest size."""
    above, below = headings
    said = [title + ".", phrase("collective_bench.plot_panels", above=above, below=below)]
    for curve in curves:
        (least, soon), (most, late) = curve.points[0], curve.points[-1]
        said.append(
            phrase(
                "collective_bench.plot_label",
                contestant=curve.name,
                least=written_size(least), soon=Quantity(soon, "s"), narrow=Quantity(bus(least, soon), "bytes/s"),
                most=written_size(most), late=Quantity(late, "s"), wide=Quantity(bus(most, late), "bytes/s"),
            )
        )  # fmt: skip
    return " ".join(said)
