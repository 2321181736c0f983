"""``python -m tpu_kernels``: benchmarks, training runs and X-rays, wherever the package is installed."""

import sys
from typing import NoReturn

import typer

from tpu_kernels.backend import BackendError
from tpu_kernels.bench.command import app as bench
from tpu_kernels.bench.measurement_error import MeasurementError
from tpu_kernels.messages import UnknownLanguageError
from tpu_kernels.phrases import phrase
from tpu_kernels.training.command import app as train
from tpu_kernels.xray.command import xray

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
app.add_typer(bench, name="bench")
app.add_typer(train, name="train", help="Train a model: digits in seconds, a text in minutes.")
app.command()(xray)


@app.callback()
def library() -> None:
    """Kernels, training, measurements and X-rays of the course."""


def main() -> NoReturn:
    """A fault that has a name is one line on stderr and exit status 2."""
    try:
        app(prog_name="python -m tpu_kernels")
    except (BackendError, MeasurementError, UnknownLanguageError, ValueError) as error:
        typer.echo(str(error), err=True)
    except MemoryError:
        typer.echo(phrase("bench.no_memory"), err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
