"""Entries by content: whole or not there, shared by processes, never taken from another version or a damaged file."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tpu_kernels.xray import cache
from tpu_kernels.xray.cache import Cache, key

VALUE = {"cycles": {"value": 23832}, "kernels": [1, 2.5, None, "ñ"]}


def test_what_is_put_is_got(tmp_path: Path) -> None:
    kept = Cache(tmp_path / "new" / "folder")
    assert kept.get("a") is None
    kept.put("a", VALUE)
    assert kept.get("a") == VALUE
    assert kept.get("b") is None
    assert (tmp_path / "new" / "folder").stat().st_mode & 0o777 == 0o700


def test_every_part_is_in_the_name() -> None:
    parts = {"program": b"code", "chip": "v5e", "flags": ["--a"], "versions": {"libtpu": "1"}, "simulate": None}
    names = {key(**parts)}
    for other in (
        {"program": b"codf"},
        {"chip": "v6e"},
        {"flags": ["--b"]},
        {"versions": {"libtpu": "2"}},
        {"simulate": False},
    ):
        names.add(key(**{**parts, **other}))
    assert len(names) == 6
    assert key(**parts) == key(**dict(reversed(parts.items())))


def test_parts_cannot_run_into_each_other() -> None:
    assert key(a=b"xb:1:y", b=b"") != key(a=b"x", b=b"y")
    assert key(a=b"1", b=b"23") != key(a=b"12", b=b"3")


def test_our_own_code_is_in_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(program=b"")
    monkeypatch.setattr(cache, "_own_code", lambda: b"another version of the parser")
    assert key(program=b"") != before


def entry(folder: Path, name: str = "a") -> Path:
    return folder / f"{name}.json.gz"


def test_a_damaged_entry_is_not_used(tmp_path: Path) -> None:
    kept = Cache(tmp_path)
    kept.put("a", VALUE)
    whole = entry(tmp_path).read_bytes()
    torn = whole[:40] + b"\xff" * 40 + whole[80:]
    deep = gzip.compress(b"[" * 200_000)
    for damaged in (
        b"",
        whole[:20],
        whole[:-9],
        torn,
        deep,
        b"no gzip",
        gzip.compress(b"no json"),
        gzip.compress(b"[]"),
    ):
        entry(tmp_path).write_bytes(damaged)
        assert kept.get("a") is None


def test_an_entry_that_was_changed_or_renamed_is_not_used(tmp_path: Path) -> None:
    kept = Cache(tmp_path)
    kept.put("a", VALUE)
    found = json.loads(gzip.decompress(entry(tmp_path).read_bytes()))
    found["value"]["cycles"]["value"] = 1
    entry(tmp_path, "b").write_bytes(gzip.compress(json.dumps(found).encode()))
    entry(tmp_path, "c").write_bytes(entry(tmp_path).read_bytes())
    assert kept.get("b") is None
    assert kept.get("c") is None


def test_an_entry_that_unpacks_without_end_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Cache(tmp_path)
    kept.put("a", VALUE)
    monkeypatch.setattr(cache, "MOST_BYTES", 20)
    assert kept.get("a") is None


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("no home")

    for name in ("SISTOLICA_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    kept = Cache()
    kept.put("a", VALUE)
    assert kept.get("a") is None


def test_no_folder_to_write_in_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    kept = Cache(tmp_path / "file" / "below")
    kept.put("a", VALUE)
    assert kept.get("a") is None


def test_the_oldest_go_when_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setattr(cache, "MOST_ENTRIES", 3)
    kept = Cache(tmp_path)
    for age, name in enumerate("abcde"):
        kept.put(name, VALUE)
        os.utime(entry(tmp_path, name), (1000 + age, 1000 + age))
    kept.put("f", VALUE)
    assert [name for name in "abcdef" if kept.get(name)] == ["d", "e", "f"]
    assert not list(tmp_path.glob("*.part"))


WRITE = """
import sys
from pathlib import Path
from tpu_kernels.xray.cache import Cache
for turn in range(200):
    Cache(Path(sys.argv[1])).put("a", {"writer": sys.argv[2], "turn": [turn] * 500})
    found = Cache(Path(sys.argv[1])).get("a")
    assert found is not None and len(set(found["turn"])) == 1, found
"""


def test_processes_that_write_the_same_entry_do_not_disturb_each_other(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITE, str(tmp_path), str(number)]) for number in range(3)]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["a.json.gz"]


def test_the_folder_is_the_users_unless_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SISTOLICA_CACHE", str(tmp_path / "mine"))
    assert Cache().folder == tmp_path / "mine" / "xray"
    monkeypatch.delenv("SISTOLICA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert Cache().folder == tmp_path / "cache" / "sistolica" / "xray"
