"""For ``nbgrader autograde`` itself: an executor that judges from outside the learner's process.

In ``nbgrader_config.py``::

    c.Autograde.autograde_preprocessors = [
        "graders.preprocessor.TrustedExecute",
        "nbgrader.preprocessors.SaveAutoGrades",
    ]
    c.TrustedExecute.salt = "…"
"""

from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Unicode

from graders.execute import execute
from graders.kernel import KernelRunner
from graders.lab import read_lab


class TrustedExecute(NbGraderPreprocessor):  # type: ignore[misc]
    """Takes the place of nbgrader's ``Execute``: the assignment's name is the lab's id."""

    salt = Unicode(help="Seeds the hidden inputs; keep it from learners.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Run and judge the notebook. Raises ``ValueError`` without a salt: guessable inputs are no inputs."""
        if not self.salt:
            raise ValueError("TrustedExecute.salt is not set: put a long random text into nbgrader_config.py")
        about = resources["nbgrader"]
        lab = read_lab(about["assignment"])
        lang = nb.metadata.get("sistolica", {}).get("lang", "es")
        runner = KernelRunner()
        try:
            executed = execute(nb, lab, about["student"], self.salt, runner, lang)
        finally:
            runner.close()
        return executed.notebook, resources
