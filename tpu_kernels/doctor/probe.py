"""Questions asked in a process of their own, with a time limit: what it answers, or how it ended."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tpu_kernels import messages

if TYPE_CHECKING:
    from tpu_kernels.doctor.look import Sight

LONGEST = 300  # characters of somebody else's words that a message quotes

# E1201 02:01:17.057284   13278 parse_flags_from_env.cc:171] Unknown flag in XLA_FLAGS: --xla_x
LOGGED = re.compile(r"^[EF]\d{4} [\d:.]+ +\d+ [\w./-]+:\d+\] (.*)", re.MULTILINE)


@dataclass(frozen=True)
class Failure:
    """The process gave no answer: it raised, it was ended by the library, or it outran the limit. In what words."""

    how: Literal["raised", "aborted", "timed_out"]
    words: str


def ask_jax(time_limit: float) -> "Sight | Failure":
    """What jax computes on when it starts as this process would start it. Takes no device from this process.

    ``time_limit``: seconds, after which the other process is ended.
    """
    from tpu_kernels.doctor.look import Sight

    run = _run(["-c", "from tpu_kernels.doctor.look import main; main()"], time_limit)
    if isinstance(run, Failure):
        return run
    answers = [line for line in run.stdout.splitlines() if line.startswith("{")]  # libraries may print others
    if not answers:
        return Failure("aborted", _last_words(run))
    answer = json.loads(answers[-1])
    return Failure("raised", _shortened(answer["error"])) if "error" in answer else Sight.from_dict(answer)


def import_failure(module: str, time_limit: float) -> Failure | None:
    """Why ``module`` cannot be imported; ``None`` when it can."""
    run = _run(["-c", f"import {module}"], time_limit)
    if isinstance(run, Failure):
        return run
    if run.returncode == 0:
        return None
    return Failure("raised" if run.returncode == 1 else "aborted", _last_words(run))


def _run(arguments: Sequence[str], time_limit: float) -> "subprocess.CompletedProcess[str] | Failure":
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),  # what this process would import
        "SISTOLICA_LANG": messages.language(),
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # a look needs no memory, and another process may need it
    }
    try:
        return subprocess.run(
            [sys.executable, "-P", *arguments],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=environ,
            stdin=subprocess.DEVNULL,
            timeout=time_limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Failure("timed_out", f"{time_limit:g} s")


def _last_words(run: "subprocess.CompletedProcess[str]") -> str:
    """What the process logged as errors at the end, or its last line, or the signal that ended it."""
    logged = LOGGED.findall(run.stderr)
    if logged:
        return _shortened(" ".join(logged[-2:]))
    said = [line for line in run.stderr.split("\n") if line.strip()]
    if said:
        return _shortened(said[-1])
    return signal.Signals(-run.returncode).name if run.returncode < 0 else f"exit {run.returncode}"


def _shortened(words: str) -> str:
    return " ".join(words.split())[:LONGEST]
