"""The heat map and the timeline: they show the record, in words too, and stand by themselves."""

import dataclasses
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from tests.tpu_kernels.xray import stored
from tpu_kernels import messages
from tpu_kernels.models.picture import Picture
from tpu_kernels.xray import bundle_axis
from tpu_kernels.xray.heat_map import LEVELS, heat_map, most_executed, opacity
from tpu_kernels.xray.record import Kernel
from tpu_kernels.xray.text import IN_REGIONS
from tpu_kernels.xray.timeline import timeline

SVG = "{http://www.w3.org/2000/svg}"
SHADE = re.compile(r"M([\d.]+) ([\d.]+)H([\d.]+)v\d+H[\d.]+z")


def slowest(name: str) -> Kernel:
    return max(stored.report(name).kernels, key=lambda kernel: kernel.executed or 0)


def without_executions(kernel: Kernel) -> Kernel:
    profile = tuple(dataclasses.replace(one, executed=None) for one in kernel.profile)
    return dataclasses.replace(kernel, profile=profile, regions=(), executed=None, step=None)


def drawn(kernel: Kernel) -> list[Picture]:
    return [picture for picture in (heat_map(kernel), timeline(kernel)) if picture]


def words(picture: Picture) -> list[str]:
    return [node.text or "" for node in ET.fromstring(picture.markup).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", stored.NAMES)
@pytest.mark.parametrize("lang", ["es", "pt"])
def test_each_picture_is_one_image_with_its_words(name: str, lang: str) -> None:
    messages.use(lang)
    for kernel in stored.report(name).kernels:
        for picture in drawn(kernel):
            image = ET.fromstring(picture.markup)
            assert image.tag == f"{SVG}svg"
            assert (image.get("role"), image.get("aria-label")) == ("img", picture.label)
            assert image.findtext(f"{SVG}title")
            assert kernel.name in picture.label
            assert not re.search(r"https?:|url\(|<style|<script", picture.markup.replace(SVG[1:-1], ""))
            assert "None" not in picture.markup and "{" not in picture.label


@pytest.mark.parametrize("name", ["matmul-v5e", "matmul-v6e", "mlp-v5e", "chosen_rows-v5e"])
def test_the_heat_map_shades_what_the_profile_uses(name: str) -> None:
    kernel = slowest(name)
    axis = bundle_axis.Axis(0, kernel.bundles - 1)
    shaded = {}
    for path in ET.fromstring(heat_map(kernel).markup).iter(f"{SVG}path"):
        if path.get("shape-rendering"):
            for left, y, right in SHADE.findall(path.get("d") or ""):
                for one in kernel.profile:
                    if float(left) <= axis.x(one.first) < float(right):
                        shaded[float(y), one.first] = float(path.get("fill-opacity") or 0)
    rows = sorted({y for y, _ in shaded})
    used = [unit for unit in IN_REGIONS if any(one.use[unit] for one in kernel.profile)]
    assert len(rows) == len(used)
    for y, unit in zip(rows, used, strict=True):
        for one in kernel.profile:
            assert shaded.get((y, one.first), 0.0) == opacity(one.use[unit]), (unit, one)


def test_more_use_is_never_fainter() -> None:
    shades = [opacity(share / 200) for share in range(201)]
    assert shades[0] == 0 and shades[-1] == 1 and shades[1] > 0.1
    assert all(before <= after for before, after in pairwise(shades))
    assert len(set(shades)) == LEVELS + 1


def test_the_heat_map_finds_where_a_kernel_executes_most() -> None:
    kernel = slowest("matmul-v5e")
    most = most_executed(kernel)
    assert most is not None and (most.first, most.last, most.executions) == (153, 686, 8)
    label = heat_map(kernel).label
    assert "paquetes 153 a 686 (×8) son el 74,6 %" in label.replace("\N{NO-BREAK SPACE}", " ")
    assert "MXU, al 75,3 %" in label.replace("\N{NO-BREAK SPACE}", " ")
    assert {"×10", "×4", "×8"} <= set(words(heat_map(kernel)))


def test_without_executions_the_heat_map_says_so() -> None:
    kernel = without_executions(slowest("matmul-v5e"))
    picture = heat_map(kernel)
    assert "no se sabe" in picture.label and "767" in picture.label
    assert "ejecuciones desconocidas" in words(picture)
    assert timeline(kernel) is None


def test_the_timeline_says_what_is_waited_for_where() -> None:
    picture = timeline(slowest("matmul-v5e"))
    assert picture is not None
    assert "En el paquete 40 empieza una copia de HBM a VMEM. Es para otro paso: la espera en 74" in picture.label
    assert "del paquete 187 al 576" in picture.label
    by_hand = timeline(slowest("own_copies-v5e"))
    assert by_hand is not None and "El mismo paso la espera en 13" in by_hand.label


def test_a_copy_that_crosses_the_step_is_in_flight_on_both_sides() -> None:
    def bars(name: str) -> int:
        picture = timeline(slowest(name))
        assert picture is not None
        return picture.markup.count('rx="2"')

    assert bars("matmul-v5e") == 2 * 3
    assert bars("own_copies-v5e") == 2


def test_a_copy_without_a_wait_is_still_told() -> None:
    kernel = slowest("own_copies-v5e")
    assert kernel.step is not None
    flights = tuple(dataclasses.replace(flight, waits=()) for flight in kernel.step.flights)
    picture = timeline(dataclasses.replace(kernel, step=dataclasses.replace(kernel.step, flights=flights)))
    assert picture is not None
    assert "En el paquete 12 empieza una copia de HBM a VMEM." in picture.label
    assert 'rx="2"' not in picture.markup


def test_lanes_of_the_timeline_are_copies_and_the_units_that_work() -> None:
    picture = timeline(slowest("elementwise-v5e"))
    assert picture is not None
    shown = words(picture)
    assert "MXU" not in shown and "VALU" in shown
    assert [word for word in shown if "op." in word] == ["trae op. 0", "trae op. 1", "lleva op. 2"]


def test_a_program_without_a_loop_has_no_trips() -> None:
    picture = timeline(slowest("mlp-v5e"))
    assert picture is not None
    assert "frecuencia" not in words(picture)
    assert "iteraciones" not in words(picture)[0]


@pytest.mark.parametrize("first", [0, 700])
def test_numbers_on_the_axis_never_touch(first: int) -> None:
    axis = bundle_axis.Axis(first, first + 999)
    ticks = axis.ticks(range(first, first + 999, 7), 10)
    places = sorted(float(match) for match in re.findall(r'<path d="M([\d.]+)', "".join(ticks)))
    assert places[0] == axis.x(first) and places[-1] == axis.x(first + 999)
    assert all(after - before >= bundle_axis.APART for before, after in pairwise(places))


def test_a_learners_name_cannot_become_markup() -> None:
    kernel = dataclasses.replace(slowest("matmul-v5e"), name='<script>"&')
    for picture in drawn(kernel):
        assert "<script" not in picture.markup
        assert '<script>"&' in (ET.fromstring(picture.markup).findtext(f"{SVG}title") or "")
