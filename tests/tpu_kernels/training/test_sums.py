"""Sums of files: whatever is changed, cut, lost or added."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.training import sums
from tpu_kernels.training.sums import NAME, damaged, write_sums


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(bytes(range(256)))
    (tmp_path / "empty").touch()
    write_sums(tmp_path)
    return tmp_path


def test_what_was_recorded_is_sound_and_so_is_what_never_was(folder: Path) -> None:
    assert damaged(folder) is None
    (folder / "later").write_text("more")
    assert damaged(folder) is None
    assert damaged(folder / "a") is None
    assert sorted(json.loads((folder / NAME).read_text())) == ["a/b/c", "empty"]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 255), st.integers(1, 255))
def test_any_changed_byte_is_seen(tmp_path_factory: pytest.TempPathFactory, at: int, by: int) -> None:
    folder = tmp_path_factory.mktemp("sums")
    data = bytearray(range(256))
    (folder / "file").write_bytes(data)
    write_sums(folder)
    data[at] ^= by
    (folder / "file").write_bytes(data)
    assert damaged(folder) == "file"


def test_a_file_that_is_cut_gone_or_no_longer_empty_is_named(folder: Path) -> None:
    file = folder / "a" / "b" / "c"
    file.write_bytes(file.read_bytes()[:-1])
    assert damaged(folder) == "a/b/c"
    file.unlink()
    assert damaged(folder) == "a/b/c"
    file.write_bytes(bytes(range(256)))
    (folder / "empty").write_bytes(b"\0")
    assert damaged(folder) == "empty"


@pytest.mark.parametrize("record", ["", "{", "[]", "7", '{"empty": null}', '{"empty": "x"}'])
def test_a_record_that_is_none_is_damage_too(folder: Path, record: str) -> None:
    (folder / NAME).write_text(record)
    assert damaged(folder) == NAME


def test_a_large_file_is_read_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "CHUNK", 100)  # the sums are those of whole files
    assert damaged(folder) is None
    write_sums(folder)
    monkeypatch.undo()
    assert damaged(folder) is None
