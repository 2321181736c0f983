"""Every attack handed in by a learner of its own, between two honest ones, and graded in one batch."""

import csv
import sysconfig
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
import pytest

from graders.batch import Batch, Grade, Masters
from graders.intake import read_submissions
from graders.lab import Lab, read_lab
from graders.process import SINGLE_THREADED, Limits
from graders.sandbox.compiled import warm
from graders.sandbox.confinement import Confinement
from graders.sandbox.nursery import Nursery
from graders.sandbox.permitted import permitted
from sistolica.lesson.lab import handed_in, lab_notebook
from tests.graders.attacks.attack import PAYLOADS, PROJECT, Attack
from tests.graders.attacks.course import FIRST, LAST, VARIABLE, Course, Listeners, Snapshot, marked, running

# Small and quick, so that bombs cost little; the times are those of a wrong answer, the right ones are far below.
LIMITS = Limits(cell_s=60, grace_s=0.5)
SMALL = {"memory_bytes": 700 * 2**20, "processes": 64, "scratch_bytes": 32 * 2**20}
NAIVE_S = 1.5


@dataclass(frozen=True)
class Battle:
    """What came of the batch, and the same honest learners graded with nobody beside them."""

    course: Course
    grades: dict[str, Grade]
    rows: dict[str, dict[str, str]]
    alone: dict[str, Grade]
    alone_out: Path
    before: Snapshot
    after: Snapshot
    reached: list[str]
    left_running: list[str]
    left_files: list[Path]

    def page(self, learner: str, out: Path | None = None) -> str:
        """The learner's feedback."""
        return ((out or self.course.out) / "feedback" / f"{self.grades[learner].key}.html").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return Course(tmp_path_factory.mktemp("curso"), Path(sysconfig.get_path("purelib")))


@pytest.fixture(scope="session")
def lab() -> Lab:
    """The matmul lab, but for its patience."""
    found = read_lab("matmul", PROJECT.labs)
    naive = replace(found.exercises["naive"], time_limit_s=NAIVE_S)
    return replace(found, exercises={**found.exercises, "naive": naive})


@pytest.fixture(scope="session")
def confinement(course: Course) -> Confinement:
    """The best that this machine has; every learner's process bears the course's mark."""
    best = permitted()
    if best.kind == "limits":
        pytest.skip(f"no namespaces here: {[missing.reason for missing in best.missing]}")
    environment = {**SINGLE_THREADED, "MARK": course.mark}
    return best.confinement(environment=environment, cache=str(course.programs), **SMALL)


@pytest.fixture(scope="session")
def nursery(confinement: Confinement) -> Iterator[Nursery]:
    with Nursery(confinement, ["tpu_kernels.models.hardware"], LIMITS) as made:
        yield made


@pytest.fixture(scope="session")
def battle(course: Course, lab: Lab, confinement: Confinement, nursery: Nursery) -> Iterator[Battle]:
    # Where no control group counts processes, learners at the same time have one number of them together.
    workers = 2 if "pids" in confinement.parts else 1
    attacks = [Attack.read(path) for path in sorted(PAYLOADS.glob("*.py"))]
    masters = Masters(
        {lang: lab_notebook(PROJECT, "matmul", lang, "release") for lang in ("es", "pt")},
        lab_notebook(PROJECT, "matmul", "es", "source"),
    )
    for learner, lang in ((FIRST, "es"), (LAST, "pt")):
        hand_in_honestly(course.submissions / learner, lang, course)

    def graded(out: Path) -> dict[str, Grade]:
        found = read_submissions(course.submissions, "matmul", masters.grade_ids)
        batch = Batch(lab, masters, out, "es", nursery.runner, course.tokens["salt"], workers)
        return {grade.learner: grade for grade in batch.run(found)}

    warm(nursery, confinement, lab, handed_in(PROJECT, "matmul", "es"), "es")
    alone_out = course.out.with_name("solos")
    alone = graded(alone_out)
    with ExitStack() as made:
        listeners = made.enter_context(Listeners(course.submissions.parent, course.mark))
        environment = made.enter_context(pytest.MonkeyPatch.context())
        environment.setenv(VARIABLE, course.tokens["environment"])
        for attack in attacks:
            attack.hand_in(course.submissions / attack.name, "es", course.known(listeners))
        before = Snapshot.of(course)
        grades = graded(course.out)
        yield Battle(
            course,
            {name_of(learner, attacks): grade for learner, grade in grades.items()},
            rows_of(course.out, attacks),
            alone,
            alone_out,
            before,
            Snapshot.of(course),
            listeners.reached(),
            running(course),
            marked(course),
        )


def hand_in_honestly(folder: Path, lang: str, course: Course) -> None:
    notebook = handed_in(PROJECT, "matmul", lang)
    notebook.cells[0].source += f"\n\n{course.tokens['neighbour']}"
    folder.mkdir(parents=True)
    (folder / "matmul.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")


def name_of(learner: str, attacks: list[Attack]) -> str:
    """Of the attack: a hostile name only begins with it."""
    names = [attack.name for attack in attacks if learner.startswith(attack.name)]
    return max(names, key=len, default=learner)


def rows_of(out: Path, attacks: list[Attack]) -> dict[str, dict[str, str]]:
    with (out / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        return {name_of(row["learner"], attacks): row for row in csv.DictReader(file)}
