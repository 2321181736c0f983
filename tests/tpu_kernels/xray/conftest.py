"""Every test has a cache of its own; those that compile are skipped, with the reason, where there is no compiler."""

from pathlib import Path
from typing import Any

import pytest

from tests.tpu_kernels.xray import stored
from tpu_kernels.xray import Report, examine, libtpu
from tpu_kernels.xray.errors import CompileError, MissingCompilerError
from tpu_kernels.xray.libtpu import Libtpu


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SISTOLICA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "xray"


@pytest.fixture(scope="session")
def compiler() -> Libtpu:
    try:
        return libtpu.find()
    except MissingCompilerError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the compiler is asked for, which is replaced by stored reports; for v5p it refuses."""
    calls: list[dict[str, Any]] = []

    def xray(function: Any, *specs: Any, chip: str, **options: Any) -> Report:
        calls.append({"function": function, "specs": specs, "chip": chip, **options})
        if chip == "v5p":
            raise CompileError("no cabe en VMEM", "RESOURCE_EXHAUSTED", "vmem")
        return stored.report(f"matmul-{chip}")

    monkeypatch.setattr(examine, "xray", xray)
    return calls
