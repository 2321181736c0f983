"""Tables, records, fits and the picture of collectives, from times that a known model made."""

import json
import xml.etree.ElementTree as ElementTree

import pytest
from typer.testing import CliRunner

from tpu_kernels.__main__ import app
from tpu_kernels.bench.collective_case import cases
from tpu_kernels.bench.collective_fit import fitted
from tpu_kernels.bench.collective_plot import draw
from tpu_kernels.bench.collective_report import table
from tpu_kernels.bench.collective_row import Outcome, Row
from tpu_kernels.messages import use

RUN = CliRunner()
SIZES = [1 << power for power in range(10, 27, 2)]
TINY = ["--warmup", "0", "--repeats", "1"]


def rows(seconds, *, name="xla", place="cpu", sizes=SIZES, in_place_only=False):
    found = []
    for case in cases("all-reduce", sizes, ranks=4, dtype="float32"):
        outcome = Outcome(0, ((seconds(case.size),),))
        found.append(Row(case, name, place, "cpu", None if in_place_only else outcome, outcome))
    return found


def line(size):
    """20 microseconds, and 3 GB/s on the bus of an all-reduce of 4."""
    return 20e-6 + size * 1.5 / 3e9


def interpreted():
    case = cases("all-reduce", [64], ranks=4, dtype="float32")[0]
    return Row(case, "ring", "cpu", "cpu", Outcome(0, ()), Outcome(2, ()))


def test_alpha_and_beta_are_found_again():
    (found,) = fitted(rows(line))
    assert found.refusal is None
    record = found.to_dict()
    assert (record["model"], record["form"]) == ("line", "out_of_place")
    assert record["latency"] == pytest.approx(20e-6)
    assert record["bandwidth"] == pytest.approx(3e9)
    assert max(map(abs, record["residuals"])) < 1e-9


def test_a_model_that_does_not_hold_is_shown_as_refused():
    jagged = {size: line(size) * (1 + 2 * (number % 2)) for number, size in enumerate(SIZES)}
    (found,) = fitted(rows(jagged.__getitem__))
    assert found.accepted is None
    assert found.to_dict()["rms"] > 0.05
    assert "ningún modelo vale" in repr(found)


def test_too_few_sizes_are_no_fit():
    (found,) = fitted(rows(line, sizes=SIZES[:2]))
    assert found.fit is None
    assert "3 o más" in repr(found)


def test_a_library_that_only_works_in_place_is_fitted_there():
    (found,) = fitted(rows(line, name="gloo", place="gloo", in_place_only=True))
    assert found.form == "in_place"


def test_columns_are_those_of_the_nccl_tests():
    found = table([*rows(lambda size: 0.5e-3, sizes=[1 << 20]), interpreted()])
    first, second = ([cell.text for cell in row] for row in found.rows)
    assert first[:5] == ["1048576", "262144", "float32", "sum", ""]
    assert first[7:] == ["500,0", "2,10", "3,15", "0"] * 2
    assert second[6:] == ["interpretado", "", "", "", "0", "", "", "", "2"]


@pytest.mark.parametrize("lang", ["es", "pt"])
def test_the_caption_says_what_the_columns_of_the_nccl_tests_mean(lang):
    use(lang)
    found = table(rows(line))
    terms = ("algbw", "busbw", "1,50", "GB/s", "out of place", "in place", found.headings[10].capitalize())
    assert [term for term in terms if term not in found.caption] == []


@pytest.mark.parametrize(("place", "words"), [("cpu", "hilos de un proceso"), ("gloo", "TCP"), ("mpi", "procesos")])
def test_every_row_says_what_it_was_measured_on(place, words):
    assert words in table(rows(line, place=place)).rows[0][6].text


def test_on_an_accelerator_a_row_names_it():
    (row,) = rows(line, place="tpu", sizes=[1 << 20])
    named = Row(row.case, "ring", "tpu", "TPU v5 lite", row.out_of_place, None)
    assert table([named]).rows[0][6].text == "TPU v5 lite"


@pytest.mark.parametrize("lang", ["es", "pt"])
def test_the_picture_is_an_image_with_words_for_it(lang):
    use(lang)
    both = [*rows(line), *rows(lambda size: 2 * line(size), name="gloo", in_place_only=True)]
    picture = draw(both, fitted(both))
    root = ElementTree.fromstring(picture.markup)
    assert root.tag.endswith("svg")
    assert root.get("aria-label") == picture.label
    for word in ("all-reduce", "xla", "gloo", "64\N{NO-BREAK SPACE}MiB"):
        assert word in picture.label
    shapes = [node.get("d") for node in root.iter() if node.tag.endswith("path")]
    circles, squares = (sum(mark in d for d in shapes) for mark in ("a4 4", "h8v8"))
    assert circles == squares == 2 * len(SIZES) + 1  # a point in each panel, and one in the key
    assert all("nan" not in d and "inf" not in d for d in shapes)


def test_the_picture_says_in_which_form_each_was_measured():
    both = [*rows(line), *rows(line, name="gloo", in_place_only=True)]
    picture = draw(both, fitted(both))
    for name in ("xla (en otro arreglo)", "gloo (en el mismo arreglo)"):
        assert f"{name}:" in picture.label
        assert f">{name}</text>" in picture.markup


def test_sizes_are_drawn_in_order_however_they_were_measured():
    mixed = rows(line, sizes=[SIZES[3], SIZES[0], SIZES[2]])
    (xla,) = [part for part in draw(mixed, fitted(mixed)).label.split(". ") if part.startswith("xla")]
    assert "con 1\N{NO-BREAK SPACE}KiB; " in xla
    assert xla.endswith("con 64\N{NO-BREAK SPACE}KiB.")


def test_words_for_the_picture_give_time_and_bus_bandwidth():
    (small, large), slow = [1 << 20, 1 << 22], 1e-3
    said = draw(found := rows(lambda size: slow, sizes=[small, large]), fitted(found)).label.replace("\xa0", " ")
    assert "Arriba, tiempo por llamada, según el tamaño; abajo, ancho de banda de bus" in said
    assert "1 ms y 1,57 GB/s con 1 MiB; 1 ms y 6,29 GB/s con 4 MiB." in said


def test_a_refused_model_is_not_drawn():
    jagged = {size: line(size) * (1 + 2 * (number % 2)) for number, size in enumerate(SIZES)}
    smooth, rough = rows(line), rows(jagged.__getitem__)
    assert draw(smooth, fitted(smooth)).markup.count('fill="none"') == 3
    assert draw(rough, fitted(rough)).markup.count('fill="none"') == 0


def test_nothing_timed_is_nothing_to_draw():
    with pytest.raises(ValueError, match="xla a --impl"):
        draw([interpreted()], [])


def ran(*words):
    found = RUN.invoke(app, ["bench", *words], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert not isinstance(found.exception, Exception), found.exception
    return found


def test_json_is_one_line_with_rows_by_size(tmp_path):
    plot = tmp_path / "plot.svg"
    words = ["--sizes", "1K,4K", "--impl", "xla,chunked", "--plot", str(plot), "--json"]
    found = ran("all-reduce", *words, *TINY)
    record = json.loads(found.stdout)
    assert found.stdout.count("\n") == 1
    assert found.exit_code == 0
    names = [(row["size"], row["contestant"]) for row in record["rows"]]
    assert names == [(1024, "xla"), (1024, "chunked"), (4096, "xla"), (4096, "chunked")]
    assert record["environment"]["versions"]["jax"]
    assert plot.read_text(encoding="utf-8").startswith("<svg")


def test_help_names_what_each_option_takes():
    from tpu_kernels.bench.collective_case import ITEM_SIZES
    from tpu_kernels.bench.collective_peers import PEERS
    from tpu_kernels.bench.collectives import IMPLEMENTATIONS

    said = ran("all-reduce", "--help").stdout
    assert [name for name in (*ITEM_SIZES, *PEERS, *IMPLEMENTATIONS) if name not in said] == []


def test_too_few_devices_are_told_of_the_option_that_simulates_them():
    with pytest.raises(ValueError, match="en la terminal, con --simulate"):
        RUN.invoke(app, ["bench", "all-reduce", "--devices", "64"], catch_exceptions=False)


@pytest.mark.parametrize("collective", ["all-gather", "reduce-scatter", "all-to-all", "broadcast", "permute"])
def test_each_collective_has_its_command(collective):
    found = ran(collective, "--max", "1K", "--lang", "pt", *TINY)
    assert found.exit_code == 0
    assert f"{collective} em 2 ranks" in found.stdout


def test_an_absent_peer_does_not_stop_the_run():
    found = ran("all-reduce", "--max", "1K", "--peers", "gloo", "--peer-python", "no/such/python", *TINY)
    assert found.exit_code == 0
    assert "no/such/python" in found.stdout


def test_a_wrong_result_is_an_exit_status(monkeypatch):
    from tpu_kernels.bench import collectives

    monkeypatch.setattr(collectives.collectives, "all_reduce", lambda x, axis_name, op, impl: x)
    assert ran("all-reduce", "--max", "1K", *TINY).exit_code == 1
