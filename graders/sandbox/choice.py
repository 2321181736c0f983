"""How learners' processes are started on this machine: as contained as can be, and said where that is not whole."""

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graders.kernel import KernelRunner
from graders.phrases import phrase
from graders.process import SINGLE_THREADED, Limits, Runner
from graders.sandbox import accelerators
from graders.sandbox.compiled import programs_folder
from graders.sandbox.confinement import Confinement
from graders.sandbox.nursery import Nursery
from graders.sandbox.permitted import permitted

Say = Callable[[str], None]


class NotContainedError(Exception):
    """The whole sandbox was required and is not to be had. Its argument says what is missing, in one line."""


@dataclass(frozen=True)
class Ground:
    """Where learners' code runs: ``new_runner`` gives each worker its own way of starting it.

    ``nursery`` and ``confinement`` are ``None`` where a plain kernel has to do.
    """

    new_runner: Callable[[], Runner]
    nursery: Nursery | None = None
    confinement: Confinement | None = None

    @property
    def one_at_a_time(self) -> bool:
        """Whether learners share one count of processes: what one of them takes, another lacks."""
        return self.confinement is not None and "pids" not in self.confinement.parts


@contextlib.contextmanager
def ground(
    say: Say,
    lang: str | None = None,
    modules: Sequence[str] = (),
    backend: str = "auto",
    required: bool = False,
    limits: Limits | None = None,
) -> Iterator[Ground]:
    """The best ground that this machine has, for as long as the context lasts.

    ``say`` is given a sentence in ``lang`` for each thing that is missing. ``modules``: what the lab's own cells
    import. Raises :class:`NotContainedError` if anything is missing and ``required``.
    """
    if sys.platform != "linux":  # no namespaces; and a process that has loaded its numerical libraries cannot be forked
        lacking = [phrase("nursery.kernel", lang=lang, system=sys.platform)]
        _require(lacking, required, lang)
        say(lacking[0])
        yield Ground(lambda: KernelRunner(limits))
        return
    allowed = permitted()
    lacking = [missing.text(lang) for missing in allowed.missing]
    _require(lacking, required, lang)
    for sentence in lacking:
        say(sentence)
    with contextlib.ExitStack() as stack:
        backend = accelerators.chosen(backend)
        confinement = allowed.confinement(**_options(backend), **_home(allowed.kind, stack))

        def tell(key: str, values: Mapping[str, object]) -> None:
            say(phrase(key, lang=lang, **values))

        nursery = stack.enter_context(Nursery(confinement, modules, limits, backend, tell))
        yield Ground(nursery.runner, nursery, confinement)


def _require(lacking: Sequence[str], required: bool, lang: str | None) -> None:
    if required and lacking:
        raise NotContainedError(phrase("nursery.required", lang=lang, reasons=" ".join(lacking)))


def _options(backend: str) -> dict[str, Any]:
    programs = programs_folder(backend)
    options: dict[str, Any] = {
        "environment": SINGLE_THREADED,
        "cache": None if programs is None else str(programs),
    }
    if backend != "cpu":
        accelerator = accelerators.ACCELERATORS[backend]
        options["environment"] = {
            **SINGLE_THREADED,
            "JAX_PLATFORMS": accelerator.platforms,
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        }
        options["devices"] = accelerator.devices()
        options["memory_bytes"] = accelerators.MEMORY_BYTES
    return options


def _home(kind: str, stack: contextlib.ExitStack) -> dict[str, str]:
    """Without a file system of their own, learners' folders are made in one of ours."""
    if kind != "limits":
        return {}
    folder = tempfile.TemporaryDirectory(prefix="learners-", ignore_cleanup_errors=True)
    return {"home": stack.enter_context(folder)}
