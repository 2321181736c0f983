"""The command line: ``sistolica build``, ``serve``, ``check``, ``grade``, ``labs``, ``notebooks``."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from sistolica.lesson import LessonError
from sistolica.project import NoProjectError, find_project
from tpu_kernels.messages import UnknownLanguageError

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
console = Console()
complaints = Console(stderr=True)


@app.callback()
def course() -> None:
    """Sistólica: an open course on AI infrastructure that runs."""


@app.command()
def build(
    base_url: Annotated[str, typer.Option(help="Address of the published site, for canonical links.")] = "",
    fresh: Annotated[bool, typer.Option(help="Forget earlier builds.")] = False,
) -> None:
    """Build the site in both languages into _build/site."""
    from sistolica.commands.site import build_site

    raise typer.Exit(build_site(find_project(), console, complaints, base_url=base_url, fresh=fresh))


@app.command()
def serve(
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
) -> None:
    """Build the site, serve it, and rebuild when a source changes."""
    from sistolica.commands.site import serve_site

    raise typer.Exit(serve_site(find_project(), console, complaints, host=host, port=port))


def main() -> None:
    """Entry point: a fault that we can name is one clear line on stderr and exit status 2."""
    try:
        app()
    except (LessonError, NoProjectError, UnknownLanguageError) as error:
        complaints.print(f"[bold red]error[/] {error}", soft_wrap=True, highlight=False)
        sys.exit(2)
