"""What there is to compute on: told as it is, demanded in one line, simulated only while that still works."""

import os
import subprocess
import sys
import types
import warnings
from collections.abc import Callable
from dataclasses import replace

import jax
import pytest

import tpu_kernels
from tpu_kernels import backend, messages
from tpu_kernels.backend import BackendError, FallbackWarning, Here
from tpu_kernels.machine import process
from tpu_kernels.machine.attached import Attached, attached
from tpu_kernels.models import hardware

V5E = Here("tpu", 8, "TPU v5 lite", "tpu_v5e", None)
H200 = Here("gpu", 1, "NVIDIA H200", "nvidia_h200_sxm", "9.0")
no_accelerator = pytest.mark.skipif(attached() != Attached(), reason="this machine has an accelerator")
NO_JELLYFISH = "Unable to initialize backend 'tpu': NOT_FOUND: TPU initialization failed: No jellyfish device found."


def run(code: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """Python in a process whose environment says nothing of jax but ``environ``."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    environ = {**inherited, "SISTOLICA_LANG": "es", **environ}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=False)


@pytest.fixture
def jax_fails(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    def fail(error: Exception) -> None:
        def look() -> Here:
            raise error

        monkeypatch.setattr(backend, "look", look)
        monkeypatch.setattr(backend, "attached", Attached)

    return fail


# here


def test_importing_the_backend_imports_no_jax() -> None:
    assert run("import tpu_kernels.backend, sys; assert 'jax' not in sys.modules").returncode == 0


def test_here_tells_what_jax_sees() -> None:
    assert backend.here() == Here("cpu", 8, "cpu", None, None)


def test_a_gpu_tells_its_compute_capability(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = types.SimpleNamespace(platform="gpu", device_kind="NVIDIA H200", compute_capability="9.0")
    monkeypatch.setattr(jax, "devices", lambda: [gpu])
    assert backend.here() == H200


@no_accelerator
@pytest.mark.parametrize(("asked", "accelerator"), [("cuda", "GPU"), ("tpu,cpu", "TPU")])
def test_a_platform_that_is_not_here_is_one_line_with_its_cure(asked: str, accelerator: str) -> None:
    ended = run("from tpu_kernels.backend import here; here()", JAX_PLATFORMS=asked)
    line = ended.stderr.splitlines()[-1]
    assert ended.returncode == 1
    assert "the above exception" not in ended.stderr.lower()
    assert line.startswith(f"tpu_kernels.backend.BackendError: JAX_PLATFORMS={asked} pide {asked.split(',')[0]}, ")
    assert "esta máquina solo tiene: cpu." in line
    assert f"Entorno de ejecución > Cambiar tipo de entorno de ejecución > {accelerator}" in line


def test_a_misspelt_platform_is_met_with_the_nearest_one() -> None:
    ended = run("from tpu_kernels.backend import here; here()", JAX_PLATFORMS="tpus", SISTOLICA_LANG="pt")
    assert ended.returncode == 1
    assert "BackendError: JAX_PLATFORMS=tpus: o jax não conhece nenhuma plataforma 'tpus'." in ended.stderr
    assert "Você quis dizer tpu?" in ended.stderr


@no_accelerator
def test_without_the_variable_the_cpu_is_plainly_the_cpu() -> None:
    ended = run("from tpu_kernels import backend as b; print(b.describe(b.here()))")
    assert ended.stdout == "la CPU, dispositivos: 1. jax no encontró TPU ni GPU.\n"


@no_accelerator
def test_a_platform_named_too_late_is_refused() -> None:
    code = "import os, jax; os.environ['JAX_PLATFORMS'] = 'tpu'; from tpu_kernels.backend import here; here()"
    ended = run(code)
    assert "BackendError: JAX_PLATFORMS=tpu llegó tarde: jax ya corre en cpu" in ended.stderr
    assert "primera celda" in ended.stderr


def test_a_dash_that_is_none_is_found_before_jax_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "-–xla_force_host_platform_device_count=4")
    monkeypatch.setattr(backend, "look", lambda: pytest.fail("jax was started"))
    with pytest.raises(BackendError, match=r"«–» \(U\+2013, EN DASH\)"):
        backend.here()


def test_without_jax_the_cure_is_to_install_it(jax_fails: Callable[[Exception], None]) -> None:
    jax_fails(ModuleNotFoundError("No module named 'jax'", name="jax"))
    with pytest.raises(BackendError, match=r"pip install 'jax>=0\.8'"):
        backend.here()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ImportError("libcuda.so.1: cannot open"), "(libcuda.so.1: cannot open)"),
        (ModuleNotFoundError("No module named 'scipy'", name="scipy"), "(No module named 'scipy')"),
        (RuntimeError("jaxlib version 0.9 is newer\n  than jax"), "(jaxlib version 0.9 is newer than jax)"),
        (AssertionError(), "(AssertionError)"),
    ],
)
def test_any_other_failure_is_told_in_jaxs_own_words(
    jax_fails: Callable[[Exception], None], error: Exception, words: str
) -> None:
    jax_fails(error)
    with pytest.raises(BackendError) as refused:
        backend.here()
    assert words in str(refused.value)
    assert "sistolica doctor" in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_a_platform_set_in_the_program_is_the_one_that_was_asked_for(
    jax_fails: Callable[[Exception], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    jax_fails(RuntimeError(NO_JELLYFISH))
    monkeypatch.setattr(process, "jax_platforms", lambda: "tpu")
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    with pytest.raises(BackendError, match="JAX_PLATFORMS=tpu pide tpu"):
        backend.here()


# The chip


@pytest.mark.parametrize(
    ("kind", "chip"),
    [
        ("TPU v2", "tpu_v2"),
        ("TPU v3", "tpu_v3"),
        ("TPU v4", "tpu_v4"),
        ("TPU v5 lite", "tpu_v5e"),
        ("TPU v5e", "tpu_v5e"),
        ("TPU v5", "tpu_v5p"),
        ("TPU v5p", "tpu_v5p"),
        ("TPU v6 lite", "tpu_v6e"),
        ("TPU v6e", "tpu_v6e"),
        ("TPU7x", "tpu_7x"),
        ("NVIDIA H200", "nvidia_h200_sxm"),
        ("NVIDIA A100-SXM4-40GB", "nvidia_a100_40gb"),
    ],
)
def test_a_known_kind_gives_its_chip(kind: str, chip: str) -> None:
    assert backend.catalogued_chip(kind) == chip
    assert hardware.chip(chip).id == chip


@pytest.mark.parametrize(
    "kind", ["TPU v4 lite", "TPU v9", "TPU7", "NVIDIA H100 PCIe", "NVIDIA H200 NVL", "Tesla T4", "cpu", ""]
)
def test_an_unknown_kind_is_not_guessed(kind: str) -> None:
    assert backend.catalogued_chip(kind) is None


def test_every_board_is_in_the_catalogue() -> None:
    assert {hardware.chip(chip).id for chip in backend.NVIDIA_BOARDS.values()} == {*backend.NVIDIA_BOARDS.values()}


# describe


def test_a_tpu_is_described_with_its_chip() -> None:
    line = "tpu, dispositivos: 8 (TPU v5 lite; en el catálogo: Cloud TPU v5e). Es lo mejor que jax encontró aquí."
    assert backend.describe(V5E) == line


def test_a_chip_outside_the_catalogue_says_so() -> None:
    described = backend.describe(replace(H200, kind="Tesla T4", chip=None))
    assert described.startswith("gpu, dispositivos: 1 (Tesla T4; en el catálogo: no está).")


def test_simulated_devices_are_called_that() -> None:
    messages.use("pt")
    assert (
        backend.describe(Here("cpu", 8, "cpu", None, None))
        == "a CPU, dispositivos: 8. São dispositivos simulados na CPU."
    )


def test_a_platform_that_was_asked_for_is_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "jax_platforms", lambda: "cuda")
    assert backend.describe(H200).endswith("Lo pide JAX_PLATFORMS=cuda.")


# announce


@pytest.fixture
def nothing_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_announced", set())


@pytest.mark.usefixtures("nothing_announced")
def test_a_fallback_is_announced_once_at_the_callers_line() -> None:
    with pytest.warns(FallbackWarning, match="interpretado") as heard:
        backend.announce("interpretado")
    assert heard[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        backend.announce("interpretado")
    with pytest.warns(FallbackWarning, match="otro"):
        backend.announce("otro")


@pytest.mark.usefixtures("nothing_announced")
def test_a_notice_from_inside_the_library_points_at_who_called_it() -> None:
    inside = compile("announce('dentro')", f"{tpu_kernels.__path__[0]}/kernels/gemm/product.py", "exec")
    with pytest.warns(FallbackWarning, match="dentro") as heard:
        exec(inside, {"announce": backend.announce})
    assert heard[0].filename == __file__


# require_devices


def test_devices_are_given_in_order() -> None:
    assert backend.require_devices(3) == jax.devices()[:3]
    assert backend.require_devices(8) == jax.devices()


def test_too_few_devices_are_told_with_both_numbers_and_two_ways_out() -> None:
    with pytest.raises(ValueError, match=r"Pediste 9 dispositivos y hay 8 \(cpu\)\. Usa n=8, o simula 9 en la CPU"):
        backend.require_devices(9)


@pytest.mark.parametrize("n", [0, -1, 1.5, "8", True, None])
def test_a_number_of_devices_is_a_whole_number(n: int) -> None:
    for demand in (backend.require_devices, backend.simulate_devices):
        with pytest.raises(ValueError, match="n: se recibió"):
            demand(n)


# simulate_devices

SIMULATE = "from tpu_kernels.backend import here, simulate_devices as s\n"


@pytest.mark.parametrize("before", ["", "import jax\n", "import jax; jax.config.update('jax_num_cpu_devices', 2)\n"])
def test_devices_are_simulated_before_the_first_use(before: str) -> None:
    code = f"{before}{SIMULATE}s(3); s(3); print(here().count); s(3); import os; print(os.environ['NPROC'])"
    ended = run(code, XLA_FLAGS="--xla_force_host_platform_device_count=5 --xla_cpu_enable_fast_math=false")
    assert ended.stdout == "3\n64\n", ended.stderr


def test_simulated_devices_take_the_place_of_the_platform_that_was_named() -> None:
    ended = run(f"import jax\n{SIMULATE}s(2); print(here().count)", JAX_PLATFORMS="tpu")
    assert ended.stdout == "2\n", ended.stderr


def test_what_the_reader_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "jax_started", lambda: False)
    monkeypatch.delitem(sys.modules, "jax")
    monkeypatch.setenv("NPROC", "9")
    monkeypatch.setenv("JAX_PLATFORMS", "tpu")
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=/x")
    backend.simulate_devices(4)
    assert os.environ["NPROC"] == "9"
    assert os.environ["JAX_PLATFORMS"] == "cpu"
    assert os.environ["XLA_FLAGS"] == "--xla_dump_to=/x --xla_force_host_platform_device_count=4"


def test_many_devices_get_a_wider_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "jax_started", lambda: False)
    monkeypatch.delitem(sys.modules, "jax")
    for name in ("XLA_FLAGS", "JAX_PLATFORMS"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("NPROC", "")
    del os.environ["NPROC"]
    backend.simulate_devices(256)
    assert int(os.environ["NPROC"]) >= 3 * 256


def test_simulating_what_is_there_is_no_fault() -> None:
    before = dict(os.environ)
    backend.simulate_devices(8)
    assert os.environ == before


def test_simulating_too_late_is_refused() -> None:
    before = dict(os.environ)
    with pytest.raises(RuntimeError, match=r"Pediste 4 .*\(cpu, dispositivos: 8\).*Reinicia .* primera celda"):
        backend.simulate_devices(4)
    assert os.environ == before


def test_an_odd_dash_is_refused_before_anything_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "—xla_dump_to=/x")
    with pytest.raises(BackendError, match=r"U\+2014"):
        backend.simulate_devices(4)
