"""The look at jax in this very process, and what it prints in one of its own."""

import json
import sys
import types

import jax
import pytest

from tpu_kernels.backend import BackendError
from tpu_kernels.doctor import look
from tpu_kernels.doctor.look import Sight, main, sight


def test_what_jax_has_here_is_seen() -> None:
    seen = sight()
    assert (seen.here.platform, seen.here.count, seen.x64) == ("cpu", len(jax.devices()), False)
    assert seen.kernels_failure is None
    assert seen.matmul is not None
    assert seen.matmul[0] == "xla"


def test_kernels_that_cannot_be_loaded_do_not_hide_the_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tpu_kernels.kernels", None)
    seen = sight()
    assert seen.here.count == len(jax.devices())
    assert seen.matmul is None
    assert seen.kernels_failure is not None
    assert "tpu_kernels.kernels" in seen.kernels_failure


def test_a_setting_that_the_kernels_refuse_does_not_hide_the_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    def plan(*_: object) -> None:
        raise BackendError("JAX_PLATFORMS came too late")

    monkeypatch.setitem(sys.modules, "tpu_kernels.kernels", types.SimpleNamespace(plan=plan))
    seen = sight()
    assert seen.here.count == len(jax.devices())
    assert (seen.matmul, seen.kernels_failure) == (None, None)


def test_the_sight_is_the_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    sys.stdout.write("noise of a library")
    main()
    assert Sight.from_dict(json.loads(capsys.readouterr().out.splitlines()[-1])) == sight()


def test_an_error_is_the_last_line_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> Sight:
        raise AssertionError

    monkeypatch.setattr(look, "sight", fail)
    with pytest.raises(AssertionError):
        main()
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"error": "AssertionError: "}
