"""A kernel's whole program as a heat map: which units each part of it uses, and how often each part is executed."""

import math
from collections import defaultdict
from html import escape
from itertools import pairwise

from tpu_kernels.messages import language
from tpu_kernels.models.numerals import number
from tpu_kernels.models.picture import BORDER, MUTED, PRIMARY, SURFACE, Picture, svg, text
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.phrases import phrase
from tpu_kernels.xray.bundle_axis import LEFT, RIGHT, SMALL, WIDTH, Axis, lane_name
from tpu_kernels.xray.record import Kernel
from tpu_kernels.xray.regions import Region
from tpu_kernels.xray.text import IN_REGIONS

TOP = 50
STRIP = 34
ROW, GAP = 20, 3
LEVELS = 20  # steps of the scale: the eye tells no more of one hue, and equal neighbours become one mark
FAINTEST = 0.12  # what is used at all can be told from what is not
KEY_WIDTH, KEY_HEIGHT = 22, 11
LEAST_LABEL = 26  # pixels that a region needs to carry its number of executions


def heat_map(kernel: Kernel) -> Picture:
    """The picture, and in words where the kernel executes most and what it uses there.

    One hue, more opaque the more a unit is used, over the page's own background: an order of lightness that does not
    depend on telling colours apart, light or dark.
    """
    axis = Axis(0, kernel.bundles - 1)
    top = TOP + STRIP + 8
    bottom = top + len(IN_REGIONS) * (ROW + GAP)
    finding = _finding(kernel)
    title = phrase("xray.heat_title", kernel=kernel.name)
    cuts = [region.first for region in kernel.regions[1:]]
    marks = [
        f"<title>{escape(title)}</title>",
        text(WIDTH / 2, 22, title, weight=700, fit=WIDTH - 16),
        *_strip(kernel, axis),
        *_rows(kernel, axis, top),
        *(
            f'<path d="M{axis.x(cut):g} {TOP}V{bottom - GAP:g}" stroke="{BORDER}" stroke-opacity=".35"/>'
            for cut in cuts
        ),
        *axis.ticks(cuts, bottom),
        text(LEFT, bottom + 38, phrase("xray.axis"), size=SMALL, colour=MUTED, anchor="start"),
        *_key(bottom + 29),
    ]
    return svg(marks, WIDTH, bottom + 50, finding)


def how_to_read() -> str:
    """What rows, shades and the strip over them stand for, and what each unit does."""
    return f"{phrase('xray.heat_how')} {phrase('xray.units')}"


def opacity(share: float) -> float:
    """Of a mark that stands for this share of a unit, in :data:`LEVELS` steps; 0 for none."""
    return round(FAINTEST + (1 - FAINTEST) * math.ceil(share * LEVELS) / LEVELS, 2) if share > 0 else 0.0


def most_executed(kernel: Kernel) -> Region | None:
    """The region in which a run executes most bundles; ``None`` when executions are not known."""
    return max(kernel.regions, key=lambda region: region.executions * (region.last - region.first + 1), default=None)


def _strip(kernel: Kernel, axis: Axis) -> list[str]:
    """How often each part is executed, on a logarithmic scale: a step may run ten thousand times, a prologue once."""
    base = TOP + STRIP
    known = [(one, one.executions) for one in kernel.profile if one.executions is not None]
    if not known:
        return [text(LEFT, base - 8, phrase("xray.executions_unknown"), size=SMALL, colour=MUTED, anchor="start")]
    highest = math.log1p(max(times for _, times in known))
    outline = "".join(
        f"V{base - (STRIP - 14) * math.log1p(times) / highest if highest else base:.1f}H{axis.x(one.last + 1):g}"
        for one, times in known
    )
    marks = [
        lane_name(phrase("xray.executions"), base - 4),
        f'<path d="M{axis.x(0):g} {base}{outline}V{base}Z" fill="{MUTED}" fill-opacity=".45"/>',
    ]
    for region in kernel.regions:
        left, right = axis.x(region.first), axis.x(region.last + 1)
        label = f"×{number(region.executions, language())}"
        if right - left >= max(LEAST_LABEL, 8 * len(label)):
            marks.append(text((left + right) / 2, TOP + 4, label, size=SMALL))
    return marks


def _rows(kernel: Kernel, axis: Axis, top: float) -> list[str]:
    """One row for each unit; neighbours of one shade are one mark, and all of one shade one path."""
    shades: dict[float, list[str]] = defaultdict(list)
    marks = []
    for row, unit in enumerate(IN_REGIONS):
        y = top + row * (ROW + GAP)
        marks.append(lane_name(unit, y + 15))
        marks.append(f'<rect x="{LEFT}" y="{y:g}" width="{WIDTH - LEFT - RIGHT}" height="{ROW}" fill="{SURFACE}"/>')
        shaded = [(axis.x(one.first), opacity(one.use[unit])) for one in kernel.profile]
        begun = [shaded[0], *(later for before, later in pairwise(shaded) if before[1] != later[1])]
        for (left, shade), (right, _) in pairwise([*begun, (axis.x(axis.last + 1), 0.0)]):
            if shade:
                shades[shade].append(f"M{left:g} {y:g}H{right:g}v{ROW}H{left:g}z")
    marks += [
        f'<path d="{"".join(places)}" fill="{PRIMARY}" fill-opacity="{shade:g}" shape-rendering="crispEdges"/>'
        for shade, places in sorted(shades.items())
    ]
    return marks


def _key(y: float) -> list[str]:
    steps = (0.0, 0.25, 0.5, 0.75, 1.0)
    left = WIDTH - RIGHT - 46 - KEY_WIDTH * len(steps)
    marks = [text(left - 6, y + 9, "0" + phrase("unit.percent"), size=SMALL, colour=MUTED, anchor="end")]
    for place, share in enumerate(steps):
        x = left + place * KEY_WIDTH
        box = f'x="{x:g}" y="{y:g}" width="{KEY_WIDTH}" height="{KEY_HEIGHT}"'
        marks.append(f'<rect {box} fill="{SURFACE}"/>')
        marks.append(f'<rect {box} fill="{PRIMARY}" fill-opacity="{opacity(share):g}"/>')
    marks.append(text(WIDTH - RIGHT, y + 9, Quantity(1.0, "share").format(), size=SMALL, colour=MUTED, anchor="end"))
    return marks


def _finding(kernel: Kernel) -> str:
    most = most_executed(kernel)
    if most is None or not kernel.executed:
        return phrase("xray.heat_unknown", kernel=kernel.name, bundles=number(kernel.bundles, language()))
    unit = max(IN_REGIONS, key=most.use.__getitem__)
    part = most.executions * (most.last - most.first + 1) / kernel.executed
    return phrase(
        "xray.heat_finding",
        kernel=kernel.name,
        part=Quantity(part, "share").format(),
        executed=number(kernel.executed, language()),
        first=most.first,
        last=most.last,
        times=number(most.executions, language()),
        unit=unit,
        use=Quantity(most.use[unit], "share").format(),
    )
