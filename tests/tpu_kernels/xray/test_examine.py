"""``xray`` from the call to the report: on real compilers, from the cache, and around what is refused before either."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tests.tpu_kernels.xray import kernels
from tpu_kernels.xray import Report, examine, targets, xray
from tpu_kernels.xray.cache import Cache
from tpu_kernels.xray.errors import FlagError, LimitError, ProgramError, UnknownTargetError
from tpu_kernels.xray.libtpu import Libtpu

FUNCTION, SPECS = kernels.CASES["matmul"]


def test_a_kernel_from_call_to_report_and_again_from_the_cache(
    compiler: Libtpu, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = xray(FUNCTION, *SPECS, chip="TPU v5e")
    assert (report.name, report.chip, report.topology, report.device_kind) == (
        "product",
        "v5e",
        "v5e:2x2",
        "TPU v5 lite",
    )
    assert (report.cycles.label, report.cycles.reason) == ("simulated", "")
    assert report.versions["libtpu"] == compiler.version
    assert report.kernels[0].mxu_flops == report.flops == 2 * 512 * 1024 * 512
    assert len(list(own_cache.iterdir())) == 1

    monkeypatch.setattr(examine, "compilation", None)  # would fail if it were called
    began = time.process_time()
    again = xray(FUNCTION, *(jax.ShapeDtypeStruct(spec.shape, spec.dtype) for spec in SPECS))
    assert time.process_time() - began < 1
    assert again == report


def test_an_entry_of_the_cache_that_is_no_report_is_made_again(compiler: Libtpu, own_cache: Path) -> None:
    report = xray(FUNCTION, *SPECS, simulate=False)
    (path,) = own_cache.iterdir()
    kept = Cache()
    for other in ({}, {"schema": 1}, {**report.to_dict(), "kernels": [{}]}, {**report.to_dict(), "schema": 0}):
        kept.put(path.name.partition(".")[0], other)
        assert xray(FUNCTION, *SPECS, simulate=False) == report


@pytest.mark.parametrize("chip", ["v4", "v5p", "v6e", "tpu7x"])
def test_every_generation(compiler: Libtpu, chip: str) -> None:
    report = xray(FUNCTION, *SPECS, chip=chip)
    known = targets.target(chip).simulates(compiler.version)
    assert report.cycles.label == ("simulated" if known else "modelled")
    assert report.kernels[0].mxu_flops == report.flops
    assert report.of_peak is not None and 0 < report.of_peak < 1


def test_flags_are_passed_and_change_the_report(compiler: Libtpu) -> None:
    function, specs = kernels.mlp(1024)
    usual = xray(function, *specs, simulate=False)
    assert any(move.ahead for move in usual.moves)
    other = xray(function, *specs, simulate=False, flags=["--xla_msa_max_cross_program_prefetches=0"])
    assert not any(move.ahead for move in other.moves)
    assert other.flags == ("--xla_msa_max_cross_program_prefetches=0",)
    assert {usual.cycles.reason, other.cycles.reason} == {"asked"}


def test_a_simulation_without_an_end_falls_back_to_the_model_and_is_not_kept(
    compiler: Libtpu, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examine, "SIMULATION_SECONDS", 3)
    function, specs = kernels.matmul(4096, 4096, 4096, (512, 512, 512))
    report = xray(function, *specs)
    assert (report.cycles.label, report.cycles.reason) == ("modelled", "time")
    assert report.kernels[0].steps == 512
    assert report.cycles.value is not None
    assert not own_cache.exists()


def test_more_steps_than_are_worth_simulating_are_not_tried(compiler: Libtpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "MOST_STEPS", 7)
    report = xray(FUNCTION, *SPECS)
    assert (report.cycles.label, report.cycles.reason) == ("modelled", "steps")


def test_no_time_is_a_limit_that_is_told(compiler: Libtpu) -> None:
    with pytest.raises(LimitError, match=r"en 1 s.*seconds="):
        xray(FUNCTION, *SPECS, seconds=1, simulate=False, cache=False)


def test_without_a_cache_nothing_is_kept(compiler: Libtpu, own_cache: Path) -> None:
    xray(FUNCTION, *SPECS, simulate=False, cache=False)
    assert not own_cache.exists()


@pytest.mark.parametrize("topology", ["v6e:2x2", "v5e", "v5e:", "v5e:2x2; rm", "2x2"])
def test_a_slice_of_another_generation_is_refused(compiler: Libtpu, topology: str) -> None:
    with pytest.raises(UnknownTargetError, match="v5e:2x2"):
        xray(FUNCTION, *SPECS, topology=topology)


def test_an_unknown_chip_is_refused() -> None:
    with pytest.raises(UnknownTargetError, match="v5e"):
        xray(FUNCTION, *SPECS, chip="v9")


@pytest.mark.parametrize("flag", ["xla_tpu_x=1", "-x", ""])
def test_a_flag_without_two_dashes_is_refused(flag: str) -> None:
    with pytest.raises(FlagError, match=f"'{flag}' no es una opción"):
        xray(FUNCTION, *SPECS, flags=["--x=1", flag])


def test_what_cannot_be_traced_is_refused(compiler: Libtpu) -> None:
    def wrong(a: Any) -> Any:
        return a.no_such_thing

    with pytest.raises(ProgramError, match="no_such_thing"):
        xray(wrong, jax.ShapeDtypeStruct((8, 128), jnp.float32))


def test_importing_it_imports_no_jax() -> None:
    script = "import sys, tpu_kernels.xray; sys.exit('jax' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_there_is_nothing_else_to_import() -> None:
    import tpu_kernels.xray

    assert tpu_kernels.xray.Report is Report
    with pytest.raises(AttributeError):
        _ = tpu_kernels.xray.no_such_name
