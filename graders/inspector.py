"""Where learners' programs are read: in a process confined as a learner's own is, with nobody's code in it."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from graders.learner import KernelLearner, ProcessDiedError
from graders.learner_error import DIED, GARBLED, TIMEOUT, LearnerError
from graders.process import Process, RunnerLostError

# In an order in which each finds those that it imports.
MODULES = ("dtypes", "loops", "kernel", "tally", "arithmetic", "machine", "execution", "answers")

# Seconds that an answer may take: to read a program, to carry it out, to compile it for a TPU.
SECONDS = {"inspect": 30.0, "call": 60.0, "xray": 300.0}

MOST_DEVICES = 16  # of the CPU, for programs of several

_LOADER = """\
def _load(sources, devices):
    import sys, types
    import jax
    jax.config.update("jax_num_cpu_devices", devices)
    package = sys.modules["graders.inspection"] = types.ModuleType("graders.inspection")
    for name, source in sources.items():
        module = sys.modules["graders.inspection." + name] = types.ModuleType("graders.inspection." + name)
        setattr(package, name, module)
        exec(compile(source, module.__name__, "exec"), module.__dict__)
    return module
"""

_QUESTIONS = ", ".join(SECONDS)


class Inspector:
    """Reads the programs of one learner. ``start`` gives a fresh process, confined as the learner's own.

    The process is kept from one question to the next, and replaced after one that it did not survive. ``lost`` says
    that it ended by no fault of anybody's program: what was judged since then does not count.
    """

    def __init__(self, start: Callable[[], Process]) -> None:
        self._start = start
        self._process: Process | None = None
        self.lost: RunnerLostError | None = None

    def ask(self, question: str, *given: Any) -> Any:
        """The answer of the function ``question`` of :mod:`graders.inspection.answers`, in plain data.

        Raises :class:`LearnerError`: what the process, which runs nothing but that, failed at.
        """
        learner = KernelLearner(self._ask, None, SECONDS[question])
        try:
            return learner.call(question, *given)
        except LearnerError as error:
            if error.kind in (TIMEOUT, DIED, GARBLED):
                self.close()
            raise

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def _ask(self, request: str, timeout_s: float) -> str:
        try:
            if self._process is None:
                self._process = self._start()
                loaded = self._process.run_cell(_cell())
                if loaded.status != "ok":
                    raise InspectorError(f"what reads programs did not load: {loaded.status} {loaded.outputs}")
            return self._process.ask(request, timeout_s)
        except RunnerLostError as lost:  # the check must not see it: a check's exception is a fault of the check
            self.lost = lost
            raise ProcessDiedError from lost


class InspectorError(Exception):
    """The machine cannot read programs at all; no learner's fault."""


@cache
def _cell() -> str:
    folder = Path(__file__).with_name("inspection")
    sources = {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in MODULES}
    names = ", ".join(f"_answers.{name}" for name in SECONDS)
    return f"{_LOADER}\n_answers = _load({sources!r}, {MOST_DEVICES})\n{_QUESTIONS} = {names}\n"
