"""A report as HTML for a notebook or a page: its figures, what holds it up, pictures, tables, what is left out."""

from collections.abc import Iterator
from html import escape

from tpu_kernels.messages import language
from tpu_kernels.models.numerals import number
from tpu_kernels.models.picture import BACKGROUND, MUTED, SURFACE, TEXT, Picture
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase
from tpu_kernels.xray import heat_map, timeline
from tpu_kernels.xray.diagnosis import advice
from tpu_kernels.xray.exchanges import collectives_table, over_devices, try_first
from tpu_kernels.xray.page import visible
from tpu_kernels.xray.record import Kernel
from tpu_kernels.xray.report import Report
from tpu_kernels.xray.text import kernels_table, regions_table, slowest
from tpu_kernels.xray.words import UNKNOWN, bound_name, count, label, left_out, no_cycles, share, size, title

Figure = tuple[str, str, str]  # what it is, its value, and what there is to know about it
Captioned = tuple[Picture, str]  # a picture, and how to read it

LEAST_WIDTH = 460  # CSS pixels of a picture: narrower, its smallest text cannot be read, and it scrolls


def markup(report: Report) -> str:
    """The whole report under its title, as a notebook shows it, in the language in force."""
    return framed(f"<h2>{escape(title(report))}</h2>{contents(report)}")


def contents(report: Report) -> str:
    """The report without its title; everything that comes from the learner is escaped."""
    parts = [_figures(report)]
    if report.collectives and report.cycles.value is not None:
        parts.append(paragraph(phrase("xray.without_collectives")))
    parts += [paragraph(sentence) for sentence in over_devices(report)]
    if report.collectives:
        parts.append(collectives_table(report)._repr_html_())
    if report.kernels:
        longest = slowest(report)
        parts += [paragraph(sentence) for sentence in (*try_first(report), *advice(longest))]
        parts.append(gallery(pictures(longest)))
        parts.append(kernels_table(report)._repr_html_())
        parts.append(_folded(phrase("xray.details"), "".join(one._repr_html_() for one in _details(report, longest))))
    parts += [paragraph(sentence) for sentence in left_out(report)]
    parts.append(paragraph(_versions(report)))
    return "".join(parts)


def framed(body: str) -> str:
    """HTML in colours of its own, since the page around may be light or dark without saying so."""
    return visible(f'<section style="color:{TEXT};background:{BACKGROUND};padding:2px">{body}</section>')


def pictures(kernel: Kernel) -> list[Captioned]:
    """The heat map of a kernel's program, and the timeline of its step where it is known."""
    drawn = [(heat_map.heat_map(kernel), heat_map.how_to_read())]
    step = timeline.timeline(kernel)
    if step and kernel.step:
        drawn.append((step, timeline.how_to_read(kernel.step)))
    return drawn


def gallery(drawn: list[Captioned]) -> str:
    """Pictures side by side while there is room, one under another on a phone."""
    columns = f"repeat(auto-fit,minmax(min(100%,{LEAST_WIDTH}px),1fr))"
    layout = f"display:grid;grid-template-columns:{columns};gap:16px;margin:12px 0"
    return f'<div style="{layout}">{"".join(_captioned(*one) for one in drawn)}</div>'


def _captioned(picture: Picture, how: str) -> str:
    # On a phone the picture scrolls inside its own region, which the keyboard must be able to reach; its caption stays.
    wide = escape(phrase("picture.wide"))
    return (
        f'<figure style="margin:0"><div role="group" tabindex="0" aria-label="{wide}" style="overflow-x:auto">'
        f'<div style="min-width:{LEAST_WIDTH}px">{picture.markup}</div></div>'
        f'<figcaption style="color:{MUTED};font-size:.85em;margin-top:4px">{escape(how)}</figcaption></figure>'
    )


def _figures(report: Report) -> str:
    shown = "".join(
        f'<div style="background:{SURFACE};border-radius:8px;padding:8px 12px">'
        f'<dt style="color:{MUTED};font-weight:400">{escape(name)}</dt>'
        f'<dd style="margin:0;font-size:1.3em;font-weight:700">{escape(value)}'
        f'<span style="display:block;font-size:.6em;font-weight:400">{escape(remark)}</span></dd></div>'
        for name, value, remark in _headlines(report)
    )
    layout = "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(46%,8.5em),1fr));gap:8px;margin:12px 0"
    return f'<dl style="{layout}">{shown}</dl>'


def _headlines(report: Report) -> Iterator[Figure]:
    if report.cycles.value is None or report.seconds is None:
        yield phrase("xray.cycles"), UNKNOWN, no_cycles(report)
    else:
        yield phrase("xray.cycles"), number(report.cycles.value, language()), label(report.cycles)
        clock = phrase("xray.at_clock", clock=Quantity(report.clock, "Hz").format())
        yield phrase("xray.time"), Quantity(report.seconds, "s").format(), clock
    peak = phrase("xray.no_products") if report.flops == 0 else phrase("xray.peak_is")
    yield phrase("xray.peak"), share(report.of_peak).text, peak
    left = report.of_roofline is None and report.cycles.value is not None
    roof = phrase("xray.no_roofline") if left else phrase("xray.roof_is")
    yield phrase("xray.roof"), share(report.of_roofline).text, roof
    if report.kernels:
        longest = slowest(report)
        yield phrase("xray.bound"), bound_name(longest), longest.name
    traffic = phrase("xray.written", size=size(report.hbm_written).text)
    yield phrase("xray.from_hbm"), size(report.hbm_read).text, traffic


def _details(report: Report, longest: Kernel) -> Iterator[Table]:
    if longest.regions:
        yield regions_table(longest)
    yield _traffic_table(longest)
    yield _memory_table(report)


def _traffic_table(kernel: Kernel) -> Table:
    headings = [
        phrase("xray.copied"),
        phrase("xray.operand"),
        phrase("xray.starts"),
        phrase("xray.amount"),
    ]
    rows = [
        [
            TableCell(f"{one.source.upper()} → {one.destination.upper()}"),
            count(one.operand),
            count(one.starts),
            size(one.bytes),
        ]
        for one in kernel.traffic
    ]
    return Table(phrase("xray.traffic_caption", kernel=kernel.name), headings, rows)


def _memory_table(report: Report) -> Table:
    names = {
        "argument": phrase("xray.arguments"),
        "output": phrase("xray.results"),
        "temp": phrase("xray.temporaries"),
        "alias": phrase("xray.aliases"),
        "generated_code": phrase("xray.code"),
    }
    rows = [[TableCell(name), size(report.memory[key])] for key, name in names.items() if key in report.memory]
    return Table(phrase("xray.memory_caption"), [phrase("xray.use"), phrase("xray.amount")], rows)


def _versions(report: Report) -> str:
    named = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    return phrase("xray.compiled_by", versions=named, device=report.device_kind)


def _folded(heading: str, body: str) -> str:
    return f"<details><summary>{escape(heading)}</summary>{body}</details>"


def paragraph(sentence: str) -> str:
    """A sentence, escaped."""
    return f'<p style="margin:8px 0">{escape(sentence)}</p>'
