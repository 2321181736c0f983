"""``nbgrader autograde`` itself, told to use our executor: the scores that ``sistolica grade`` gives."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat

from graders.gradebook import CourseGradebook
from sistolica.lesson.lab import handed_in, lab_notebook, wrong_solutions
from sistolica.project import find_project

PROJECT = find_project(Path(__file__))
EXECUTOR = """
c.Autograde.autograde_preprocessors = [
    "graders.preprocessor.TrustedExecute",
    "nbgrader.preprocessors.SaveAutoGrades",
]
c.TrustedExecute.salt = "a salt of this test"
"""


def test_nbgraders_command_with_our_executor_gives_our_scores(tmp_path):
    wrong = wrong_solutions(PROJECT, "matmul")
    ends = {"jax": "import os\nos._exit(1)"}
    with CourseGradebook(tmp_path, "matmul") as gradebook:
        gradebook.assign(lab_notebook(PROJECT, "matmul", "es", "source"))
    config = tmp_path / "nbgrader_config.py"
    config.write_text(config.read_text() + EXECUTOR)
    for learner, lang, answers in (("ana", "es", wrong["ragged_edges"]), ("bia", "pt", {}), ("caio", "pt", ends)):
        path = tmp_path / "submitted" / learner / "matmul" / "matmul.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(handed_in(PROJECT, "matmul", lang, answers), path)
    run = subprocess.run(
        [sys.executable, "-m", "nbgrader", "autograde", "matmul"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    with CourseGradebook(tmp_path, "matmul") as gradebook:
        # As the wrong solutions' headers say, to which sistolica grade is held; what stood before the exit counts.
        assert {learner: gradebook.enrol(learner) for learner in ("ana", "bia", "caio")} == {
            "ana": 9.0,
            "bia": 10.0,
            "caio": 6.5,
        }
