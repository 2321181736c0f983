"""What this machine lets a grader do to contain a learner: found out by doing it."""

import functools
import tempfile
from dataclasses import dataclass, replace
from typing import Any

from graders.phrases import phrase
from graders.sandbox.attempt import attempt
from graders.sandbox.confinement import LEARNER_UID, PARTS, Confinement, ConfinementError

_LOST = {
    "memory": "sandbox.no-memory",
    "pids": "sandbox.no-pids",
    "network": "sandbox.no-network",
    "proc": "sandbox.no-proc",
    "seccomp": "sandbox.no-seccomp",
}


@dataclass(frozen=True)
class Missing:
    """Something that a whole confinement has and this machine's lacks: the key of what to say of it, and the reason."""

    key: str
    reason: str

    def text(self, lang: str | None = None) -> str:
        """What it means for the instructor, and what to do about it."""
        return phrase(self.key, lang=lang, reason=self.reason)


@dataclass(frozen=True)
class Permitted:
    """The best kind of confinement here, which of its parts there are, a learner's user, and what is missing."""

    kind: str
    parts: tuple[str, ...]
    uid: int | None
    missing: tuple[Missing, ...]

    def confinement(self, **options: Any) -> Confinement:
        """One of this kind; ``options`` as for :meth:`Confinement.for_this_python`."""
        return Confinement.for_this_python(self.kind, parts=self.parts, uid=self.uid, **options)


@functools.cache
def permitted() -> Permitted:
    """What can be had here. Raises :class:`ConfinementError` where nothing can: on another system than Linux."""
    reasons = []
    for kind in ("root", "user"):
        try:
            return _with_parts_there_are(Confinement.for_this_python(kind))
        except ConfinementError as error:
            reasons.append(error.reason)
    missing = [Missing("sandbox.no-namespaces", reasons[-1])]
    # Without namespaces there is no network of one's own, nor another view of processes: the first notice says so.
    parts = tuple(part for part in PARTS if part not in ("network", "proc"))
    with tempfile.TemporaryDirectory(prefix="learner-") as home:
        limits = Confinement.for_this_python("limits", parts=parts, uid=LEARNER_UID, home=home)
        try:
            found = _with_parts_there_are(limits)
        except ConfinementError as error:
            missing.append(Missing("sandbox.same-user", error.reason))
            found = _with_parts_there_are(replace(limits, uid=None))
    return replace(found, missing=(*missing, *found.missing))


def _with_parts_there_are(confinement: Confinement) -> Permitted:
    """Try, and where one of the parts fails try without it. Raises :class:`ConfinementError` for anything else."""
    missing = []
    while True:
        try:
            attempt(confinement)
        except ConfinementError as error:
            if error.part not in confinement.parts:
                raise
            missing.append(Missing(_LOST[error.part], error.reason))
            confinement = replace(confinement, parts=tuple(part for part in confinement.parts if part != error.part))
        else:
            return Permitted(confinement.kind, confinement.parts, confinement.uid, tuple(missing))
