"""One step of a kernel as a timeline: which copies are in flight while which units work."""

from collections.abc import Sequence
from html import escape

from tpu_kernels.messages import language
from tpu_kernels.models.numerals import number
from tpu_kernels.models.picture import BORDER, MUTED, PRIMARY, SURFACE, TEXT, Picture, svg, text
from tpu_kernels.phrases import phrase
from tpu_kernels.xray.bins import Bin
from tpu_kernels.xray.bundle_axis import LEFT, RIGHT, SMALL, WIDTH, Axis, lane_name
from tpu_kernels.xray.record import Kernel
from tpu_kernels.xray.step import Flight, Step
from tpu_kernels.xray.text import IN_REGIONS

TOP = 36
LANE, GAP = 24, 6
BAR = 8
MOST_FLIGHTS = 6
NEAR_MEMORIES = ("vmem", "smem")  # where the units take their operands from


def timeline(kernel: Kernel) -> Picture | None:
    """The picture, and in words what is started, waited for and multiplied where; ``None`` without a step."""
    step = kernel.step
    if step is None:
        return None
    axis = Axis(step.first, step.last)
    coming = [one for one in step.flights if one.destination in NEAR_MEMORIES][:MOST_FLIGHTS]
    leaving = [one for one in step.flights if one.destination not in NEAR_MEMORIES][:MOST_FLIGHTS]
    units = [unit for unit in IN_REGIONS if any(one.use[unit] for one in step.bins)]
    title = _title(kernel, step)
    marks = [
        f"<title>{escape(title)}</title>",
        text(WIDTH / 2, 22, title, weight=700, fit=WIDTH - 16),
    ]
    lanes = [
        *([] if _alike(step) else [_executed(step, axis)]),
        *(_flight(one, axis) for one in coming),
        *(_unit(unit, step, axis) for unit in units),
        *(_flight(one, axis) for one in leaving),
    ]
    for place, lane in enumerate(lanes):
        marks.append(f'<g transform="translate(0 {TOP + place * (LANE + GAP)})">{lane}</g>')
    bottom = TOP + len(lanes) * (LANE + GAP)
    marks += [*axis.ticks(_places(step), bottom), *_key(bottom + 40)]
    return svg(marks, WIDTH, bottom + 52, finding(kernel, step))


def how_to_read(step: Step) -> str:
    """What lanes, bars, the axis and, where there is one, the bracket stand for."""
    bracket = [] if step.mxu_first is None else [phrase("xray.step_bracket")]
    return " ".join([phrase("xray.step_how"), *bracket, phrase("xray.axis_no_time")])


def finding(kernel: Kernel, step: Step) -> str:
    """What the timeline shows, in sentences."""
    sentences = [
        phrase("xray.step_finding", kernel=kernel.name, first=step.first, last=step.last, trips=step.trips),
        *map(_said, step.flights[:MOST_FLIGHTS]),
    ]
    if step.mxu_first is not None:
        sentences.append(phrase("xray.step_mxu", first=step.mxu_first, last=step.mxu_last))
    return " ".join(sentences)


def _title(kernel: Kernel, step: Step) -> str:
    if step.trips == 1:
        return phrase("xray.only_step", kernel=kernel.name)
    return phrase("xray.step_title", kernel=kernel.name, trips=number(step.trips, language()))


def _alike(step: Step) -> bool:
    """Whether every trip executes all of it, once."""
    return all(one.executions == step.trips for one in step.bins)


def _said(flight: Flight) -> str:
    source, destination = flight.source.upper(), flight.destination.upper()
    starts = phrase("xray.copy_starts", source=source, destination=destination, start=flight.start)
    if not flight.waits:
        return starts
    waits = ", ".join(map(str, flight.waits))
    waited = phrase("xray.copy_ahead", waits=waits) if flight.ahead else phrase("xray.copy_waited", waits=waits)
    return f"{starts} {waited}"


def _places(step: Step) -> list[int]:
    ends = [one for one in (step.mxu_first, step.mxu_last) if one is not None]
    return [*ends, *(flight.start for flight in step.flights)]


def _executed(step: Step, axis: Axis) -> str:
    """In what share of the trips each part is executed; a loop inside the step fills its lane, and no more."""
    heights = [min(1.0, (one.executions or 0.0) / step.trips) for one in step.bins]
    area = _area(step.bins, heights, axis, MUTED, 0.45)
    return lane_name(phrase("xray.in_trips"), 17) + area


def _unit(unit: str, step: Step, axis: Axis) -> str:
    lane = lane_name(unit, 17) + _area(step.bins, [one.use[unit] for one in step.bins], axis, PRIMARY, 0.85)
    if unit == "MXU" and step.mxu_first is not None and step.mxu_last is not None:
        left, right = axis.x(step.mxu_first), axis.x(step.mxu_last + 1)
        lane += f'<path d="M{left:g} -4v4M{left:g} -2H{right:g}M{right:g} -4v4" stroke="{TEXT}" fill="none"/>'
    return lane


def _area(bins: Sequence[Bin], heights: Sequence[float], axis: Axis, colour: str, opacity: float) -> str:
    outline = "".join(
        f"V{LANE * (1 - height):.1f}H{axis.x(one.last + 1):g}" for one, height in zip(bins, heights, strict=True)
    )
    return (
        f'<rect x="{LEFT}" width="{WIDTH - LEFT - RIGHT}" height="{LANE}" fill="{SURFACE}"/>'
        f'<path d="M{LEFT} {LANE}{outline}V{LANE}Z" fill="{colour}" fill-opacity="{opacity:g}"/>'
    )


def _flight(flight: Flight, axis: Axis) -> str:
    """A bar from where the copy starts to where it is waited for, over the edge of the step if it crosses it."""
    operand = "" if flight.operand is None else str(flight.operand)
    coming = flight.destination in NEAR_MEMORIES
    name = phrase("xray.copy_in", operand=operand) if coming else phrase("xray.copy_out", operand=operand)
    start = axis.x(flight.start)
    waits = [axis.x(wait) for wait in flight.waits]
    end = axis.x(axis.last + 1)
    spans = [(start, end), (LEFT, waits[-1])] if flight.ahead else [(start, waits[-1])] if waits else []
    bars = "".join(
        f'<rect x="{left:g}" y="{(LANE - BAR) / 2:g}" width="{right - left:.1f}" height="{BAR}" rx="2" '
        f'fill="{PRIMARY}" fill-opacity=".4"/>'
        for left, right in spans
    )
    return (
        lane_name(name.strip(), 17)
        + f'<path d="M{LEFT} {LANE / 2:g}H{WIDTH - RIGHT}" stroke="{BORDER}" stroke-opacity=".35"/>'
        + bars
        + "".join(_wait_mark(x) for x in waits)
        + _start_mark(start)
    )


def _start_mark(x: float) -> str:
    """On the line from above, so that a wait in the next bundle does not hide it."""
    return f'<path d="M{x - 5:g} {LANE / 2 - 10:g}h10l-5 9z" fill="{TEXT}"/>'


def _wait_mark(x: float) -> str:
    """On the line from below."""
    return f'<rect x="{x - 1.5:g}" y="{LANE / 2 + 1:g}" width="3" height="10" fill="{TEXT}"/>'


def _key(y: float) -> list[str]:
    middle = y - 4 - LANE / 2
    return [
        f'<g transform="translate(0 {middle + 5:g})">{_start_mark(LEFT + 5)}</g>',
        text(LEFT + 16, y, phrase("xray.key_start"), size=SMALL, colour=MUTED, anchor="start"),
        f'<g transform="translate(0 {middle - 6:g})">{_wait_mark(LEFT + 170)}</g>',
        text(LEFT + 178, y, phrase("xray.key_wait"), size=SMALL, colour=MUTED, anchor="start"),
    ]
