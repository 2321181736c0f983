"""Where learners' code is contained the six canaries are stopped, and a reference that is wrong is found out."""

import pytest

from graders.sandbox.choice import Ground
from graders.sandbox.self_test import SelfTestError, self_test
from sistolica.lesson.lab import handed_in, wrong_solutions
from tests.graders.attacks.attack import PROJECT


@pytest.fixture
def here(nursery, confinement):
    return Ground(nursery.runner, nursery, confinement)


def test_the_reference_earns_everything_and_six_canaries_are_stopped(here, lab, course):
    assert self_test(here, lab, handed_in(PROJECT, "matmul", "pt"), "pt") == []
    assert [path for path in course.programs.iterdir() if "canary" in path.name] == []


REFUSALS = {
    "es": "La solución de referencia de matmul no obtiene todos los puntos en este equipo, en el ejercicio blocked:",
    "pt": "A solução de referência de matmul não obtém todos os pontos nesta máquina, no exercício blocked:",
}


@pytest.mark.parametrize(("lang", "said"), REFUSALS.items())
def test_a_reference_that_loses_a_point_ends_the_grading_and_the_exercise_is_named(here, lab, course, lang, said):
    before = {path.name for path in course.programs.iterdir()}
    broken = handed_in(PROJECT, "matmul", lang, wrong_solutions(PROJECT, "matmul")["ragged_edges"])
    with pytest.raises(SelfTestError) as refusal:
        self_test(here, lab, broken, lang)
    assert str(refusal.value).startswith(said)
    assert {path.name for path in course.programs.iterdir()} == before  # nothing of it is kept
