"""A picture as inline SVG, with the words that stand for it; colours follow the page's theme.

Colours are presentation attributes with custom properties, not a ``<style>`` element: one in an inline SVG would
apply to the whole page. ``--pst-*`` is the site's theme, ``--jp-*`` JupyterLab's; the picture paints its own
background for the rest.
"""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from tpu_kernels.phrases import phrase


def _themed(site: str, notebook: str, fallback: str) -> str:
    return f"var(--pst-color-{site},var(--jp-{notebook},{fallback}))"


TEXT = _themed("text-base", "content-font-color1", "#222")
MUTED = _themed("text-muted", "content-font-color2", "#555")
BORDER = _themed("text-muted", "content-font-color2", "#555")  # the theme's own border is too faint to tell a cell by
PRIMARY = _themed("primary", "brand-color1", "#0a6d78")
SURFACE = _themed("surface", "layout-color2", "#eef3f4")
BACKGROUND = _themed("background", "layout-color1", "#fff")
FONT_SIZE = 14
LEAST_SCALE = 0.65
PHONE_WIDTH = 320  # what is left for a figure on a screen 360 pixels wide
DIGIT_WIDTH = 0.62  # of the font size, in the sans-serif faces of browsers


class Picture(NamedTuple):
    """``markup`` is shown where HTML is; ``label`` says the same in words, and is what a terminal prints."""

    markup: str
    label: str

    def __repr__(self) -> str:
        return self.label

    def _repr_html_(self) -> str:
        return self.markup


def least_width(width: float) -> float:
    """How narrow, in CSS pixels, a picture ``width`` wide may be shown: beyond that its numbers cannot be read."""
    return width * LEAST_SCALE


def svg(marks: Sequence[str], width: float, height: float, label: str) -> Picture:
    """An image of ``width`` by ``height`` CSS pixels at most, that shrinks with its container.

    One that would shrink until its numbers cannot be read stops there and scrolls sideways, by keyboard too.
    """
    least = least_width(width)
    markup = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {width:g} {height:g}" '
        f'style="display:block;width:100%;min-width:{least:g}px;max-width:{width:g}px;height:auto" '
        f'font-family="system-ui, sans-serif" text-anchor="middle">'
        f'<rect width="{width:g}" height="{height:g}" fill="{BACKGROUND}"/>{"".join(marks)}</svg>'
    )
    if least > PHONE_WIDTH:
        wide = escape(phrase("picture.wide"))
        markup = f'<div role="group" tabindex="0" aria-label="{wide}" style="overflow-x:auto">{markup}</div>'
    return Picture(markup, label)


def text(
    x: float, y: float, content: str, *, size: float = FONT_SIZE, weight: int = 400, colour: str = TEXT,
    anchor: str = "middle", fit: float | None = None, halo: bool = False,
) -> str:  # fmt: skip
    """Escaped text on its baseline; ``fit`` shrinks what would be wider, ``halo`` keeps it clear of lines."""
    if fit is not None:
        size = min(size, fit / (DIGIT_WIDTH * max(len(content), 1)))
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    side = f' text-anchor="{anchor}"' if anchor != "middle" else ""
    edge = f' stroke="{BACKGROUND}" stroke-width="5" paint-order="stroke"' if halo else ""
    style = f'font-size="{size:.3g}" fill="{colour}"{bold}{side}{edge}'
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(content)}</text>'
