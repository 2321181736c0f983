"""Another libtpu may write other dumps: what is not understood, or does not agree, is refused or not known.

Each case changes a real dump as a new version of the compiler might, or as an unlucky copy might.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tpu_kernels.xray import stored
from tpu_kernels.xray import kernel_dump, targets
from tpu_kernels.xray.dissect import kernels
from tpu_kernels.xray.errors import DumpError
from tpu_kernels.xray.record import Kernel

NAMES = ("matmul-v4", "matmul-v5e", "matmul-v5p", "matmul-v6e", "matmul-tpu7x", "elementwise-v5e", "mlp-v5e")
PALLAS = tuple(name for name in NAMES if not name.startswith("mlp"))
PRODUCTS = tuple(name for name in NAMES if not name.startswith("elementwise"))
SIMULATED = ("matmul-v5e", "matmul-v5p", "matmul-v6e", "mlp-v5e")


def dissected(name: str, found: dict[str, Any], folder: Path) -> tuple[Kernel, ...]:
    target = targets.target(name.rpartition("-")[2])
    return kernels(stored.unpack(found, folder), stored.program(name).calls, target, "")


def changed(name: str, kind: str, change: Callable[[str], str]) -> dict[str, Any]:
    """The entry with one kind of file changed, in every kernel; the change must change something."""
    found = stored.entry(name)
    files = {file: change(text) if kind in file else text for file, text in found["files"].items()}
    assert files != found["files"]
    return {**found, "files": files}


def replaced(pattern: str, new: str | Callable[[re.Match[str]], str]) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, new, text, flags=re.MULTILINE)


def more_trips(by: int) -> Callable[[str], str]:
    pattern = r"(totalorder %\S+, )(\d+)( /\* loop exit test)"
    return replaced(pattern, lambda found: f"{found[1]}{int(found[2]) + by}{found[3]}")


def half_renamed(text: str) -> str:
    return text.replace("vmatmul.", "vfma.", text.count("vmatmul.") // 2)


BUNDLES = f"-{kernel_dump.BUNDLES}.txt"
IN_BUNDLES: dict[str, tuple[tuple[str, ...], Callable[[str], str]]] = {
    "a bundle is lost": (NAMES, replaced(r"^ *0x5 .*\n", "")),
    "a bundle is there twice": (NAMES, replaced(r"^( *0x5 .*\n)", r"\1\1")),
    "the end is lost": (NAMES, lambda text: text[: len(text) // 2]),
    "addresses are decimal": (NAMES, replaced(r"^ *0x([0-9a-f]+) ", lambda found: f"  {int(found[1], 16)} ")),
    "addresses count bytes": (NAMES, replaced(r"^( *0x[0-9a-f]+) ", r"\g<1>0 ")),
    "instructions are separated otherwise": (NAMES, replaced(r"  ;;  ", " | ")),
    "no equals sign": (NAMES, replaced(r"(%[sp]\d+_[sp]\d+) = ", r"\1 <- ")),
    "regions are called blocks": (PALLAS, replaced(r"(Start|End|empty) region", r"\1 block")),
    "branches name labels": (PALLAS, replaced(r"target = \$region", "target = .L")),
    "multiplications have another name": (PRODUCTS, replaced(r"vmatmul", "vmma")),
    "multiplications stand for half": (PRODUCTS, replaced(r"vmatmul(\S*)\.bf16", r"vmatmul\1.f32")),
    "half of the multiplications have another name": (PRODUCTS, half_renamed),
    "a new type is multiplied": (PRODUCTS, replaced(r"vmatmul(\S*)\.bf16", r"vmatmul\1.bf8")),
    "results are popped by another name": (PRODUCTS, replaced(r"= vpop\.", "= vpull.")),
    "stores have another name": (NAMES, replaced(r"= vst ", "= vstore ")),
    "sizes have another name": (NAMES, replaced("size_in_granules", "size_in_bytes")),
    "copies are in another unit": (
        PALLAS,
        replaced(r"(granules=\*/)(\d+)", lambda found: f"{found[1]}{int(found[2]) * 2}"),
    ),
    "the grid is another": (NAMES, replaced(r"^iteration_bounds: \((\d+)", r"iteration_bounds: (7\1")),
    "the loop makes more trips": (PALLAS, more_trips(3)),
    "the loop makes fewer trips": (PALLAS, more_trips(-3)),
    "a register is written twice": (
        NAMES,
        replaced(r"(%s\d+_s\d+) = (smov [^;}]*?)(  ;;| })", r"\1 = \2  ;;  \1 = \2\3"),
    ),
}
IN_PROGRAM = [(case, name) for case, (names, _) in IN_BUNDLES.items() for name in names]


@pytest.mark.parametrize(("case", "name"), IN_PROGRAM)
def test_another_form_of_the_program_is_refused(case: str, name: str, tmp_path: Path) -> None:
    found = changed(name, BUNDLES, IN_BUNDLES[case][1])
    with pytest.raises(DumpError):
        dissected(name, found, tmp_path)


ELSEWHERE: dict[str, tuple[str, Callable[[str], str]]] = {
    "a row is lost": (kernel_dump.TABLE, replaced(r"\n[\d ]+\n\Z", "\n")),
    "a row is there twice": (kernel_dump.TABLE, replaced(r"(\n[\d ]+\n)\Z", r"\1\1")),
    "rows are shifted": (kernel_dump.TABLE, replaced(r"(== UTILIZATION:\n)(.*\n)([\s\S]*)", r"\1\3\2")),
    "columns change places": (kernel_dump.TABLE, replaced("XLU, VALU", "VALU, XLU")),
    "a column more": (kernel_dump.TABLE, replaced("EUP,", "EUP, SPARSE,")),
    "columns are separated otherwise": (kernel_dump.TABLE, replaced(r"^(\d.*)$", lambda m: m[1].replace(" ", ","))),
    "capacities are percent": (kernel_dump.TABLE, replaced(r"^    \d.*$", "100 100 100 100 100 100 100 100 100 100%")),
    "nothing is in the table": (kernel_dump.TABLE, lambda text: ""),
    "another number of bundles": (kernel_dump.SCHEDULE, replaced(r"(total scheduled bundles: +)(\d+)", r"\g<1>1\2")),
    "bundles are called words": (kernel_dump.SCHEDULE, replaced("scheduled bundles", "scheduled words")),
    "nothing was scheduled": (kernel_dump.SCHEDULE, lambda text: ""),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", ELSEWHERE)
def test_another_form_of_the_tables_is_refused(case: str, name: str, tmp_path: Path) -> None:
    kind, change = ELSEWHERE[case]
    with pytest.raises(DumpError):
        dissected(name, changed(name, kind, change), tmp_path)


@pytest.mark.parametrize("kind", [kernel_dump.TABLE, kernel_dump.SCHEDULE, kernel_dump.ALLOCATIONS, BUNDLES])
def test_a_file_that_is_missing_is_refused(kind: str, tmp_path: Path) -> None:
    found = stored.entry("matmul-v5e")
    found["files"] = {file: text for file, text in found["files"].items() if kind not in file}
    with pytest.raises(DumpError):
        dissected("matmul-v5e", found, tmp_path)


@pytest.mark.parametrize("name", SIMULATED)
@pytest.mark.parametrize(
    ("pattern", "new"),
    [
        ("estimated_cycles", "estimated_ticks"),
        (r"estimated_cycles: (\d+)\d", r"estimated_cycles: \1"),  # a tenth
        (r"estimated_cycles: \d+", "estimated_cycles: 1"),
        ("hlo_op_estimate", "hlo_estimate"),
    ],
)
def test_other_cycles_are_refused(pattern: str, new: str, name: str, tmp_path: Path) -> None:
    found = stored.entry(name)
    found["profiles"] = {file: re.sub(pattern, new, text) for file, text in found["profiles"].items()}
    with pytest.raises(DumpError):
        dissected(name, found, tmp_path)


@pytest.mark.parametrize("written", ["0", "-1", "-4096"])
def test_cycles_that_cannot_be_are_not_known(written: str, tmp_path: Path) -> None:
    found = stored.entry("matmul-v5e")
    found["profiles"] = {
        file: re.sub(r"estimated_cycles: \d+", f"estimated_cycles: {written}", text)
        for file, text in found["profiles"].items()
    }
    (kernel,) = dissected("matmul-v5e", found, tmp_path)
    assert (kernel.cycles.label, kernel.cycles.reason) == ("modelled", "unknown")
    assert kernel.cycles.value is not None and kernel.cycles.value > 0


UNFOLLOWED = {
    "comparisons": (r"= scmp\.", "= scompare."),
    "registers of loops": (r"= sphi ", "= phi "),
    "branches": (r"sbr\.rel \(", "sbr.abs ("),
    "spilled registers": (r"_spill\]\]", "_saved]]"),
}


@pytest.mark.parametrize("name", [name for name in PALLAS if name.startswith("matmul")])
@pytest.mark.parametrize("case", UNFOLLOWED)
def test_a_program_that_cannot_be_followed_is_not_guessed(case: str, name: str, tmp_path: Path) -> None:
    (kernel,) = dissected(name, changed(name, BUNDLES, replaced(*UNFOLLOWED[case])), tmp_path)
    unknown = kernel.executed is None
    assert unknown or kernel.hbm("read") is None or kernel.hbm("written") is None
    if unknown:
        assert (kernel.use, kernel.mxu_flops, kernel.regions, kernel.bounds) == (None, None, (), ())


def outcome(found: dict[str, Any], folder: Path) -> tuple[Kernel, ...] | None:
    try:
        return dissected("matmul-v5e", found, folder)
    except DumpError:
        return None


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_line_lost_moved_or_cut_never_breaks_and_never_shows(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever line of the program or the tables is hit: refused, or the report of the whole dump, or less of it."""
    found = stored.entry("matmul-v5e")
    file = data.draw(
        st.sampled_from(sorted(file for file in found["files"] if BUNDLES in file or kernel_dump.TABLE in file))
    )
    lines = found["files"][file].splitlines(keepends=True)
    at = data.draw(st.integers(9, len(lines) - 1))
    how = data.draw(st.sampled_from(["lost", "twice", "cut"]))
    damaged = {"lost": [], "twice": [lines[at]] * 2, "cut": [lines[at][: len(lines[at]) // 2] + "\n"]}[how]
    lines[at : at + 1] = damaged
    whole = dissected("matmul-v5e", stored.entry("matmul-v5e"), tmp_path_factory.mktemp("whole"))
    found["files"][file] = "".join(lines)
    after = outcome(found, tmp_path_factory.mktemp("damaged"))
    if after is not None:
        (before,), (now,) = whole, after
        assert (now.flops, now.cycles) == (before.flops, before.cycles)
        assert now.executed in {None, before.executed}
        assert now.mxu_flops in {None, before.mxu_flops}
        assert now.hbm("read") in {None, before.hbm("read")}
        assert now.hbm("written") in {None, before.hbm("written")}
