"""The submissions that are graded: right ones, wrong ones, one with a syntax error, one that ends its process."""

import random
from dataclasses import dataclass

from nbformat import NotebookNode

from graders.lab import read_lab
from sistolica.lesson.lab import handed_in, wrong_solutions
from sistolica.project import Project
from tpu_kernels.messages import LANGUAGES

RIGHT, EXITS, SYNTAX_ERROR = "right", "exits", "syntax_error"
SEED = 20
# One would only measure nbgrader's time limit, 30 s for each of its cells; the other knows the published inputs, which
# are the ones that a check in the learner's own kernel has.
LEFT_OUT = {"infinite_loop", "hard_coded"}
_RIGHT_SHARE = 0.5


@dataclass(frozen=True)
class Sample:
    """One submission, as a learner saves it: ``kind`` is the name of a wrong solution, ``right`` or ``exits``."""

    learner: str
    kind: str
    notebook: NotebookNode


def sample(project: Project, lab_id: str, count: int) -> list[Sample]:
    """``count`` submissions, the same for the same count, the languages in turns."""
    lab = read_lab(lab_id, project.labs)
    wrong = {name: cells for name, cells in wrong_solutions(project, lab_id).items() if name not in LEFT_OUT}
    last = list(lab.exercises)[-1]
    answers = {RIGHT: {}, EXITS: {last: "import os\nos._exit(1)"}, **wrong}
    draw = random.Random(SEED)
    kinds = [EXITS, *({SYNTAX_ERROR} & set(wrong))][:count]
    mistakes = sorted(set(wrong) - {SYNTAX_ERROR})
    while len(kinds) < count:
        kinds.append(RIGHT if draw.random() < _RIGHT_SHARE or not mistakes else draw.choice(mistakes))
    draw.shuffle(kinds)
    found = []
    for number, kind in enumerate(kinds):
        lang = LANGUAGES[number % len(LANGUAGES)]
        found.append(Sample(f"learner-{number:03}", kind, handed_in(project, lab_id, lang, answers[kind])))
    return found
