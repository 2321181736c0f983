"""Before anybody is graded: the reference solution earns everything, and six canaries are stopped.

Both run as a learner's code does. Which canaries must be stopped depends on the kind of confinement; of another one
that lives the instructor is told. A plain kernel stops none, which was said when it was chosen: there the reference is
all.
"""

from contextlib import ExitStack
from itertools import groupby

from nbformat import NotebookNode

from graders.execute import execute
from graders.explain import help_texts
from graders.lab import Lab
from graders.phrases import phrase
from graders.process import CellRun, Runner
from graders.sandbox.canaries import Canary, canaries, promised
from graders.sandbox.choice import Ground
from graders.sandbox.compiled import warm
from graders.sandbox.confinement import Confinement
from graders.sandbox.nursery import Nursery
from graders.seed import PUBLISHED_SALT


class SelfTestError(Exception):
    """Nothing may be graded here. Its text is for the instructor, in their language."""


def self_test(place: Ground, lab: Lab, reference: NotebookNode, lang: str) -> list[str]:
    """What a learner's code can do in ``place`` that this kind of confinement does not promise to stop, in words.

    ``reference``: the notebook with the lab's own answers; what it compiles is kept for learners' processes. Raises
    :class:`SelfTestError`; ``ProcessDiedError``, ``RunnerLostError`` and ``ConfinementError`` where no process starts.
    """
    if place.nursery is None or place.confinement is None:
        _require_full_marks(place.new_runner(), lab, reference, lang)
        return []
    warm(place.nursery, place.confinement, lab, reference, lang)
    _require_full_marks(place.new_runner(), lab, reference, lang)
    return require_confined(place.nursery, place.confinement, lang)


def require_confined(nursery: Nursery, confinement: Confinement, lang: str) -> list[str]:
    """Release the canaries. Gives and raises what :func:`self_test` does."""
    with ExitStack() as made:
        released = canaries(confinement, made)
        runs: dict[str, CellRun] = {}
        for _, together in groupby(released, key=lambda canary: canary.changes):
            runs |= _runs(list(together), nursery, lang)
        alive = [canary.key for canary in released if canary.lived(runs[canary.key])]
    broken = [phrase(key, lang=lang) for key in alive if key in promised(confinement)]
    if broken:
        raise SelfTestError(phrase("sandbox.broken", lang=lang, deeds=", ".join(broken)))
    return [phrase("sandbox.unpromised", lang=lang, deed=phrase(key, lang=lang)) for key in alive]


def _require_full_marks(runner: Runner, lab: Lab, reference: NotebookNode, lang: str) -> None:
    try:
        results = execute(reference, lab, "", PUBLISHED_SALT, runner, lang, published=True).results
    finally:
        runner.close()
    for result in results:
        if result.fault or result.score < result.max_score:
            reason = result.fault or next(filter(None, help_texts(lab, result, lang)))
            said = {"lab": lab.id, "exercise": result.exercise, "reason": reason}
            raise SelfTestError(phrase("sandbox.reference", lang=lang, **said))


def _runs(together: list[Canary], nursery: Nursery, lang: str) -> dict[str, CellRun]:
    """One after the other in one process, which has ended when this returns."""
    process = nursery.runner(**together[0].changes).start(lang)
    try:
        return {canary.key: process.run_cell(canary.cell) for canary in together}
    finally:
        process.close()
