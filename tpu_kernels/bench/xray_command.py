"""``bench xray`` and ``bench chooser``: measurements in the TPU compiler's simulator, which need no TPU."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from tpu_kernels.bench.options import WRONG, Json, Lang, Out, check_place, progress_bar, split
from tpu_kernels.messages import use
from tpu_kernels.phrases import phrase
from tpu_kernels.xray import libtpu, targets
from tpu_kernels.xray.errors import XrayError

QUICK_CHIPS = ("v5e", "v6e")

if TYPE_CHECKING:
    from tpu_kernels.bench.report import Recorded

Chips = Annotated[str, typer.Option(help="Comma-separated; default: all that the compiler found here simulates.")]
Page = Annotated[Path | None, typer.Option(help="Also write the figures as a page of Markdown, in English.")]


def xray(
    quick: Annotated[bool, typer.Option("--quick", help="One product, on v5e and v6e.")] = False,
    chips: Chips = "",
    json_only: Json = False,
    out: Out = None,
    page: Page = None,
    lang: Lang = None,
) -> None:
    """Our matrix product beside XLA's in the TPU compiler's simulator. Exit status 1 when a row could not be had."""
    use(lang)
    check_place(out)
    check_place(page)
    with _one_line_for_a_fault(), progress_bar() as bar:
        names, versions = _found(chips, QUICK_CHIPS if quick else ())
        from tpu_kernels.bench import xray_page, xray_table
        from tpu_kernels.bench.xray import bench_xray, contests

        chosen = contests(names, quick=quick)
        say = _printer(bar, json_only)
        say("\n".join([phrase("bench.xray_versions", **versions), *xray_table.header(xray_table.contest_columns())]))
        task, known = bar.add_task("", total=len(chosen)), bench_xray(chosen)
        rows = []
        for contest in chosen:
            bar.update(task, description=f"{contest.chip} {contest.size}")
            rows.append(next(known))
            say(xray_table.contest_line(rows[-1]))
            bar.advance(task)
        say("\n".join(["", *xray_table.contest_notes(rows)]))
        asked = ["xray", *(["--quick"] if quick else []), *_asked(chips)]
        _write(_record(asked, versions, rows), json_only, out, page, xray_page.matmul_page)
    raise typer.Exit(WRONG if any(row.reason for row in rows) else 0)


def chooser(
    chips: Chips = "",
    json_only: Json = False,
    out: Out = None,
    page: Page = None,
    lang: Lang = None,
) -> None:
    """The block that the model of the cost chooses beside the best of all in the simulator. Long, and resumable.

    Exit status 1 when a choice has no cycles.
    """
    use(lang)
    check_place(out)
    check_place(page)
    with _one_line_for_a_fault(), progress_bar() as bar:
        names, versions = _found(chips, ())
        from tpu_kernels.bench import xray_page, xray_table
        from tpu_kernels.bench.chooser import bench_chooser, cases, count

        chosen = cases(names)
        say = _printer(bar, json_only)
        say("\n".join([phrase("bench.xray_versions", **versions), *xray_table.header(xray_table.choice_columns())]))
        task = bar.add_task("", total=sum(map(count, chosen)))
        known = bench_chooser(chosen, progress=lambda: bar.advance(task))
        choices = []
        for case in chosen:
            bar.update(task, description=f"{case.chip} {case.size}")
            choices.append(next(known))
            say(xray_table.choice_line(choices[-1]))
        say("\n".join(["", *xray_table.choice_notes()]))
        _write(_record(["chooser", *_asked(chips)], versions, choices), json_only, out, page, xray_page.chooser_page)
    raise typer.Exit(WRONG if any(choice.ratio is None for choice in choices) else 0)


@contextmanager
def _one_line_for_a_fault() -> Iterator[None]:
    try:
        yield
    except XrayError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error


def _found(chips: str, default: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The chips that were asked for, by the names of the X-ray, and the versions that all figures come from.

    Raises ``typer.BadParameter`` for one that is not simulated.
    """
    compiler = libtpu.find()
    known = [name for name, target in targets.TARGETS.items() if target.simulates(compiler.version)]
    names = []
    for word in split(chips) or default or known:
        try:
            name = targets.target(word).chip
        except XrayError:
            name = word
        if name not in known:
            raise typer.BadParameter(
                phrase("bench.unknown_chip", got=word, libtpu=compiler.version, known=", ".join(known))
            )
        names.append(name)
    return names, {"libtpu": compiler.version, "jax": metadata.version("jax")}


def _printer(bar: Progress, json_only: bool) -> Callable[[str], None]:
    if json_only:
        return lambda text: None
    if bar.disable or not sys.stdout.isatty():
        return typer.echo
    return lambda text: bar.console.print(text, markup=False, highlight=False, soft_wrap=True)


def _asked(chips: str) -> list[str]:
    return ["--chips", ",".join(split(chips))] if split(chips) else []


def _record(asked: Sequence[str], versions: dict[str, str], rows: Sequence["Recorded"]) -> dict[str, Any]:
    from tpu_kernels.bench.report import SCHEMA

    return {
        "schema": SCHEMA,
        "command": " ".join(["sistolica", "bench", *asked]),
        "date": datetime.now(UTC).date().isoformat(),
        "versions": versions,
        "rows": [row.to_dict() for row in rows],
    }


def _write(
    record: dict[str, Any],
    json_only: bool,
    out: Path | None,
    page: Path | None,
    written: Callable[[dict[str, Any]], str],
) -> None:
    if out is not None:
        out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if page is not None:
        page.write_text(written(record), encoding="utf-8")
    if json_only:
        typer.echo(json.dumps(record))
