"""PyTorch/XLA: the pair that does not match, and devices that were taken too soon."""

import pytest

from tpu_kernels.doctor.probe import Failure
from tpu_kernels.doctor.torch_xla import find

UNDEFINED = Failure("raised", "ImportError: /x/_XLAC.so: undefined symbol: _ZN2at4_ops5dummyE")


def kinds(found):
    return [(finding.kind, finding.severity) for finding in found]


def versions(torch: str | None, torch_xla: str | None) -> dict[str, str]:
    both = {"jax": "0.10.2", "torch": torch, "torch_xla": torch_xla}
    return {name: version for name, version in both.items() if version is not None}


@pytest.mark.parametrize(
    ("torch", "torch_xla"), [(None, None), ("2.9.1+cpu", None), ("2.9.1+cu128", "2.9.0"), (None, "2.9.0")]
)
def test_a_pair_of_one_series_or_no_pair_is_no_finding(evidence, torch: str | None, torch_xla: str | None) -> None:
    assert find(evidence(installed=versions(torch, torch_xla))) == []


def test_two_series_are_an_error_before_anything_is_imported(evidence) -> None:
    found = find(evidence(installed=versions("2.13.0", "2.9.0")))
    assert kinds(found) == [("torch_pair", "error")]
    assert found[0].message == "torch 2.13.0 y torch_xla 2.9.0 no casan (son de series distintas)."
    assert "pip install 'torch==2.9.*' 'torch_xla==2.9.*'" in found[0].cure


def test_an_import_that_takes_its_time_is_no_mismatch(evidence) -> None:
    slow = Failure("timed_out", "120 s")
    assert find(evidence(installed=versions("2.9.1", "2.9.0"), torch_xla_failure=slow)) == []


def test_an_undefined_symbol_is_an_error_whatever_the_versions(evidence) -> None:
    found = find(evidence(installed=versions("2.9.1", "2.9.0"), torch_xla_failure=UNDEFINED))
    assert kinds(found) == [("torch_pair", "error")]
    assert "undefined symbol: _ZN2at4_ops5dummyE" in found[0].message


@pytest.mark.parametrize(
    ("torch", "said", "pair"),
    [
        ("2.9.1", "torch 2.9.1 y torch_xla (versión desconocida) no casan", "'torch==2.9.*' 'torch_xla==2.9.*'"),
        (None, "torch (sin instalar) y torch_xla (versión desconocida) no casan", "torch torch_xla"),
    ],
)
def test_a_torch_xla_without_metadata_has_no_version(evidence, torch: str | None, said: str, pair: str) -> None:
    found = find(evidence(installed=versions(torch, None), torch_xla_failure=UNDEFINED))
    assert found[0].message.startswith(said)
    assert f"pip install {pair}." in found[0].cure


def test_a_runtime_that_has_started_is_told(evidence) -> None:
    found = find(evidence("tpu", torch_xla_started=True))
    assert kinds(found) == [("device_claimed", "warning")]
    assert found[0].cure.startswith("Reinicia el kernel; no consultes el dispositivo antes")


def test_a_tpu_that_jax_took_is_told_where_torch_xla_is_in_use(evidence) -> None:
    installed = versions("2.9.1", "2.9.0")
    assert kinds(find(evidence("tpu", installed=installed, jax_started=True))) == [("device_claimed", "warning")]
    for untouched in (
        evidence("tpu", installed=installed),
        evidence("tpu", jax_started=True),
        evidence("cpu", installed=installed, jax_started=True),
    ):
        assert find(untouched) == []
