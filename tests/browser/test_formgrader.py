"""nbgrader's own formgrader opens the gradebook that we write, and what a learner showed does not run in it."""

import os
import re
import subprocess
import sys

import nbformat
import pytest
from nbformat import v4

from graders.gradebook import CourseGradebook
from graders.outputs import OutputBox
from sistolica.lesson.lab import handed_in, lab_notebook

pytestmark = pytest.mark.browser

SCORES = {"naive-check": "2.5", "blocked-check": "3.0", "jax-check": "0.0", "flops-check": "1.0"}
LIVE = "<script>window.PWNED=1</script><img src=x onerror='window.PWNED=1'><svg onload='window.PWNED=1'>"
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/")


@pytest.fixture(scope="module")
def course(project, tmp_path_factory):
    """A gradebook with one submission, whose outputs attack the instructor."""
    notebook = handed_in(project, "matmul", "pt")
    executed = nbformat.from_dict(notebook)
    box = OutputBox("pt")
    box.add("stream", {"name": "stdout", "text": LIVE})
    box.add("display_data", {"data": {"text/html": f"{LIVE}<b>bold</b>", "application/javascript": "window.PWNED=1"}})
    box.add("error", {"ename": LIVE, "evalue": LIVE, "traceback": [LIVE]})
    for cell in executed.cells:
        if cell.id == "naive":
            cell.outputs = box.finished()
        if cell.id in SCORES:
            cell.outputs = [v4.new_output("execute_result", data={"text/plain": SCORES[cell.id]}, execution_count=None)]
    folder = tmp_path_factory.mktemp("gradebook")
    with CourseGradebook(folder, "matmul") as gradebook:
        gradebook.assign(lab_notebook(project, "matmul", "es", "source"))
        assert gradebook.record("ana", notebook, executed) == 6.5
    return folder


@pytest.fixture(scope="module")
def formgrader(course, tmp_path_factory):
    """The address of a Jupyter server in the course's folder, with nbgrader's extension and nothing of this user's."""
    own = tmp_path_factory.mktemp("jupyter")
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", "--ServerApp.port=0"),
            *("--ServerApp.ip=127.0.0.1", "--IdentityProvider.token="),
            "--ServerApp.jpserver_extensions={'nbgrader.server_extensions.formgrader': True}",
        ],
        cwd=course,
        env={**os.environ, "HOME": str(own), "JUPYTER_CONFIG_DIR": str(own), "JUPYTER_RUNTIME_DIR": str(own)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = []
    for line in server.stderr:
        said.append(line)
        if ADDRESS.search(line):
            break
    address = ADDRESS.search(said[-1])
    assert address, "".join(said)
    yield f"{address.group()}formgrader"
    server.terminate()
    server.communicate()


def test_formgrader_shows_the_scores_and_runs_nothing_of_theirs(formgrader, open_context):
    page = open_context().new_page()
    page.route(re.compile(r"^https?://(?!127\.0\.0\.1)"), lambda route: route.abort())  # nbgrader fetches MathJax
    page.goto(f"{formgrader}/gradebook/matmul/matmul")
    row = page.locator("tbody tr", has_text="Submission #1")
    assert "6.5 / 10" in row.inner_text()
    row.get_by_role("link").first.click()
    page.wait_for_function(
        "count => [...document.querySelectorAll('input.score')].filter((box) => box.placeholder).length === count",
        arg=len(SCORES),
    )
    assert page.evaluate("window.PWNED") is None
    assert "window.PWNED=1" in page.inner_text("body")  # as text
    assert page.locator("b", has_text="bold").count() == 1
    scores = [float(box.get_attribute("placeholder")) for box in page.locator("input.score").all()]
    assert scores == [float(score) for score in SCORES.values()]
    page.close()
