"""``xray``: a function on a TPU's compiler, from the command line. jax is imported when one is named."""

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tpu_kernels.messages import LANGUAGES, use
from tpu_kernels.phrases import phrase
from tpu_kernels.xray import sizes
from tpu_kernels.xray.comparison import Comparison, Entry
from tpu_kernels.xray.errors import XrayError
from tpu_kernels.xray.flags import require_flags

REFUSED = 2


def xray(
    function: Annotated[
        str, typer.Argument(metavar="PKG.MOD:FN", help="What to compile; or path/to/file.py:FN.", show_default=False)
    ],
    chip: Annotated[str, typer.Option(help="v4, v5e, v5p, v6e or tpu7x; several, with commas, are compared.")] = "v5e",
    spec: Annotated[
        list[str] | None,
        typer.Option(help="An argument: bf16[4096,4096]. Repeat for each; default: what FN.specs holds."),
    ] = None,
    topology: Annotated[str | None, typer.Option(help="A slice as the compiler names it: v5e:2x2.")] = None,
    simulate: Annotated[
        bool | None,
        typer.Option("--simulate/--no-simulate", help="Count cycles or not; default: where it can be expected to end."),
    ] = None,
    flag: Annotated[list[str] | None, typer.Option(help="Passed to the compiler. Repeat for each.")] = None,
    seconds: Annotated[float, typer.Option(min=1, help="Processor time for the compiler.")] = 120.0,
    memory: Annotated[str, typer.Option(help="Memory for the compiler: 8G.")] = "8G",
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Compile again what was compiled before.")] = False,
    json_only: Annotated[bool, typer.Option("--json", help="Print one line of JSON and nothing else.")] = False,
    html: Annotated[Path | None, typer.Option(help="Also write a page of HTML to this file.")] = None,
    lang: Annotated[
        str | None, typer.Option("--lang", help=f"{' or '.join(LANGUAGES)}; default: the environment's.")
    ] = None,
) -> None:
    """What the TPU's compiler says of a function, with no TPU. Exit status 2 when there is no report for a chip."""
    try:
        use(lang)
        chips = _checked(chip, flag or (), html)
        options: dict[str, Any] = {
            "topology": topology,
            "simulate": simulate,
            "flags": tuple(flag or ()),
            "seconds": seconds,
            "memory_bytes": _bytes(memory),
            "cache": not no_cache,
        }
        with redirect_stdout(sys.stderr) if json_only else nullcontext():  # what the learner's module prints
            found = _seen(function, spec or [], chips, options)
    except (XrayError, ValueError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(REFUSED) from None
    if html is not None:
        single = found.entries[0].report if len(chips) == 1 else None
        html.write_text((single or found).html(), encoding="utf-8")
    typer.echo(_as_json(found) if json_only else _as_text(found))
    for entry in found.entries:
        if entry.error and json_only:
            typer.echo(entry.error, err=True)
    raise typer.Exit(REFUSED if any(entry.error for entry in found.entries) else 0)


def _seen(function: str, written: list[str], chips: list[str], options: dict[str, Any]) -> Comparison:
    from tpu_kernels.xray import named_function
    from tpu_kernels.xray.comparison import examined
    from tpu_kernels.xray.examine import xray as look

    called = named_function.load(function)
    specs = named_function.specs_of(called, written)
    name = function.rpartition(":")[2]
    entries: list[Entry] = []
    console = Console(stderr=True)
    for chip in chips:
        with console.status(phrase("xray.compiling", name=name, chip=chip)):
            if len(chips) == 1:
                report = look(called, *specs, chip=chip, **options)
                entries.append(Entry(name, report.chip, report, ""))
            else:
                entries.append(examined(name, called, specs, chip, **options))
    return Comparison(tuple(entries))


def _checked(chip: str, options: Sequence[str], html: Path | None) -> list[str]:
    """The chips that are asked for; before anything is compiled, what would be found too late."""
    chips = [name.strip() for name in chip.split(",") if name.strip()]
    if not chips:
        raise ValueError(phrase("xray.no_chip"))
    require_flags(options)
    if html is not None and (html.is_dir() or not html.parent.is_dir()):
        raise ValueError(phrase("xray.no_place", file=str(html)))
    return chips


def _bytes(memory: str) -> int:
    try:
        return sizes.parsed(memory)
    except ValueError:
        raise ValueError(phrase("xray.bad_memory", got=memory)) from None


def _as_json(found: Comparison) -> str:
    single = found.entries[0].report if len(found.entries) == 1 else None
    return json.dumps(single.to_dict() if single else found.to_dict())


def _as_text(found: Comparison) -> str:
    reports = [entry.report.text() for entry in found.entries if entry.report]
    return "\n\n".join(reports if len(found.entries) == 1 else [found.text(), *reports])
