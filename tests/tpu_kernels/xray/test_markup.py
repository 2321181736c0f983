"""Reports as HTML: whole, escaped, in both languages, with nothing fetched from anywhere."""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

from tests.tpu_kernels.xray import stored
from tpu_kernels import messages
from tpu_kernels.xray.collectives import Collective
from tpu_kernels.xray.record import Cycles
from tpu_kernels.xray.report import Report

EMPTY = {"meta", "path", "rect", "wbr"}


class Outline(HTMLParser):
    """Tags, attributes and words of a document; a tag that is not closed, or closes another, is a fault."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: dict[str, list[str]] = {}
        self.words: list[str] = []
        self.feed(document)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value or "")
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " "))


@pytest.mark.parametrize("name", ["matmul-v5e", "matmul-v4", "alike-v6e", "chosen_rows-v5e", "softmax-v6e"])
@pytest.mark.parametrize(("lang", "tag", "bound"), [("es", "es", "cuello de botella"), ("pt", "pt-BR", "gargalo")])
def test_a_page_is_whole_and_fetches_nothing(name: str, lang: str, tag: str, bound: str) -> None:
    messages.use(lang)
    report = stored.report(name)
    page = Outline(report.html())
    assert page.attributes["lang"] == [tag]
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert not {"src", "href", "onclick"} & set(page.attributes)
    assert page.tags.count("h1") == 1
    assert page.tags.count("caption") >= 3
    assert page.tags.count("svg") == 2
    assert bound in page.words
    assert not any("None" in word or "{cycles}" in word for word in page.words)


def test_the_figures_stand_with_who_found_them() -> None:
    page = Outline(stored.report("matmul-v5e").html())
    assert page.words[page.words.index("11 569") + 1] == "simulados por el compilador"
    assert {"7,71 µs", "41,5 %", "latencia", "4 MiB"} <= set(page.words)
    modelled = Outline(stored.report("matmul-v4").html())
    assert any(word.startswith("de nuestro modelo, porque") for word in modelled.words)


def test_each_picture_scrolls_on_a_phone_over_a_caption_that_says_how_to_read_it() -> None:
    shown = stored.report("matmul-v5e")._repr_html_()
    figures = re.findall(r"<figure.*?</figure>", shown, re.DOTALL)
    assert len(figures) == 2
    for figure, said in zip(figures, ("VALU: elemento a elemento", "El corchete sobre la MXU"), strict=True):
        scroller, caption = figure.split("<figcaption")
        assert Outline(scroller.removeprefix('<figure style="margin:0">')).tags[:3] == ["div", "div", "svg"]
        assert 'tabindex="0"' in scroller and "overflow-x:auto" in scroller and "min-width:460px" in scroller
        assert said in caption
    assert "no tiempo" in figures[1].split("<figcaption")[1]
    assert "El corchete" not in stored.report("elementwise-v5e")._repr_html_()


def test_advice_moves_and_versions_are_told() -> None:
    words = " ".join(Outline(stored.report("matmul-tpu7x").html()).words)
    assert "XLA copia 1 MiB de HBM a VMEM" in words
    assert "jax 0.10.2, jaxlib 0.10.2, libtpu 0.0.42.1" in words
    assert "ni la lectura de instrucciones" in " ".join(Outline(stored.report("matmul-v5e").html()).words)


def test_a_program_for_many_devices_tells_what_they_exchange() -> None:
    exchange = Collective(
        "all-reduce.1",
        "all-reduce",
        "<step>.py:7",
        "f32",
        4096,
        4096,
        1,
        4,
        "[1,4]<=[4]",
        {"x": 2, "y": 2},
        3,
        True,
        1e-6,
    )
    sound = stored.report("matmul-v5e")
    page = Outline(dataclasses.replace(sound, devices=4, chips=4, mesh={"<rows>": 4}, collectives=(exchange,)).html())
    assert any("malla: <rows>=4" in word for word in page.words)
    assert {"all-reduce", "<step>.py:7", "1 x 4"} <= set(page.words)
    assert "all-reduce" not in Outline(sound.html()).words


def test_a_notebook_gets_a_fragment() -> None:
    fragment = stored.report("matmul-v5e")._repr_html_()
    assert "<html" not in fragment and "<style" not in fragment
    assert Outline(fragment).tags[:2] == ["section", "h2"]


def test_everything_that_comes_from_the_learner_is_escaped() -> None:
    sound = stored.report("alike-v6e")
    evil = "<img src=x onerror=alert(1)>"
    kernels = tuple(
        dataclasses.replace(one, name=f"{evil}{n}", where=evil, operation=evil) for n, one in enumerate(sound.kernels)
    )
    report = dataclasses.replace(sound, name=evil, kernels=kernels)
    for shown in (Outline(report.html()), Outline(report._repr_html_())):
        assert "img" not in shown.tags and not {"src", "onerror"} & set(shown.attributes)
        assert any(evil in word for word in shown.words)


def test_pictures_are_well_formed_and_text_keeps_its_direction_whatever_names_hold() -> None:
    sound = stored.report("matmul-v5e")
    evil = "\x00\x0b\u202e" + "W" * 300
    (kernel,) = sound.kernels
    report = dataclasses.replace(sound, name=evil, kernels=(dataclasses.replace(kernel, name=evil, where=evil),))
    for shown in (report.html(), report._repr_html_()):
        pictures = re.findall(r"<svg.*?</svg>", shown, re.DOTALL)
        assert len(pictures) == 2
        for picture in pictures:
            ElementTree.fromstring(picture)
        assert not set("\x00\x0b\u202e") & set(shown)
        assert "W" * 300 in shown


def test_a_report_without_cycles_or_kernels_is_still_a_page() -> None:
    sound = stored.report("matmul-v5e")
    bare = dataclasses.replace(
        sound, cycles=Cycles(None, "modelled", "steps"), seconds=None, of_peak=None, of_roofline=None, kernels=()
    )
    page = Outline(bare.html())
    assert "svg" not in page.tags
    assert any(word.startswith("Ciclos desconocidos: el programa no tiene kernels") for word in page.words)


def test_what_cannot_be_compared_says_why() -> None:
    words = Outline(stored.report("elementwise-v5e").html()).words
    assert any(word.startswith("No multiplica matrices") for word in words)
    assert any(word.startswith("Parte del roofline: desconocida") for word in words)


def test_a_terminal_shows_the_text() -> None:
    from IPython.lib.pretty import pretty

    report: Report = stored.report("matmul-v5e")
    assert pretty(report) == report.text()
