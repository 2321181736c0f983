"""What the commands of ``bench`` have in common: options, exit status, a bar that shows how far they are."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tpu_kernels.messages import LANGUAGES
from tpu_kernels.phrases import phrase

Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON instead of a table.")]
Out = Annotated[Path | None, typer.Option(help="Also write the JSON to this file.")]
Warmup = Annotated[int, typer.Option(min=0, help="Rounds that do not count.")]
Repeats = Annotated[int, typer.Option(min=1, help="Rounds that count.")]
Lang = Annotated[str | None, typer.Option("--lang", help=f"{' or '.join(LANGUAGES)}; default: the environment's.")]

WRONG = 1


def check_place(out: Path | None) -> None:
    """Before anything is measured, which would be lost. Raises ``typer.BadParameter`` for a folder that is missing."""
    if out is not None and not out.parent.is_dir():
        raise typer.BadParameter(phrase("bench.no_folder", folder=out.parent, name=out.name))


def split(text: str) -> list[str]:
    """The words between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def progress_bar(*, quiet: bool = False) -> Progress:
    """On stderr, gone when done; none where nobody watches."""
    hidden = quiet or not sys.stderr.isatty()
    # What is printed meanwhile goes above the bar; to a file it must go by itself.
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=hidden,
        redirect_stdout=sys.stdout.isatty(),
    )
