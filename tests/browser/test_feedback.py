"""The learner's feedback in a real browser: nothing of theirs runs, everybody can read it, on a phone too."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from nbformat import v4

from graders.feedback import Feedback
from graders.lab import read_lab
from graders.learner_error import LearnerError
from graders.outputs import OutputBox
from graders.report import ExerciseResult, Outcome

pytestmark = pytest.mark.browser

PHONE = {"width": 360, "height": 740}
# Each one sets PWNED, or asks for something elsewhere, in a page that lets it.
LIVE = [
    "<script>window.PWNED=1</script>",
    "<img src=x onerror='window.PWNED=1'>",
    "<svg onload='window.PWNED=1'><script>window.PWNED=1</script></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror='window.PWNED=1'>",
    "<iframe srcdoc='<script>parent.PWNED=1</script>'></iframe>",
    "<details open ontoggle='window.PWNED=1'><summary>x</summary></details>",
    "<div style='background:url(http://127.0.0.1:1/x)'>x</div><style>main{background:url(http://127.0.0.1:1/y)}</style>",
    "<meta http-equiv=refresh content='0;url=data:text/html,x'>",
    "<input autofocus onfocus='window.PWNED=1'>",
    "<!--><script>window.PWNED=1</script>-->",
    '"><script>window.PWNED=1</script>',
    "</pre></main><script>window.PWNED=1</script>",
]


@pytest.fixture(scope="module")
def pages(project, tmp_path_factory):
    """A page in each language with everything on it: every kind of mishap, and outputs that attack."""
    folder = tmp_path_factory.mktemp("feedback")
    lab = read_lab("matmul", project.labs)
    text = "".join(LIVE)
    for lang in ("es", "pt"):
        box = OutputBox(lang)
        box.add("stream", {"name": "stdout", "text": f"{'x' * 500}\n\x1b[31m{text}\x1b[0m\u202e\0"})
        for live in LIVE:
            box.add(
                "display_data", {"data": {"text/html": f"{live}<table><tr><th>m</th></tr><tr><td>1</td></tr></table>"}}
            )
        box.add("error", {"ename": text, "evalue": text, "traceback": [text]})
        (folder / f"{lang}.html").write_text(
            Feedback(
                f"Ana {text}",
                lang,
                1.5,
                results=[_result(lab, key, number) for number, key in enumerate(lab.exercises)],
                notices=[text, "`código`"],
                refusal=text,
                notebook=v4.new_notebook(
                    cells=[
                        v4.new_code_cell(
                            "x", id="naive", metadata={"sistolica": {"from": "answer"}}, outputs=box.finished()
                        )
                    ]
                ),
            ).page(lab),
            encoding="utf-8",
        )
    return folder


def _result(lab, exercise, number):
    """Right, wrong with hints, raised, timed out: by ``number``."""
    errors = [None, None, LearnerError("raised", "f", "IndexError", "", 3, "a[<9>]"), LearnerError("timeout", "f")]
    error = errors[number].to_dict() if errors[number] else None
    return ExerciseResult(
        exercise,
        tuple(
            Outcome(key, most if number == 0 else 0.0, most, hint=f"{key}-hint", error=error)
            for key, most in lab.exercises[exercise].criteria.items()
        ),
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("lang", ["es", "pt"])
def test_everybody_can_read_it_and_nothing_of_theirs_runs(pages, open_context, lang, scheme):
    page = open_context(color_scheme=scheme).new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    address = f"file://{pages}/{lang}.html"
    page.goto(address)
    assert [url for url in asked if not url.startswith("data:")] == [address]
    assert page.evaluate("window.PWNED") is None
    assert page.locator("script, iframe, style:not(head style), [onload], [onerror], [style]").count() == 0
    assert page.evaluate("getComputedStyle(document.querySelector('main')).maxWidth") == "800px"  # its own style holds
    for size in ({"width": 1000, "height": 800}, PHONE):
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        assert [found["id"] for found in Axe().run(page).response["violations"]] == []
    page.close()


def test_a_printed_page_hides_nothing(pages, open_context):
    page = open_context().new_page()
    page.goto(f"file://{pages}/es.html")
    page.emulate_media(media="print")
    assert page.evaluate(
        "[...document.querySelectorAll('.output')].every((box) => box.scrollHeight <= box.clientHeight)"
    )
    page.close()
