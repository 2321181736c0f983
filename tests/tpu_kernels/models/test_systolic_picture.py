import re
import xml.etree.ElementTree as ElementTree

import pytest

from tpu_kernels import messages
from tpu_kernels.models import systolic
from tpu_kernels.models.picture import svg, text

SVG = "{http://www.w3.org/2000/svg}"
TRACE = systolic.simulate([[1, 2, 0], [3, 4, -5], [6, -1, 2.5]], [[10, 20, 30], [40, 50, 60], [7, 8, 9], [1, 2, 3]])


def drawing(markup: str) -> ElementTree.Element:
    """The picture as XML, which also proves it well formed."""
    return ElementTree.fromstring(markup)


def words(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def cells(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [rect for rect in root.iter(f"{SVG}rect") if rect.get("rx") == "7"]


def test_it_is_one_image_with_a_name_that_tells_what_it_shows() -> None:
    picture = TRACE.picture(3)
    root = drawing(picture._repr_html_())
    assert root.get("role") == "img"
    assert root.get("aria-label") == picture.label == repr(picture)
    assert picture.label == (
        "Arreglo sistólico de 3×3 en el ciclo 3 (va del 0 al 7): 8 de 9 celdas activas, el 88,9\N{NO-BREAK SPACE}%. "
        "Sale 550 por la columna 0. Sale 70 por la columna 1."
    )


def test_it_speaks_portuguese() -> None:
    messages.use("pt")
    picture = TRACE.picture(3)
    assert picture.label.startswith(
        "Arranjo sistólico de 3×3 no ciclo 3 (vai do 0 ao 7): 8 de 9 células ativas, 88,9%."
    )
    assert "Ciclo 3: 8 de 9 células ativas" in words(drawing(picture.markup))
    assert {"peso", "resultados →"} <= set(words(drawing(picture.markup)))


@pytest.mark.parametrize("cycle", range(TRACE.cycles))
def test_active_cells_differ_by_border_and_fill_and_not_by_colour_alone(cycle: int) -> None:
    drawn = cells(drawing(TRACE.picture(cycle).markup))
    assert len(drawn) == 9
    active = [cell for cell in drawn if cell.get("stroke-dasharray") is None]
    idle = [cell for cell in drawn if cell not in active]
    assert len(active) == TRACE.active_cells(cycle)
    assert all(cell.get("stroke-width") == "3" and cell.get("fill") != "none" for cell in active)
    assert all(cell.get("stroke-width") is None and cell.get("fill") == "none" for cell in idle)


@pytest.mark.parametrize("cycle", range(TRACE.cycles))
def test_every_cell_shows_its_weight_and_active_ones_their_arithmetic(cycle: int) -> None:
    shown = words(drawing(TRACE.picture(cycle).markup))
    for row in TRACE.state(cycle).cells:
        for cell in row:
            assert str(cell.weight).replace(".", ",").replace("-", "−") in shown
    sums = [cell.partial_sum for row in TRACE.state(cycle).cells for cell in row if cell.active]
    assert sum(word.startswith("= ") for word in shown) == len(sums)
    assert sum(word.startswith("× ") for word in shown) == len(sums)


def test_inputs_wait_in_a_skew_and_results_leave_below() -> None:
    first = words(drawing(TRACE.picture(0).markup))
    assert {"40", "20", "30", "…", "·"} <= set(first)  # row 2 has a bubble before its first input
    last = words(drawing(TRACE.picture(TRACE.cycles - 1).markup))
    assert [word for word in last if word.startswith("↓")] == ["↓ −2,5"]
    assert "→" not in last  # nothing waits any more


def test_numbers_that_do_not_fit_are_written_smaller() -> None:
    root = drawing(systolic.simulate([[123456]], [[1234567]]).picture(0).markup)
    sizes = {element.text: float(element.get("font-size", 0)) for element in root.iter(f"{SVG}text")}
    longest = max((word for word in sizes if word and word.startswith("= ")), key=len)
    assert sizes[longest] * len(longest) * 0.62 <= 76 - 10 + 0.5


def test_colours_follow_the_theme_with_a_fallback() -> None:
    markup = TRACE.picture(0).markup
    assert 'fill="var(--pst-color-text-base,var(--jp-content-font-color1,#222))"' in markup
    assert "<style" not in markup  # it would apply to the whole page


def test_a_small_array_shrinks_to_a_phone_and_a_wide_one_scrolls_by_keyboard_too() -> None:
    assert TRACE.picture(0).markup.startswith("<svg")
    wide = drawing(systolic.simulate([[1] * 12], [[1]]).picture(0).markup)
    assert (wide.tag, wide.get("tabindex"), wide.get("role")) == ("div", "0", "group")
    assert wide.get("aria-label") == "Figura ancha: se desplaza hacia los lados"
    assert wide[0].get("role") == "img"


def test_a_filmstrip_shows_the_cycles_asked_for_in_order() -> None:
    strip = TRACE.filmstrip([0, 2, 4])
    root = drawing(strip._repr_html_())
    titles = [words(frame)[0] for frame in root]
    assert [title.split(":")[0] for title in titles] == ["Ciclo 0", "Ciclo 2", "Ciclo 4"]
    assert root.get("aria-label") == "Arreglo sistólico en los ciclos 0, 2, 4"
    assert repr(strip).splitlines()[1] == TRACE.picture(0).label
    assert len(drawing(TRACE.filmstrip().markup)) == TRACE.cycles


def test_the_occupancy_chart_has_a_bar_per_cycle_as_high_as_its_cells() -> None:
    picture = TRACE.occupancy_picture()
    root = drawing(picture._repr_html_())
    bars = [float(rect.get("height", 0)) for rect in root.iter(f"{SVG}rect")][1:]  # the first is the background
    assert [round(bar / bars[0]) for bar in bars] == TRACE.occupancy()
    assert picture.label == (
        "Celdas activas en cada uno de los 8 ciclos, de 9 que hay: 1, 3, 6, 8, 8, 6, 3, 1. "
        "La utilización media es del 50\N{NO-BREAK SPACE}%."
    )
    assert root.get("aria-label") == picture.label


def test_the_chart_of_many_cycles_is_one_outline_and_is_told_in_short() -> None:
    picture = systolic.simulate([[1] * 3] * 3, [[1] * 3] * 60).occupancy_picture()
    root = drawing(picture.markup)
    assert len(list(root.iter(f"{SVG}path"))) == 1
    assert "empieza en 1, llega a 9 en el ciclo 4 y termina en 1" in picture.label
    messages.use("pt")
    assert "começa em 1, chega a 9 no ciclo 4 e termina em 1" in (
        systolic.simulate([[1] * 3] * 3, [[1] * 3] * 60).occupancy_picture().label
    )


def test_words_are_escaped() -> None:
    picture = svg([text(1, 2, '<script>"&')], 10, 10, '"<b>&')
    root = drawing(picture.markup)
    assert root.get("aria-label") == '"<b>&'
    assert words(root) == ['<script>"&']


def test_a_frame_of_a_filmstrip_is_never_narrower_than_its_picture() -> None:
    markup = TRACE.filmstrip([0, 2]).markup
    narrowest_frame = re.search(r"minmax\(min\(100%,([\d.]+)px\)", markup)
    narrowest_picture = re.search(r"min-width:([\d.]+)px", markup)
    assert narrowest_frame is not None
    assert narrowest_picture is not None
    assert narrowest_frame[1] == narrowest_picture[1]
