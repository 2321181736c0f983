"""The command line: what can be asked for. What a command does is in :mod:`sistolica.commands`, imported when run."""

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from graders.lab import LabError
from sistolica.faults import CourseError
from sistolica.project import find_project
from tpu_kernels import messages
from tpu_kernels.bench.command import app as bench_app
from tpu_kernels.xray.command import xray

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
labs_app = typer.Typer(no_args_is_help=True, help="The labs that learners solve.")
app.add_typer(labs_app, name="labs")
app.add_typer(bench_app, name="bench")
app.command()(xray)

console = Console(emoji=False)  # a learner may be called :fire:, an address may end in :-1:
complaints = Console(stderr=True, emoji=False)

Language = Annotated[str | None, typer.Option("--lang", help="es or pt; default: the environment's.")]
Out = Annotated[Path, typer.Option(help="Folder to write to.")]


@app.callback()
def course() -> None:
    """Sistólica: an open course on AI infrastructure that runs."""


@app.command()
def build(
    base_url: Annotated[str, typer.Option(help="Address of the published site, for canonical links.")] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier builds.")] = False,
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


@app.command()
def check() -> None:
    """Compare the languages and lint the terms: counts per kind, exit status 1 on a fault."""
    from sistolica.check import command

    raise typer.Exit(command(find_project(), console))


@app.command()
def doctor(
    expect_devices: Annotated[int | None, typer.Option(min=1, help="How many devices there should be.")] = None,
    json_only: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    lang: Language = None,
) -> None:
    """Say what this machine has and what stands in the way: exit status 1 when something must be put right."""
    from sistolica.commands.doctor import doctor as look_at_machine

    _spoken(lang)
    raise typer.Exit(look_at_machine(console, complaints, expect_devices=expect_devices, json_only=json_only))


@app.command()
def grade(
    submissions: Annotated[Path, typer.Argument(help="Folder with the learners' notebooks.")],
    lab: Annotated[str, typer.Option(help="The lab's id.")],
    out: Out,
    lang: Language = None,
    seed: Annotated[int | None, typer.Option(help="Fix the inputs, to grade again with the same ones.")] = None,
    workers: Annotated[int, typer.Option(help="Submissions graded at once.")] = 1,
    backend: Annotated[str, typer.Option(help="Where learners' JAX runs: auto, cpu, gpu or tpu.")] = "auto",
    require_sandbox: Annotated[
        bool, typer.Option("--require-sandbox", help="Grade nothing unless the sandbox is whole.")
    ] = False,
) -> None:
    """Grade a folder of submissions: grades.csv, feedback in each learner's language, the gradebook."""
    from sistolica.commands.grade import grade as grade_submissions

    status = grade_submissions(
        find_project(),
        submissions,
        lab,
        out,
        console,
        complaints,
        lang=lang,
        seed=seed,
        workers=workers,
        backend=backend,
        require_sandbox=require_sandbox,
    )
    raise typer.Exit(status)


@labs_app.command()
def release(
    out: Out,
    lab: Annotated[str | None, typer.Option(help="One lab only.")] = None,
    lang: Language = None,
) -> None:
    """Write what learners get, without solutions, in each language."""
    from sistolica.commands.labs import release as release_labs

    raise typer.Exit(release_labs(find_project(), out, console, complaints, lab_id=lab, lang=lang))


@labs_app.command("check")
def check_notebook(
    notebook: Annotated[Path, typer.Argument(help="A learner's notebook.")],
    lab: Annotated[str | None, typer.Option(help="The lab's id; default: the notebook's own.")] = None,
    lang: Language = None,
) -> None:
    """Run a notebook's self-checks from outside: exit status 0 when all pass, 1 when one does not."""
    from sistolica.commands.labs import check as check_learner_notebook

    status = check_learner_notebook(find_project(), notebook, console, complaints, lab_id=lab, lang=lang)
    raise typer.Exit(status)


@bench_app.command("grader")
def bench_grader(
    submissions: Annotated[int, typer.Option(min=2, help="Submissions, the same for each way of grading.")] = 20,
    calls: Annotated[int | None, typer.Option(min=0, help="nbgrader calls for one learner; default: all.")] = None,
    workers: Annotated[str, typer.Option(help="Comma-separated numbers of workers, fewest first.")] = "1,2",
    larger: Annotated[int, typer.Option(min=0, help="Submissions to find the throughput with; 0: leave out.")] = 100,
    lab: Annotated[str, typer.Option(help="The lab's id.")] = "matmul",
    json_only: Annotated[bool, typer.Option("--json", help="Print the line of JSON only.")] = False,
    lang: Language = None,
) -> None:
    """CPU and wall clock of a submission beside stock nbgrader. Exit status 1 when the scores differ."""
    _spoken(lang)
    from sistolica.bench.grader import Plan
    from sistolica.commands.bench_grader import measure_grader

    counts = tuple(int(word) if word.strip().isdecimal() else 0 for word in workers.split(","))
    plan = Plan(lab, submissions, submissions if calls is None else min(calls, submissions), counts, larger)
    raise typer.Exit(measure_grader(find_project(), console, complaints, plan, json_only))


@app.command()
def notebooks(out: Out, lang: Language = None) -> None:
    """Write every chapter and lab as a notebook, in each language."""
    from sistolica.commands.notebooks import write_notebooks

    raise typer.Exit(write_notebooks(find_project(), out, console, _spoken(lang)))


def _spoken(lang: str | None) -> str | None:
    """Speak ``lang`` from now on, if one was named."""
    if lang is not None:
        messages.use(lang)
    return lang


def main() -> None:
    """Entry point: a fault that we can name is one clear line on stderr and exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a name that the terminal cannot write must not end a grading halfway
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except (CourseError, LabError, messages.UnknownLanguageError) as error:
        _end(str(error))
    except ModuleNotFoundError as error:  # installed for its self-checks only, as on Colab
        _end(f"this command needs {error.name}, which is not installed; run it in a checkout, after make build")
    except OSError as error:  # a folder that cannot be written to, a disk that is full
        if error.filename is None:
            raise
        _end(f"{error.filename}: {error.strerror}")


def _end(problem: str) -> NoReturn:
    complaints.print(f"[bold red]error[/] {escape(problem)}", soft_wrap=True, highlight=False)
    sys.exit(2)
