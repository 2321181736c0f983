"""The report: its form is fixed, comes back from JSON equal, and reads well in both languages."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from tests.tpu_kernels.xray import stored
from tpu_kernels import messages
from tpu_kernels.xray import Report, diagnosis, record, targets, text
from tpu_kernels.xray.collectives import Collective
from tpu_kernels.xray.compiler import Compilation
from tpu_kernels.xray.examine import made
from tpu_kernels.xray.record import Bound, Cycles, Kernel
from tpu_kernels.xray.report import ideal_cycles, total
from tpu_kernels.xray.words import bound_name

VERSIONS = {"jax": "0.10.2", "jaxlib": "0.10.2", "libtpu": "0.0.42.1"}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    found = {}
    for name in (
        "matmul-v5e",
        "matmul-v4",
        "matmul-v5p",
        "matmul-tpu7x",
        "elementwise-v5e",
        "alike-v6e",
        "chosen_rows-v5e",
    ):
        result: Compilation = stored.unpack(stored.entry(name), tmp_path_factory.mktemp(name))
        target = targets.target(name.rpartition("-")[2])
        reason = "" if target.simulates(VERSIONS["libtpu"]) else "chip"
        found[name] = made(result, stored.program(name), target, target.topology, VERSIONS, (), reason)
    return found


FORM = Path(__file__).with_name("schema.json")


def form(value: Any) -> Any:
    """Keys and types of a report, values left out."""
    if isinstance(value, dict):
        return {key: form(one) for key, one in sorted(value.items())}
    if isinstance(value, list):
        return [form(value[0])] if value else []
    return type(value).__name__


def test_the_form_is_that_of_this_version(reports: dict[str, Report]) -> None:
    """A change here is a change of ``SCHEMA``: others read these reports."""
    expected = json.loads(FORM.read_text(encoding="utf-8"))
    assert expected["schema"] == record.SCHEMA
    assert form(reports["matmul-v5e"].to_dict()) == expected["form"]


@pytest.mark.parametrize("name", ["matmul-v5e", "matmul-v4", "matmul-tpu7x", "alike-v6e", "chosen_rows-v5e"])
def test_a_report_comes_back_from_json_equal(reports: dict[str, Report], name: str) -> None:
    report = reports[name]
    assert Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report


@pytest.mark.parametrize(
    "change",
    [
        {"schema": record.SCHEMA + 1},
        {"more": 1},
        {"chip": 5},
        {"kernels": [{}]},
        {"cycles": {"value": "many", "label": "", "reason": ""}},
        {"seconds": "slow"},
    ],
)
def test_another_form_is_refused(reports: dict[str, Report], change: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Report.from_dict({**reports["matmul-v5e"].to_dict(), **change})


def test_time_and_shares_follow_from_the_cycles(reports: dict[str, Report]) -> None:
    report = reports["matmul-v5e"]
    assert report.cycles == Cycles(11569, "simulated", "")
    assert report.seconds == pytest.approx(11569 / 1.5e9)
    flops = 2 * 512 * 1024 * 512
    assert report.of_peak == pytest.approx(flops / 197e12 / (11569 / 1.5e9), rel=1e-6)
    # Bounded by HBM: 1 MiB of each operand and half of that of the result, at 819 GB/s.
    assert report.of_roofline == pytest.approx(2.5 * 2**20 / 819e9 / (11569 / 1.5e9), rel=1e-6)


def test_cycles_too_few_to_move_the_bytes_are_not_compared_with_the_roofline(reports: dict[str, Report]) -> None:
    report = reports["elementwise-v5e"]
    assert report.seconds is not None
    assert report.seconds < 6 * 2**20 / 819e9  # four MiB of operands, two of results: more than HBM can move
    assert report.of_roofline is None
    assert "% del roofline" not in _plain(report) and "Parte del roofline: desconocida" in _plain(report)


def test_what_moves_beside_the_kernels_counts_for_the_roofline(reports: dict[str, Report]) -> None:
    report = reports["matmul-tpu7x"]
    assert sum(move.bytes for move in report.moves) == 2 * 2**20
    assert report.seconds is not None and report.hbm_written == 2**19
    assert report.of_roofline == pytest.approx(2.5 * 2**20 / (7.38e12 / 2) / report.seconds, rel=5e-3)


def test_a_program_without_products_says_that_it_has_no_peak(reports: dict[str, Report]) -> None:
    assert "No multiplica matrices" in _plain(reports["elementwise-v5e"])
    assert "No multiplica matrices" not in _plain(reports["matmul-v5e"])


def test_moves_before_the_program_are_not_said_to_be_beside_it(reports: dict[str, Report]) -> None:
    report = reports["matmul-tpu7x"]
    assert "antes de que empiece" not in _plain(report)
    early = dataclasses.replace(report, moves=tuple(dataclasses.replace(move, ahead=True) for move in report.moves))
    assert _plain(early).count("antes de que empiece el programa, XLA copia 1 MiB de HBM a VMEM") == 2


def test_without_kernels_cycles_are_not_blamed_on_data(reports: dict[str, Report]) -> None:
    bare = dataclasses.replace(reports["matmul-v5e"], kernels=(), cycles=Cycles(None, "simulated", ""), seconds=None)
    assert "no tiene kernels" in str(bare) and "datos" not in str(bare)


def test_two_cores_are_one_device(reports: dict[str, Report]) -> None:
    report = reports["matmul-v5p"]
    assert report.of_peak == pytest.approx(2 * 512 * 1024 * 512 / 459e12 / (5193 / 1.75e9), rel=1e-3)


def test_traffic_of_kernels_and_of_moves_is_added(reports: dict[str, Report]) -> None:
    assert (reports["matmul-v5e"].hbm_read, reports["matmul-v5e"].hbm_written) == (4 * 2**20, 2**19)
    assert reports["matmul-tpu7x"].hbm_read == 2 * 2**20
    assert reports["chosen_rows-v5e"].hbm_read is None


def kernel(report: Report, **changes: Any) -> Kernel:
    return dataclasses.replace(report.kernels[0], **changes)


def test_a_program_is_as_well_known_as_its_worst_kernel(reports: dict[str, Report]) -> None:
    whole = reports["matmul-v5e"]
    sure = kernel(whole)
    modelled = kernel(whole, cycles=Cycles(100, "modelled", "unknown"))
    unknown = kernel(whole, cycles=Cycles(None, "modelled", "steps"))
    sometimes = kernel(whole, runs=None)
    assert total([sure, sure]) == Cycles(2 * 11569, "simulated", "")
    assert total([sure, modelled]) == Cycles(11669, "modelled", "unknown")
    assert total([sure, unknown]) == Cycles(None, "modelled", "steps")
    assert total([sure, sometimes]).value is None
    assert total([kernel(whole, runs=3)]).value == 3 * 11569
    assert total([]) == Cycles(None, "simulated", "")


def test_padding_is_not_useful_work(reports: dict[str, Report]) -> None:
    whole = reports["matmul-v5e"]
    assert whole.kernels[0].mxu_cycles is not None and whole.flops is not None
    assert ideal_cycles(whole.kernels, whole.flops) == pytest.approx(whole.kernels[0].mxu_cycles)
    half = [kernel(whole, mxu_flops=2 * whole.flops, mxu_cycles=2 * whole.kernels[0].mxu_cycles)]
    assert ideal_cycles(half, whole.flops) == pytest.approx(whole.kernels[0].mxu_cycles)
    assert ideal_cycles(whole.kernels, None) is None
    assert ideal_cycles([kernel(whole, mxu_flops=None)], whole.flops) is None


BOUNDS = {
    "mxu": (Bound("mxu", 95.0), Bound("issue", 90.0), Bound("hbm", 20.0)),
    "hbm": (Bound("hbm", 97.0), Bound("issue", 50.0)),
    "latency": (Bound("latency", 99.0), Bound("hbm", 50.0)),
    "issue": (Bound("issue", 99.0), Bound("mxu", 50.0)),
    "vload": (Bound("issue", 99.0), Bound("vload", 95.0), Bound("mxu", 50.0)),
    "valu": (Bound("issue", 99.0), Bound("valu", 90.0)),
    "stalls": (Bound("hbm", 40.0), Bound("issue", 30.0)),
}


@pytest.mark.parametrize("expected", BOUNDS)
@pytest.mark.parametrize("lang", ["es", "pt"])
def test_each_bound_is_found_and_says_what_to_try(reports: dict[str, Report], expected: str, lang: str) -> None:
    messages.use(lang)
    held = kernel(reports["matmul-v5e"], bounds=BOUNDS[expected], cycles=Cycles(100, "simulated", ""), spilled=0)
    assert diagnosis.bound(held) == expected
    assert len(diagnosis.advice(held)) == 1


def test_copies_that_explain_the_cycles_only_together_ask_for_larger_blocks(reports: dict[str, Report]) -> None:
    small = (Bound("hbm", 60.7), Bound("latency", 60.5), Bound("issue", 40.0))
    held = kernel(reports["matmul-v5e"], bounds=small, cycles=Cycles(100, "simulated", ""), spilled=0)
    assert diagnosis.bound(held) == "latency"
    assert "bloques más grandes" in diagnosis.advice(held)[0]
    idle = dataclasses.replace(held, bounds=(Bound("hbm", 42.0), Bound("latency", 42.0)))
    assert diagnosis.bound(idle) == "stalls"


@pytest.mark.parametrize("expected", ["latency", "stalls"])
def test_a_grid_of_one_step_overlaps_nothing(reports: dict[str, Report], expected: str) -> None:
    cycles = Cycles(100, "simulated", "")
    single = kernel(reports["matmul-v5e"], bounds=BOUNDS[expected], cycles=cycles, spilled=0, grid=(1, 1, 1))
    assert diagnosis.bound(single) == expected
    (advice,) = diagnosis.advice(single)
    assert "un solo paso" in advice and "bloques más pequeños" in advice
    for change in ({"grid": (1, 1, 2)}, {"grid": ()}, {"grid": None}, {"pallas": False}):  # XLA chose its own blocks
        assert "un solo paso" not in diagnosis.advice(dataclasses.replace(single, **change))[0]


def test_a_model_knows_no_stalls(reports: dict[str, Report]) -> None:
    held = kernel(reports["matmul-v5e"], bounds=BOUNDS["stalls"], cycles=Cycles(100, "modelled", "chip"))
    assert diagnosis.bound(held) == "hbm"


def test_without_bounds_nothing_is_said(reports: dict[str, Report]) -> None:
    held = kernel(reports["matmul-v5e"], bounds=(), spilled=0)
    assert diagnosis.bound(held) is None
    assert diagnosis.advice(held) == []


def test_padding_and_spills_are_pointed_out(reports: dict[str, Report]) -> None:
    whole = reports["matmul-v5e"]
    assert whole.flops is not None and whole.kernels[0].use is not None
    padded = kernel(whole, mxu_flops=4 * whole.flops, spilled=0)
    assert any("4,0 veces" in line for line in diagnosis.advice(padded))
    use = {**whole.kernels[0].use, "VSTORE": 0.5, "SPILL": 0.2}
    spilling = kernel(whole, spilled=500, use=use, bounds=BOUNDS["vload"], cycles=Cycles(100, "simulated", ""))
    assert any("500" in line for line in diagnosis.advice(spilling))
    rare = dataclasses.replace(spilling, use={**use, "SPILL": 0.01})
    of_copies = dataclasses.replace(spilling, bounds=BOUNDS["hbm"])
    of_xla = dataclasses.replace(spilling, pallas=False)
    for silent in (rare, of_copies, of_xla):
        assert not any("500" in line for line in diagnosis.advice(silent))


GATHER = Collective("g", "all-gather", "", "bf16", 1, 4, 1, 4, None, {"x": 4}, 2, False, None)


def test_collectives_longer_than_the_kernels_come_first(reports: dict[str, Report]) -> None:
    whole = reports["matmul-v5e"]
    assert whole.seconds is not None

    def exchanging(seconds: float | None) -> Report:
        gather = dataclasses.replace(GATHER, seconds=seconds)
        return dataclasses.replace(whole, devices=16, chips=16, mesh={"x": 16}, collectives=(gather,))

    long = exchanging(0.6 * whole.seconds)  # twice
    assert _plain(long).index("Las colectivas tardan más") < _plain(long).index(diagnosis.advice(long.kernels[0])[0])
    assert "Las colectivas tardan más que los kernels (9,26 µs)" in _plain(long)
    assert "Las colectivas tardan más" in long.html()
    for short in (exchanging(0.4 * whole.seconds), exchanging(None), whole):
        assert "Las colectivas tardan más" not in _plain(short) + short.html()


def test_the_line_below_the_cycles_says_that_collectives_are_not_in_them(reports: dict[str, Report]) -> None:
    whole = reports["matmul-v5e"]
    lines = _plain(dataclasses.replace(whole, collectives=(GATHER,))).splitlines()
    (cycles,) = [number for number, line in enumerate(lines) if "11 569 ciclos" in line]
    assert "no incluyen el tiempo de las colectivas" in lines[cycles + 1]
    assert "no incluyen el tiempo de las colectivas" not in _plain(whole)


def test_only_a_program_for_several_devices_names_its_slice(reports: dict[str, Report]) -> None:
    whole = reports["matmul-v5e"]
    assert "v5e:2x2" not in str(whole)
    assert "(v5e:2x2)" in str(dataclasses.replace(whole, devices=4, chips=4, mesh={"x": 4}))


def test_more_than_the_published_bandwidth_is_pointed_out(reports: dict[str, Report]) -> None:
    assert diagnosis.beyond_bandwidth(reports["elementwise-v5e"].kernels[0])
    assert not diagnosis.beyond_bandwidth(reports["matmul-v5e"].kernels[0])
    assert "ancho de banda publicado" in reports["elementwise-v5e"].text()
    assert "ancho de banda publicado" not in reports["matmul-v5e"].text()


@pytest.mark.parametrize(
    ("lang", "words"), [("es", ("ciclos", "grid", "paquetes/paso")), ("pt", ("ciclos", "grid", "pacotes/passo"))]
)
def test_the_text_has_every_part(reports: dict[str, Report], lang: str, words: tuple[str, ...]) -> None:
    messages.use(lang)
    for name, report in reports.items():
        written = str(report)
        assert all(word in written for word in (*words, report.chip, "0.0.42.1", "kernels.py:")), name
        assert "{" not in written and "None" not in written
        assert ("modelo" in written) is (report.cycles.label == "modelled")


def test_the_text_says_that_cycles_are_simulated_or_why_not(reports: dict[str, Report]) -> None:
    assert "11 569 ciclos (simulados por el compilador): 7,71 µs a 1,5 GHz" in _plain(reports["matmul-v5e"])
    assert "el simulador del compilador no conoce esta generación" in _plain(reports["matmul-v4"])
    assert "XLA copia 1 MiB de HBM a VMEM" in _plain(reports["matmul-tpu7x"])


@pytest.mark.parametrize("reason", ["chip", "libtpu", "asked", "steps", "time", "memory", "killed", "died", "unknown"])
@pytest.mark.parametrize("lang", ["es", "pt"])
def test_each_reason_has_its_words(reports: dict[str, Report], reason: str, lang: str) -> None:
    messages.use(lang)
    report = dataclasses.replace(reports["matmul-v5e"], cycles=Cycles(5, "modelled", reason))
    others = dataclasses.replace(
        reports["matmul-v5e"], cycles=Cycles(5, "modelled", "steps" if reason != "steps" else "chip")
    )
    assert str(report) != str(others)


def test_a_way_that_the_simulator_supposed_is_told(reports: dict[str, Report]) -> None:
    report = dataclasses.replace(reports["matmul-v5e"], cycles=Cycles(5, "simulated", "data"))
    assert "depende de sus datos" in str(report)


def test_cycles_that_are_not_known_are_not_printed(reports: dict[str, Report]) -> None:
    report = dataclasses.replace(reports["matmul-v5e"], cycles=Cycles(None, "modelled", "steps"), seconds=None)
    assert "Ciclos desconocidos" in str(report)


def test_tables_have_a_row_for_each_kernel_and_region(reports: dict[str, Report]) -> None:
    report = reports["alike-v6e"]
    kernels = text.kernels_table(report)
    assert len(kernels.rows) == len(report.kernels) == 2
    cycles = kernels.headings.index("ciclos")  # what holds a kernel up stands beside them, in sight on a narrow page
    for kernel, row in zip(report.kernels, kernels.rows, strict=True):
        assert row[cycles + 1].text == bound_name(kernel)
    slowest = text.slowest(report)
    assert slowest.cycles.value == max(one.cycles.value or 0 for one in report.kernels)
    assert len(text.regions_table(slowest).rows) == len(slowest.regions)


def _plain(report: Report) -> str:
    return str(report).replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")
