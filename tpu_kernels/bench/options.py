"""What the commands of ``bench`` have in common: options, exit status, a bar that shows how far they are."""

import errno
import os
import sys
from pathlib import Path
from typing import Annotated, TextIO

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
    """Before anything is measured, which would be lost. Raises ``typer.BadParameter`` for a folder that is missing, and
    a file that cannot be written."""
    if out is None:
        return
    if not out.parent.is_dir():
        raise typer.BadParameter(phrase("bench.no_folder", folder=out.parent, name=out.name))
    try:
        if out.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not out.exists():
            out.touch()
            out.unlink()
        elif not os.access(out, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise typer.BadParameter(phrase("bench.not_writable", place=out, reason=error.strerror)) from None


def split(text: str) -> list[str]:
    """The words between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def progress_bar(*, quiet: bool = False) -> Progress:
    """On stderr, gone when done; none where nobody watches."""
    hidden = quiet or not _watched(sys.stderr)
    # What is printed meanwhile goes above the bar; to a file it must go by itself.
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=hidden,
        redirect_stdout=_watched(sys.stdout),
    )


def _watched(stream: TextIO | None) -> bool:
    """Whether it is a terminal; one that was closed before Python started is None."""
    return stream is not None and stream.isatty()
