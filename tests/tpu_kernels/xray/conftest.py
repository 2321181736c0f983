"""Every test has a cache of its own; those that compile are skipped, with the reason, where there is no compiler."""

from pathlib import Path

import pytest

from tpu_kernels.xray import libtpu
from tpu_kernels.xray.errors import MissingCompilerError
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
