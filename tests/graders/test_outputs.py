"""A cell's outputs, kept small and harmless."""

import base64

import pytest
from nbformat import v4

from graders.outputs import MAX_IMAGE, MAX_OUTPUTS, MAX_TEXT, OutputBox, fitting
from graders.printable import plain_text

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()


def stream(written, name="stdout"):
    return "stream", {"name": name, "text": written}


def collect(*messages, lang="es"):
    box = OutputBox(lang)
    for kind, content in messages:
        box.add(kind, content)
    return box.finished()


def test_streams_are_joined_while_they_are_the_same():
    outputs = collect(stream("a"), stream("b"), stream("e", "stderr"), stream("c"))
    assert [(output.name, output.text) for output in outputs] == [("stdout", "ab"), ("stderr", "e"), ("stdout", "c")]


@pytest.mark.parametrize(("lang", "said"), [("es", "… 99990 líneas omitidas\n"), ("pt", "… 99990 linhas omitidas\n")])
def test_a_flood_is_cut_and_the_lines_left_out_are_counted(lang, said):
    outputs = collect(stream("x" * (MAX_TEXT - 1) + "\n"), stream("z\n" * 49_990), stream("z\n" * 50_000), lang=lang)
    assert outputs[-1].text == said
    assert sum(len(output.text) for output in outputs) < MAX_TEXT + 100


def test_a_single_endless_line_is_cut():
    outputs = collect(stream("x" * (40 * 2**20)))
    assert len(outputs[0].text) == MAX_TEXT
    assert outputs[1].text == "… 1 línea omitida\n"


def test_the_cap_is_the_cells_not_each_outputs():
    big = {"data": {"text/plain": "x" * MAX_TEXT}}
    outputs = collect(*[("display_data", big)] * 3)
    assert sum(len(output.get("data", {}).get("text/plain", "")) for output in outputs) == MAX_TEXT


def test_there_is_a_cap_on_how_many():
    assert len(collect(*[("display_data", {"data": {"text/plain": "x"}})] * 500)) == MAX_OUTPUTS


def test_only_what_can_be_shown_is_kept():
    data = {
        "text/plain": "p",
        "text/html": "<b>",
        "image/png": PNG,
        "application/javascript": "x",
        "image/svg+xml": "<",
    }
    (output,) = collect(("execute_result", {"data": data}))
    assert set(output.data) == {"text/plain", "text/html", "image/png"}
    assert output.output_type == "display_data"


@pytest.mark.parametrize(
    "encoded", ["!!", base64.b64encode(b"<svg onload=x>").decode(), PNG + "A" * MAX_IMAGE, 3, None, ["x"]]
)
def test_what_only_says_that_it_is_an_image_is_dropped(encoded):
    assert collect(("display_data", {"data": {"image/png": encoded}})) == []


@pytest.mark.parametrize("content", [{}, {"data": None}, {"data": []}, {"data": {"text/plain": None}}])
def test_a_message_out_of_shape_is_dropped(content):
    assert collect(("display_data", content)) == []


def test_an_error_keeps_its_name_and_trace_without_escapes():
    content = {"ename": "\x1b[31mE\x1b[0m", "evalue": "v", "traceback": ["\x1b]0;title\x07a", "b"]}
    (output,) = collect(("error", content))
    assert (output.ename, output.evalue, output.traceback) == ("E", "v", ["a\nb"])


@pytest.mark.parametrize(
    ("written", "plain"),
    [("a\x1b[1;31mb\x1b[0m", "ab"), ("a\x08\x7f\0b\r\n", "ab\n"), ("a\x1b]8;;http://x\x1b\\b", "ab"), ("\ud800", "?")],
)
def test_text_has_no_control_characters(written, plain):
    assert plain_text(written) == plain


def test_what_a_page_of_html_could_do_is_gone_before_it_is_kept():
    hostile = "<script>alert(1)</script><img src=x onerror=alert(2)><table><tr><td onclick=x>1</td></tr></table>"
    (output,) = collect(("display_data", {"data": {"text/html": hostile, "text/plain": "p"}}))
    assert output.data == {"text/html": "<table><tbody><tr><td>1</td></tr></tbody></table>", "text/plain": "p"}
    assert collect(("display_data", {"data": {"text/html": "<script>alert(1)</script>"}})) == []


def test_what_does_not_fit_gives_way_to_one_line():
    outputs = [v4.new_output("stream", text="x" * 100) for _ in range(3)]
    kept, room = fitting(outputs, 400, "pt")
    assert [output.text[:1] for output in kept] == ["x", "x", "…"]
    assert "o que vem depois foi omitido" in kept[-1].text
    assert room == 0
    assert fitting(outputs, 0, "pt") == ([], 0)
    kept, room = fitting(outputs[:1], 400, "pt")
    assert (kept, 0 < room < 300) == (outputs[:1], True)
