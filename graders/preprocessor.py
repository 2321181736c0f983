"""For ``nbgrader autograde`` itself: an executor that judges from outside the learner's process.

In ``nbgrader_config.py``::

    c.Autograde.autograde_preprocessors = [
        "graders.preprocessor.TrustedExecute",
        "nbgrader.preprocessors.SaveAutoGrades",
    ]
    c.TrustedExecute.salt = "…"
"""

import atexit
import logging
from contextlib import ExitStack
from functools import cache
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Unicode

from graders.execute import execute
from graders.lab import read_lab
from graders.process import Runner
from graders.sandbox.choice import ground


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
        executed = execute(nb, lab, about["student"], self.salt, _runner(), lang)
        return executed.notebook, resources


@cache
def _runner() -> Runner:
    """One for the whole process, which nbgrader starts for one learner or for hundreds."""
    stack = ExitStack()
    atexit.register(stack.close)
    log = logging.getLogger(__name__)
    return stack.enter_context(ground(log.warning)).new_runner()
