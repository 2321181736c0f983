"""Drawings of a systolic array as inline SVG: legible in a notebook and on the site, light or dark, without colour."""

from collections.abc import Sequence
from html import escape

from tpu_kernels.models.numerals import MINUS, Number, number
from tpu_kernels.models.picture import (
    BACKGROUND,
    BORDER,
    MUTED,
    PRIMARY,
    SURFACE,
    TEXT,
    Picture,
    least_width,
    svg,
    text,
)
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.systolic.state import Cell, State
from tpu_kernels.phrases import phrase

CELL_WIDTH, CELL_HEIGHT, GAP = 76, 66, 8
WEIGHT_WIDTH = 26
SLOT_WIDTH, SLOT_HEIGHT = 34, 20
SLOTS = 3  # how many of the waiting inputs, and of the results that have left, are drawn before an ellipsis
TITLE_HEIGHT = 34


def draw_cycle(state: State, cycles: int) -> Picture:
    """The array in one of its ``cycles``: inputs that wait on the left, cells, results that have left below."""
    rows, columns = len(state.cells), len(state.cells[0])
    left = (SLOTS + 1) * SLOT_WIDTH
    width = _width(columns)
    bottom = TITLE_HEIGHT + rows * (CELL_HEIGHT + GAP)
    height = bottom + (SLOTS + 1) * SLOT_HEIGHT + GAP
    total = rows * columns
    marks = [
        text(width / 2, 22, phrase("picture.title", cycle=state.cycle, active=state.active, total=total), weight=700)
    ]
    for k, row in enumerate(state.cells):
        y = TITLE_HEIGHT + k * (CELL_HEIGHT + GAP)
        marks += _waiting(state.waiting[k], left, y + CELL_HEIGHT / 2)
        marks += [_cell(cell, left + GAP + n * (CELL_WIDTH + GAP), y) for n, cell in enumerate(row)]
    for n in range(columns):
        marks += _departed(state, n, left + GAP + n * (CELL_WIDTH + GAP) + CELL_WIDTH / 2, bottom)
    marks += _key(left, bottom)
    return svg(marks, width, height, _label(state, cycles))


def _width(columns: int) -> float:
    return (SLOTS + 1) * SLOT_WIDTH + columns * (CELL_WIDTH + GAP) + GAP


def draw_filmstrip(states: Sequence[State], cycles: int) -> Picture:
    """Several cycles, side by side while there is room and one under another on a phone."""
    pictures = [draw_cycle(state, cycles) for state in states]
    label = phrase("picture.filmstrip", cycles=", ".join(str(state.cycle) for state in states))
    frames = "".join(f'<div style="min-width:0">{picture.markup}</div>' for picture in pictures)
    narrowest = least_width(_width(len(states[0].cells[0])))
    layout = f"display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,{narrowest:g}px),1fr));gap:12px"
    markup = f'<div role="group" aria-label="{escape(label)}" style="{layout}">{frames}</div>'
    return Picture(markup, "\n".join([label, *(picture.label for picture in pictures)]))


def _label(state: State, cycles: int) -> str:
    rows, columns = len(state.cells), len(state.cells[0])
    sentences = [
        phrase(
            "picture.label",
            rows=rows, columns=columns, cycle=state.cycle, last=cycles - 1, active=state.active, total=rows * columns,
            share=Quantity(state.active / (rows * columns), "share").format(),
        ),
        *(
            phrase("picture.leaving", value=number(value), column=n)
            for n, value in enumerate(state.leaving)
            if value is not None
        ),
    ]  # fmt: skip
    return " ".join(sentences)


def _cell(cell: Cell, x: float, y: float) -> str:
    """The weight always in the same box, since it stays; around it, what passes.

    An active cell has a thick whole border, a fill and its arithmetic; an idle one a thin dashed border and its weight.
    """
    stroke = f'stroke="{PRIMARY}" stroke-width="3"' if cell.active else f'stroke="{BORDER}" stroke-dasharray="4 3"'
    fill = SURFACE if cell.active else "none"
    box = f'<rect x="{x:g}" y="{y:g}" width="{CELL_WIDTH}" height="{CELL_HEIGHT}" rx="7" fill="{fill}" {stroke}/>'
    box += _weight_box(x + 7, y + 6, number(cell.weight))
    if cell.input is None or cell.from_above is None or cell.partial_sum is None:
        return box
    middle = x + CELL_WIDTH / 2
    right = x + 7 + WEIGHT_WIDTH
    return (
        box
        + text((right + x + CELL_WIDTH) / 2, y + 20, f"× {number(cell.input)}", fit=CELL_WIDTH - WEIGHT_WIDTH - 13)
        + text(middle, y + 40, _added(cell.from_above), fit=CELL_WIDTH - 10)
        + text(middle, y + 58, f"= {number(cell.partial_sum)}", weight=700, fit=CELL_WIDTH - 10)
    )


def _added(value: Number) -> str:
    return f"{MINUS} {number(-value)}" if value < 0 else f"+ {number(value)}"


def _weight_box(x: float, y: float, content: str) -> str:
    box = f'<rect x="{x:g}" y="{y:g}" width="{WEIGHT_WIDTH}" height="19" rx="3" fill="{BACKGROUND}" stroke="{BORDER}"/>'
    return box + text(x + WEIGHT_WIDTH / 2, y + 14.5, content, fit=WEIGHT_WIDTH - 4)


def _key(left: float, top: float) -> list[str]:
    """What the three kinds of number are, in the free corner below the waiting inputs."""
    return [
        text(left - 8, top + 16, f"↑ {phrase('picture.inputs')}", size=12, colour=MUTED, anchor="end"),
        text(left - 8, top + 34, f"{phrase('picture.results')} →", size=12, colour=MUTED, anchor="end"),
        _weight_box(left - 8 - WEIGHT_WIDTH, top + 42, "w"),
        text(left - 14 - WEIGHT_WIDTH, top + 56, phrase("picture.weight"), size=12, colour=MUTED, anchor="end"),
    ]


def _waiting(inputs: Sequence[Number | None], right: float, y: float) -> list[str]:
    marks = [text(right - 4, y + 5, "→", colour=MUTED)] if inputs else []
    for slot, value in enumerate(inputs[:SLOTS]):
        x = right - 8 - (slot + 0.5) * SLOT_WIDTH
        shown = "·" if value is None else number(value)
        marks.append(text(x, y + 5, shown, colour=MUTED if value is None else TEXT, fit=SLOT_WIDTH - 4))
    if len(inputs) > SLOTS:
        marks.append(text(right - 8 - (SLOTS + 0.4) * SLOT_WIDTH, y + 5, "…", colour=MUTED))
    return marks


def _departed(state: State, column: int, x: float, top: float) -> list[str]:
    """Results fall one slot per cycle, so that the skew of the inputs shows again below the array."""
    marks = []
    for departure in state.left[column]:
        age = state.cycle - departure.cycle
        if age < SLOTS:
            now = age == 0
            shown = f"↓ {number(departure.value)}" if now else number(departure.value)
            y = top + (age + 0.8) * SLOT_HEIGHT
            marks.append(text(x, y, shown, weight=700 if now else 400, colour=TEXT if now else MUTED, fit=CELL_WIDTH))
    if any(state.cycle - departure.cycle >= SLOTS for departure in state.left[column]):
        marks.append(text(x, top + (SLOTS + 0.7) * SLOT_HEIGHT, "…", colour=MUTED))
    return marks


def draw_occupancy(active: Sequence[int], cells: int) -> Picture:
    """One bar per cycle, as high as the cells that work in it; the dashed line is the whole array."""
    left, top, plot_height, bottom = 46, 44, 150, 44
    step = min(36.0, 420 / len(active))
    plot_width = step * len(active)
    width, base = left + max(plot_width, 240) + 12, top + plot_height
    share = Quantity(sum(active) / (cells * len(active)), "share").format()
    marks = [text(width / 2, 22, phrase("picture.occupancy_title", share=share), weight=700)]
    marks.append(
        _line(left, top, left + plot_width, top, dashed=True) + text(left - 6, top + 5, str(cells), anchor="end")
    )
    marks.append(_line(left, base, left + plot_width, base) + text(left - 6, base + 5, "0", anchor="end"))
    marks += _bars(active, left, base, step, plot_height / cells)
    marks.append(text(left + plot_width / 2, base + 34, phrase("systolic.cycle"), size=12))
    return svg(marks, width, base + bottom, _occupancy_label(active, cells, share))


def _bars(active: Sequence[int], left: float, base: float, step: float, scale: float) -> list[str]:
    if step < 20:  # too many to number: one outline, since thin bars side by side show seams
        outline = "".join(f"V{base - count * scale:g}h{step:g}" for count in active)
        last = left + step * len(active)
        return [
            f'<path d="M{left:g} {base:g}{outline}V{base:g}Z" fill="{PRIMARY}"/>',
            text(left, base + 16, "0", size=12, anchor="start"),
            text(last, base + 16, str(len(active) - 1), size=12, anchor="end"),
        ]
    marks = []
    for cycle, count in enumerate(active):
        x, height = left + cycle * step, count * scale
        marks += [
            f'<rect x="{x + 2:g}" y="{base - height:g}" width="{step - 4:g}" height="{height:g}" fill="{PRIMARY}"/>',
            text(x + step / 2, base - height - 5, str(count), size=12, halo=True),
            text(x + step / 2, base + 16, str(cycle), size=12),
        ]
    return marks


def _line(x1: float, y1: float, x2: float, y2: float, *, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{TEXT}"{dash}/>'


def _occupancy_label(active: Sequence[int], cells: int, share: str) -> str:
    most = max(active)
    series = ", ".join(map(str, active)) if len(active) <= 40 else phrase(
        "picture.occupancy_shape", first=active[0], most=most, at=active.index(most), last=active[-1]
    )  # fmt: skip
    return phrase("picture.occupancy", cells=cells, cycles=len(active), share=share, series=series)
