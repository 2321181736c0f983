"""``bench``: what can be measured from the command line. jax is imported when something is."""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tpu_kernels.bench.measurement_error import MeasurementError
from tpu_kernels.bench.options import WRONG, Json, Lang, Out, Repeats, Warmup, check_place, progress_bar, split
from tpu_kernels.bench.xray_command import chooser, xray
from tpu_kernels.messages import use
from tpu_kernels.models.collective_cost.bus_bandwidth import COLLECTIVES, REDUCE
from tpu_kernels.phrases import phrase

if TYPE_CHECKING:
    from tpu_kernels.bench.report import Recorded

app = typer.Typer(
    no_args_is_help=True, help="Measure kernels, training, collectives and TCP: every result checked, in one run."
)

app.command()(xray)
app.command()(chooser)


@app.command()
def matmul(
    shapes: Annotated[str, typer.Option(help="Comma-separated: 1024 for a cube, 512x2048x512 for m x k x n.")] = (
        "512,1024,2048"
    ),
    dtypes: Annotated[str, typer.Option(help="Comma-separated names of dtypes.")] = "float32",
    backends: Annotated[str, typer.Option(help="Comma-separated; default: what is fast here, beside jnp.")] = "",
    warmup: Warmup = 2,
    repeats: Repeats = 10,
    json_only: Json = False,
    out: Out = None,
    lang: Lang = None,
) -> None:
    """The matrix product of each implementation beside jnp.matmul. Exit status 1 when a result is wrong."""
    use(lang)
    from tpu_kernels.bench.matmul import bench_matmul
    from tpu_kernels.bench.report import matmul_table

    check_place(out)
    cubes, formats, names = parsed_shapes(shapes), _parsed_dtypes(dtypes), split(backends)
    rounds = (warmup + repeats) * len(cubes) * len(formats)
    with progress_bar(quiet=json_only) as bar:
        task = bar.add_task("matmul", total=rounds)
        rows = list(
            bench_matmul(cubes, formats, names, warmup=warmup, repeats=repeats, progress=lambda: bar.advance(task))
        )
    _show(rows, matmul_table, json_only, out)
    raise typer.Exit(0 if all(row.correctness.right for row in rows) else WRONG)


@app.command()
def training(
    devices: Annotated[str, typer.Option(help="Comma-separated numbers of devices.")] = "1",
    dtypes: Annotated[str, typer.Option(help="Comma-separated: float32, bfloat16.")] = "float32",
    simulate: Annotated[bool, typer.Option("--simulate", help="Simulate the devices on the CPU.")] = False,
    batch: Annotated[int, typer.Option(min=1, help="Sequences in a batch.")] = 8,
    context: Annotated[int, typer.Option(min=1, help="Tokens of a sequence.")] = 128,
    width: Annotated[int, typer.Option(min=4, help="Width of the transformer; 4 heads divide it.")] = 128,
    layers: Annotated[int, typer.Option(min=1, help="Layers of the transformer.")] = 2,
    warmup: Warmup = 1,
    repeats: Repeats = 5,
    json_only: Json = False,
    out: Out = None,
    lang: Lang = None,
) -> None:
    """A step of training a transformer, in every form of parallelism. Exit status 1 when a gradient is wrong."""
    use(lang)
    check_place(out)
    counts = _parsed_counts(devices)
    if simulate:
        from tpu_kernels.backend import simulate_devices

        simulate_devices(max(counts))
    from tpu_kernels.bench.report import training_table
    from tpu_kernels.bench.training import TOLERANCES, bench_training, contestants
    from tpu_kernels.training.transformer_config import Config

    formats = _parsed_dtypes(dtypes)
    for name in set(formats) - set(TOLERANCES):
        raise typer.BadParameter(phrase("bench.bad_policy", got=name, known=", ".join(TOLERANCES)))
    config = Config(context=context, width=width, layers=layers)
    with progress_bar(quiet=json_only) as bar:
        task = bar.add_task("training", total=warmup + repeats)
        rows = list(
            bench_training(
                contestants(counts, formats),
                config,
                batch=batch,
                warmup=warmup,
                repeats=repeats,
                progress=lambda: bar.advance(task),
            )
        )
    _show(rows, training_table, json_only, out)
    raise typer.Exit(0 if all(row.right for row in rows) else WRONG)


@app.command()
def tcp(
    mtu: Annotated[str, typer.Option(help="Comma-separated sizes of the largest IP packet, in bytes.")] = "1500,9000",
    streams: Annotated[str, typer.Option(help="Comma-separated numbers of connections at once.")] = "1",
    offload: Annotated[
        bool | None,
        typer.Option("--offload/--no-offload", help="Packets larger than the MTU, for a card to cut; default: both."),
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Length of a transfer; default: 1, unless --bytes.")] = None,
    size: Annotated[int | None, typer.Option("--bytes", help="Bytes of a transfer, all streams together.")] = None,
    repeats: Repeats = 3,
    json_only: Json = False,
    out: Out = None,
    lang: Lang = None,
) -> None:
    """Linux's TCP between two network namespaces, which are made for it. Needs user namespaces, or root."""
    use(lang)
    from tpu_kernels.bench.tcp import bench_tcp
    from tpu_kernels.bench.tcp_report import lines, to_dict

    check_place(out)
    mtus, connections = _parsed_numbers("--mtu", mtu), _parsed_numbers("--streams", streams)
    offloads = (True, False) if offload is None else (offload,)
    with progress_bar(quiet=json_only) as bar:
        task = bar.add_task("tcp", total=repeats * len(mtus) * len(connections) * len(offloads))
        rows = bench_tcp(
            mtus,
            streams=connections,
            offloads=offloads,
            size=size,
            seconds=1 if seconds is None and size is None else seconds,
            repeats=repeats,
            progress=lambda: bar.advance(task),
        )
    record = to_dict(rows)
    _give(record, lines(record), json_only, out)


def _add_collective(collective: str) -> None:
    @app.command(collective, help=f"{collective}, as the NCCL tests measure it. Exit status 1 when a result is wrong.")
    def command(
        sizes: Annotated[str, typer.Option(help="Comma-separated bytes of the whole array: 64K, 1M.")] = "",
        least: Annotated[str, typer.Option("--min", help="The smallest size of a sweep, without --sizes.")] = "1K",
        most: Annotated[str, typer.Option("--max", help="The largest size of a sweep.")] = "64M",
        factor: Annotated[int, typer.Option(help="How many times the one before each size of a sweep is.")] = 4,
        dtype: Annotated[
            str, typer.Option(help="Of the elements: float32, bfloat16, float16, int32, int8.")
        ] = "float32",
        op: Annotated[str | None, typer.Option(help="Of a reduction: sum, max, min; default: sum.")] = None,
        root: Annotated[int | None, typer.Option(help="Of a broadcast; default: 0.")] = None,
        devices: Annotated[int, typer.Option(min=2, help="How many devices, and processes of a peer.")] = 2,
        simulate: Annotated[bool, typer.Option("--simulate", help="Simulate the devices on the CPU.")] = False,
        impl: Annotated[
            str,
            typer.Option(
                help="Comma-separated: ring, bidirectional and torus, our kernels; xla; chunked, which is xla in "
                "pieces that a cache holds. Default: what is fast here. Interpreted kernels are checked, not timed."
            ),
        ] = "",
        peers: Annotated[str, typer.Option(help="Comma-separated: mpi, gloo.")] = "",
        peer_python: Annotated[
            str,
            typer.Option(
                envvar="SISTOLICA_PEER_PYTHON",
                show_default=False,
                help="Python that has the peers; default: this one.",
            ),
        ] = sys.executable,
        plot: Annotated[Path | None, typer.Option(help="Draw time and bandwidth into this SVG file.")] = None,
        warmup: Warmup = 5,
        repeats: Repeats = 20,
        json_only: Json = False,
        out: Out = None,
        lang: Lang = None,
    ) -> None:
        use(lang)
        check_place(out)
        check_place(plot)
        from tpu_kernels.bench.collective_case import cases
        from tpu_kernels.bench.collective_peers import checked_peers
        from tpu_kernels.bench.collective_sizes import parsed_sizes, swept_sizes

        swept = parsed_sizes(sizes) if sizes else swept_sizes(least, most, factor)
        chosen = cases(collective, swept, ranks=devices, dtype=dtype, op=op, root=root)
        others = checked_peers(split(peers))
        if simulate:
            from tpu_kernels.backend import simulate_devices

            simulate_devices(devices)
        from tpu_kernels.backend import here
        from tpu_kernels.bench.collective_report import lines, to_dict
        from tpu_kernels.bench.collective_run import run
        from tpu_kernels.bench.collectives import checked_implementations, implementations

        names = checked_implementations(split(impl) or implementations(collective, here().platform), collective)
        with progress_bar(quiet=json_only) as bar:
            task = bar.add_task(collective, total=len(chosen) * (len(names) + len(others)))
            found = run(
                chosen, names, others, peer_python, warmup=warmup, repeats=repeats, progress=lambda: bar.advance(task)
            )
        _give(to_dict(found), lines(found), json_only, out)
        if plot is not None:
            from tpu_kernels.bench.collective_plot import draw

            _write(plot, draw(found.rows, found.fits).markup)
        raise typer.Exit(0 if all(row.right for row in found.rows) else WRONG)


for _collective in COLLECTIVES:
    if _collective != REDUCE:
        _add_collective(_collective)


def _parsed_numbers(option: str, text: str) -> list[int]:
    words = split(text)
    if not words or not all(word.isdecimal() for word in words):
        raise typer.BadParameter(phrase("host_network.bad_numbers", option=option, got=text))
    return [int(word) for word in words]


def _parsed_counts(text: str) -> list[int]:
    words = split(text)
    for word in words:
        if not word.isdecimal() or not int(word):
            raise typer.BadParameter(phrase("bench.bad_count", got=word))
    if not words:
        raise typer.BadParameter(phrase("bench.bad_count", got=text))
    return [int(word) for word in words]


def parsed_shapes(text: str) -> list[tuple[int, int, int]]:
    """``"512,128x256x64"`` as (m, k, n). Raises ``typer.BadParameter`` naming what is no shape."""
    shapes = []
    if not split(text):
        raise typer.BadParameter(phrase("bench.bad_shape", got=text))
    for word in split(text):
        parts = word.lower().split("x")
        if len(parts) not in {1, 3} or not all(part.isdecimal() and int(part) for part in parts):
            raise typer.BadParameter(phrase("bench.bad_shape", got=word))
        m, k, n = (int(part) for part in (parts if len(parts) == 3 else parts * 3))
        shapes.append((m, k, n))
    return shapes


def _parsed_dtypes(text: str) -> list[str]:
    import jax.numpy as jnp

    from tpu_kernels.kernels.gemm.dtypes import FLOATS, INTEGERS

    found = []
    for word in split(text):
        try:
            dtype = jnp.dtype(word)
        except TypeError:
            dtype = None
        if dtype not in FLOATS | INTEGERS:
            raise typer.BadParameter(phrase("bench.bad_dtype", got=word))
        found.append(dtype.name)
    return found


def _show(rows: Sequence["Recorded"], table: Any, json_only: bool, out: Path | None) -> None:
    from tpu_kernels.backend import here
    from tpu_kernels.bench.report import machine_line, to_dict

    found = here()
    record = to_dict(found, rows)
    _give(record, [machine_line(found), "", repr(table(record["rows"]))], json_only, out)


def _give(record: dict[str, Any], lines: Iterable[str], json_only: bool, out: Path | None) -> None:
    """To the file, and to people also where the file cannot be written after all."""
    try:
        if out is not None:
            _write(out, json.dumps(record, indent=1))
    finally:
        _print([json.dumps(record)] if json_only else lines)


def _write(place: Path, text: str) -> None:
    try:
        place.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise MeasurementError(phrase("bench.not_writable", place=place, reason=error.strerror)) from error


def _print(lines: Iterable[str]) -> None:
    try:
        for line in lines:
            typer.echo(line)
    except BrokenPipeError:  # whoever reads has had enough, which is no fault
        raise
    except OSError as error:
        raise MeasurementError(phrase("bench.not_writable", place="stdout", reason=error.strerror)) from error
