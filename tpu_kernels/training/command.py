"""``train digits`` and ``train text`` at the command line: options in, a run, its result in the reader's language."""

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tpu_kernels import messages
from tpu_kernels.backend import BackendError, describe, here, simulate_devices
from tpu_kernels.messages import decimal
from tpu_kernels.phrases import phrase
from tpu_kernels.training.extra import MissingExtraError

if TYPE_CHECKING:
    from tpu_kernels.training.recipes import Options
    from tpu_kernels.training.report import Report

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)


class Precision(StrEnum):
    """Names that people type."""

    F32 = "f32"
    BF16 = "bf16"


class Language(StrEnum):
    """Languages that there is a text in."""

    ES = "es"
    PT = "pt"


Steps = Annotated[int | None, typer.Option(min=1, help="Steps in all.")]
Batch = Annotated[int | None, typer.Option(min=1, help="Examples of a step, over all devices.")]
Devices = Annotated[int, typer.Option(min=1, help="Devices to use.")]
Simulate = Annotated[bool, typer.Option("--simulate", help="Simulate the devices on the CPU.")]
Folder = Annotated[Path | None, typer.Option(help="Folder to save in and to resume from.")]
SaveEvery = Annotated[int, typer.Option(min=1, help="Steps from one checkpoint to the next.")]
PolicyName = Annotated[Precision, typer.Option(help="What the steps compute in.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of parameters, order of the data and dropout.")]

console = Console(emoji=False, highlight=False, soft_wrap=True)
complaints = Console(stderr=True, emoji=False, highlight=False, soft_wrap=True)


@app.command()
def digits(
    steps: Steps = None,
    batch: Batch = None,
    devices: Devices = 1,
    simulate: Simulate = False,
    checkpoints: Folder = None,
    save_every: SaveEvery = 100,
    policy: PolicyName = Precision.F32,
    seed: Seed = 0,
) -> None:
    """Train a classifier of handwritten digits: seconds."""
    with _faults_told():
        _begin(devices, simulate)
        from tpu_kernels.training.recipes import DIGITS, train_digits

        began = time.perf_counter()
        run = train_digits(_options(DIGITS, steps, batch, devices, checkpoints, save_every, policy, seed))
        seconds = time.perf_counter() - began
        share = decimal(f"{100 * run.accuracy:.1f}")
        console.print(phrase("recipes.digits", accuracy=share, seconds=f"{seconds:.0f}"), markup=False)
        console.print(_speed(run.reports), markup=False)


@app.command()
def text(
    lang: Annotated[Language | None, typer.Argument(help="Default: the language in force.")] = None,
    steps: Steps = None,
    batch: Batch = None,
    devices: Devices = 1,
    simulate: Simulate = False,
    checkpoints: Folder = None,
    save_every: SaveEvery = 100,
    policy: PolicyName = Precision.F32,
    seed: Seed = 0,
) -> None:
    """Train a transformer on a text, byte by byte: minutes."""
    with _faults_told():
        _begin(devices, simulate)
        from tpu_kernels.training.recipes import TEXT, train_text
        from tpu_kernels.training.text import source

        which = lang.value if lang else messages.language()
        console.print(phrase("recipes.source", **source(which)._asdict()), markup=False)
        began = time.perf_counter()
        run = train_text(which, _options(TEXT, steps, batch, devices, checkpoints, save_every, policy, seed))
        seconds = time.perf_counter() - began
        bits = {name: decimal(f"{getattr(run, name):.3f}") for name in ("bits", "unigram", "bigram")}
        console.print(phrase("recipes.text", seconds=f"{seconds:.0f}", **bits), markup=False)
        console.print(_speed(run.reports), markup=False)
        console.print(run.sample, markup=False)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command in ``argv`` (default: the process's arguments) and gives its exit status.

    0: done; 1: a fault, told in one line on stderr; 2: wrong arguments; 130 and 143: stopped by SIGINT, by SIGTERM.
    """
    try:
        app(args=None if argv is None else list(argv), prog_name="train")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _begin(devices: int, simulate: bool) -> None:
    if simulate:
        simulate_devices(devices)
    complaints.print(describe(here()), markup=False)


def _options(
    recipe: "Options",
    steps: int | None,
    batch: int | None,
    devices: int,
    checkpoints: Path | None,
    save_every: int,
    policy: Precision,
    seed: int,
) -> "Options":
    from tpu_kernels.training.precision import Policy

    return replace(
        recipe,
        steps=steps or recipe.steps,
        batch_size=batch or recipe.batch_size,
        devices=devices,
        checkpoints=checkpoints,
        save_every=save_every,
        policy=Policy("bfloat16" if policy is Precision.BF16 else "float32"),
        seed=seed,
        # A terminal has a line that changes; a file gets a new one each time.
        progress=sys.stderr.isatty() or _line,
    )


def _line(report: "Report") -> None:
    complaints.print(str(report), markup=False)


def _speed(reports: "list[Report]") -> str:
    """The last speed that was measured; a run that was over before it began, or after a step, has none."""
    speed = next((report.speed for report in reversed(reports) if report.speed), None)
    if speed is None:
        return phrase("recipes.no_speed")
    rate = f"{speed.examples:.0f}" if speed.tokens is None else f"{speed.tokens:.0f}"
    what = phrase("recipes.examples") if speed.tokens is None else "tokens"
    mfu = phrase("recipes.no_mfu") if speed.mfu is None else f"MFU {decimal(f'{100 * speed.mfu:.1f}')} %"
    return f"{rate} {what}/s; {mfu}"


@contextmanager
def _faults_told() -> Iterator[None]:
    """What the library raises on purpose has its cure in it: a line, not a stack."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        complaints.print(str(stopped) or phrase("bench.stopped"), markup=False)
        raise typer.Exit(128 + getattr(stopped, "signal", signal.SIGINT)) from None
    except _faults() as fault:
        complaints.print(str(fault), markup=False)
        raise typer.Exit(1) from None


def _faults() -> tuple[type[Exception], ...]:
    try:
        from tpu_kernels.training.checkpoint import CheckpointError
        from tpu_kernels.training.fit import DivergedError
    except Exception:  # noqa: BLE001  # no jax, or half of it after Ctrl-C: then one of these was raised
        return (MissingExtraError, BackendError)
    return (MissingExtraError, BackendError, CheckpointError, DivergedError, OSError, ValueError)
