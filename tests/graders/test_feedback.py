"""The learner's page: their language, their points, their outputs made harmless, and nothing else."""

import itertools
import re
from html.parser import HTMLParser

import pytest
from nbformat import v4

from graders.feedback import Feedback, incidents
from graders.learner import LearnerError
from graders.rebuild import ANSWER, EXTRA, MASTER
from graders.report import ExerciseResult, Outcome

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<svg onload=alert(1)>",
    "<iframe src='http://x'></iframe>",
    "<b style='position:fixed' onclick=alert(1)>bold</b>",
    "<form action=http://x><input></form>",
    "<style>main{display:none}</style>",
    "<meta http-equiv=refresh content=0>",
    "</main></body><script>x</script>",
    "<script>window.PWNED=1</script><img src=x onerror=alert(1)>",
    "<svg><a xlink:href='javascript:alert(1)'><text>x</text></a><animate onbegin=alert(1)></svg>",
    "<math><maction actiontype='statusline' xlink:href='javascript:alert(1)'>x</maction></math>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<div style='background:url(javascript:alert(1))'>x</div>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data='data:text/html,x'></object><embed src='x.swf'>",
    "<base href='http://x/'><link rel=stylesheet href=http://x>",
    "<details open ontoggle=alert(1)><summary>x</summary></details>",
    "<video><source onerror=alert(1)></video><audio src=x onerror=alert(1)>",
    "<table background='javascript:alert(1)'><tr><td background=x onclick=alert(1)>x</td></tr></table>",
    "<td colspan='2' onmouseover='alert(1)' id=x class=y>x</td>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<!--><script>alert(1)</script>-->",
    "<scr\0ipt>alert(1)</scr\0ipt><img src=x one\0rror=alert(1)>",
    "<button autofocus onfocus=alert(1)>x</button><select><option>x",
    "<template><script>alert(1)</script></template><slot name=x>",
    '"><script>alert(1)</script>',
]


class Inventory(HTMLParser):
    """Every tag and attribute of a page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.ids = [], set(), []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value for name, value in attrs if name == "id"]


def cell(origin, *outputs, name="add", status="ok"):
    return v4.new_code_cell(
        "x", id=name, outputs=list(outputs), metadata={"sistolica": {"from": origin, "status": status}}
    )


def shown_html(html):
    return v4.new_output("display_data", data={"text/html": html, "text/plain": "plain form"})


def page(tiny, *cells, lang="es", results=(), **more):
    notebook = v4.new_notebook(cells=list(cells))
    return Feedback("Ana <Peña>", lang, 3.5, results=results, notebook=notebook, **more).page(tiny.lab)


RESULTS = (
    ExerciseResult("add", (Outcome("values", 1.0, 1.0), Outcome("large", 0.0, 1.0, hint="large-hint"))),
    ExerciseResult(
        "scale", (Outcome("shape", 0.0, 1.0, hint="shape-hint"), Outcome("values", 0.0, 2.0, after="shape"))
    ),
)


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("es", ["Puntaje: 3,5 de 5", "pista de grandes", "Suma", "✓ Cumple", "✗ Falta", "Primero resuelve «Forma»"]),
        ("pt", ["Pontuação: 3,5 de 5", "dica de grandes", "Soma", "✓ Cumpre", "✗ Falta", "Primeiro resolva “Forma”"]),
    ],
)
def test_points_criteria_and_hints_in_the_learners_language(tiny, lang, said):
    html = page(tiny, lang=lang, results=RESULTS)
    assert all(text in html for text in said)
    assert f'<html lang="{ {"es": "es", "pt": "pt-BR"}[lang] }">' in html
    assert "Ana &lt;Peña&gt;" in html


@pytest.mark.parametrize("hostile", HOSTILE)
def test_nothing_of_theirs_is_live(tiny, hostile):
    def everything(text):
        return page(
            tiny,
            cell(ANSWER, v4.new_output("stream", name="stdout", text=text), shown_html(f"{text}<td>cell</td>")),
            cell(EXTRA, v4.new_output("error", ename=text, evalue=text, traceback=[text]), name="extra-3"),
            results=RESULTS,
            notices=[text],
            refusal=text,
        )

    mine, theirs = Inventory(everything("")), Inventory(everything(hostile))
    structure = {"table", "thead", "tbody", "tr", "td", "th", "b", "p", "ul", "li", "code", "pre", "div"}
    assert set(theirs.tags) - set(mine.tags) <= structure
    assert theirs.attributes - {"colspan", "rowspan"} == mine.attributes
    assert theirs.tags.count("script") == theirs.tags.count("iframe") == 0
    assert theirs.tags.count("style") == theirs.tags.count("main") == 1


def test_tables_survive_and_the_plain_form_stands_in_for_what_does_not(tiny):
    html = page(
        tiny,
        cell(ANSWER, shown_html("<table><tr><td colspan=2>42</td></tr></table>"), shown_html("<script>x</script>")),
    )
    assert '<td colspan="2">42</td>' in html
    assert "plain form" in html


def test_images_are_described_and_embedded(tiny):
    image = v4.new_output("display_data", data={"image/png": "AAAA\nBBBB"})
    assert '<img src="data:image/png;base64,AAAABBBB" alt="Imagen que produjo tu celda add">' in page(
        tiny, cell(ANSWER, image)
    )


def test_only_the_learners_own_cells_are_shown(tiny):
    output = v4.new_output("stream", name="stdout", text="SHOWN")
    assert "SHOWN" in page(tiny, cell(ANSWER, output))
    assert "SHOWN" in page(tiny, cell(EXTRA, output, name="extra-2"))
    assert "SHOWN" not in page(tiny, cell(MASTER, output))


def test_the_page_asks_for_nothing_and_forbids_it_too(tiny):
    html = page(tiny, cell(ANSWER, shown_html("<b>x</b>")), results=RESULTS)
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r"""(?:href|src)=["'](?!data:)|url\(|@import|https?://""", html)


def test_it_prints_and_follows_the_readers_colours(tiny):
    html = page(tiny)
    assert "@media print" in html
    assert "prefers-color-scheme: dark" in html


def test_headings_descend_and_ids_are_unique(tiny):
    html = page(tiny, cell(ANSWER, shown_html("<b>x</b>")), results=RESULTS, notices=["n"], refusal="r")
    inventory = Inventory(html)
    levels = [int(tag[1]) for tag in inventory.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert len(inventory.ids) == len(set(inventory.ids))


def test_a_fault_of_the_course_is_said_and_its_details_are_not(tiny):
    result = ExerciseResult("add", (Outcome("values", 0.0, 1.0, hint="values-hint"),), fault="KeyError: 'answer 41'")
    html = page(tiny, results=[result])
    assert "por un error del curso, no tuyo" in html
    assert "answer 41" not in html


def test_an_error_shows_its_line(tiny):
    error = LearnerError("raised", "add", "IndexError", "", 3, "a[<9>]").to_dict()
    html = page(tiny, results=[ExerciseResult("add", (Outcome("values", 0.0, 1.0, error=error),))])
    assert "IndexError (línea 3: <code>a[&lt;9&gt;]</code>)" in html


@pytest.mark.parametrize(
    ("status", "origin", "said"),
    [
        ("timeout", EXTRA, "La celda agregada en la posición 7 superó el tiempo"),
        ("died", ANSWER, "El kernel se cerró al ejecutar la celda add"),
        ("memory", ANSWER, "La celda add usó más memoria de la permitida"),
        ("flood", MASTER, "escribió demasiado"),
        ("not-run", ANSWER, "no se ejecutó"),
        ("error", ANSWER, "La celda add terminó con un error: SyntaxError: bad (línea 2)"),
        ("error", EXTRA, None),
        ("ok", ANSWER, None),
    ],
)
def test_what_happened_to_a_cell_is_said(status, origin, said):
    error = v4.new_output("error", ename="SyntaxError", evalue="bad (4048331156.py, line 2)", traceback=[])
    name = "extra-7" if origin == EXTRA else "add"
    told = incidents(v4.new_notebook(cells=[cell(origin, error, name=name, status=status)]), (), "es")
    assert (len(told), said is None or said in told[0]) == (int(said is not None), True)
