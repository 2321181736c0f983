"""From a folder to a list of submissions: layouts, names, several notebooks, what is left aside."""

import errno
import json
import os
import unicodedata
from pathlib import Path

import pytest

from graders.intake import left_aside, read_submissions

IDS = frozenset({"add", "scale"})


def read(folder):
    return {submission.learner: submission for submission in read_submissions(folder, "tiny", IDS)}


def put(path, content="{}"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


@pytest.fixture
def sound(tiny):
    return json.dumps(tiny.notebook())


def test_the_three_layouts(tmp_path, sound):
    put(tmp_path / "ana" / "tiny" / "tiny.ipynb", sound)
    put(tmp_path / "bia" / "tiny.ipynb", sound)
    put(tmp_path / "caio.ipynb", sound)
    found = read(tmp_path)
    assert [(name, one.status, one.key) for name, one in found.items()] == [
        ("ana", "ok", "ana"),
        ("bia", "ok", "bia"),
        ("caio", "ok", "caio"),
    ]
    assert all(one.notices == () for one in found.values())


def test_the_order_is_that_of_the_names(tmp_path, sound):
    for name in ("zoe", "Ana", "bia", "ána"):
        put(tmp_path / name / "tiny.ipynb", sound)
    assert list(read(tmp_path)) == sorted(["zoe", "Ana", "bia", "ána"])


def test_a_folder_without_a_notebook_is_listed(tmp_path):
    put(tmp_path / "davi" / "tiny" / "LEEME.txt")
    (tmp_path / "eva").mkdir()
    assert {name: one.status for name, one in read(tmp_path).items()} == {"davi": "no-notebook", "eva": "no-notebook"}


def test_what_editors_leave_behind_is_no_submission(tmp_path, sound):
    put(tmp_path / "ana" / "tiny.ipynb", sound)
    put(tmp_path / "ana" / ".ipynb_checkpoints" / "tiny-checkpoint.ipynb", "broken")
    put(tmp_path / "ana" / "__MACOSX" / "._tiny.ipynb", "broken")
    put(tmp_path / "__MACOSX" / "x.ipynb", "broken")
    put(tmp_path / "._bia.ipynb", "broken")
    put(tmp_path / ".DS_Store")
    found = read(tmp_path)
    assert list(found) == ["ana"]
    assert found["ana"].status == "ok"
    assert found["ana"].notices == ()
    assert left_aside(tmp_path) == []


def test_a_renamed_file_is_taken_and_said(tmp_path, sound):
    put(tmp_path / "ana" / "Tarea 01 - Peña Ñandú (1).ipynb", sound)
    (notice,) = read(tmp_path)["ana"].notices
    assert (notice.key, notice.values["name"]) == ("renamed", "Tarea 01 - Peña Ñandú (1).ipynb")


@pytest.mark.parametrize("name", ["tiny.ipynb.txt", "tiny.ipynb.json", "tiny.IPYNB"])
def test_another_extension_on_top_is_a_notebook_all_the_same(tmp_path, sound, name):
    put(tmp_path / "ana" / name, sound)
    put(tmp_path / name.replace("tiny", "bia"), sound)
    assert {learner: one.status for learner, one in read(tmp_path).items()} == {"ana": "ok", "bia": "ok"}


def test_of_several_the_one_with_the_answers_is_taken_and_said(tmp_path, sound):
    put(tmp_path / "ana" / "a.ipynb", json.dumps({"cells": []}))
    put(tmp_path / "ana" / "mine.ipynb", sound)
    put(tmp_path / "ana" / "tiny.ipynb", "broken {")
    one = read(tmp_path)["ana"]
    assert one.status == "ok"
    assert [cell.grade_id for cell in one.notebook.cells if cell.grade_id == "add"] == ["add"]
    assert (one.notices[0].key, one.notices[0].values) == (
        "several",
        {"chosen": "mine.ipynb", "others": "a.ipynb, tiny.ipynb"},
    )


def test_of_equals_the_canonical_name_then_the_newest_is_taken(tmp_path, sound):
    for name, age in (("old", 1), ("new", 3), ("middle", 2)):
        os.utime(put(tmp_path / "ana" / f"{name}.ipynb", sound), (age, age))
    assert read(tmp_path)["ana"].notices[0].values["chosen"] == "new.ipynb"
    os.utime(put(tmp_path / "ana" / "tiny.ipynb", sound), (0, 0))
    assert read(tmp_path)["ana"].notices[0].values["chosen"] == "tiny.ipynb"


def test_the_folder_of_the_lab_comes_before_those_of_others(tmp_path, sound):
    put(tmp_path / "ana" / "other" / "tiny.ipynb", sound)
    put(tmp_path / "ana" / "tiny" / "tiny.ipynb", "")
    one = read(tmp_path)["ana"]
    assert (one.status, one.notices) == ("empty", ())


def test_data_files_keep_their_place_and_notebooks_are_not_among_them(tmp_path, sound):
    put(tmp_path / "ana" / "tiny" / "tiny.ipynb", sound)
    put(tmp_path / "ana" / "tiny" / "old.ipynb", sound)
    put(tmp_path / "ana" / "tiny" / "datos" / "t.csv", "1")
    assert [str(place) for _, place in read(tmp_path)["ana"].files] == ["datos/t.csv"]


def test_too_many_data_are_left_out_by_name(tmp_path, sound, monkeypatch):
    monkeypatch.setattr("graders.intake.MAX_FILES", 3)
    put(tmp_path / "ana" / "tiny.ipynb", sound)
    put(tmp_path / "ana" / "a.csv", "12")
    put(tmp_path / "ana" / "b.csv", "34")
    one = read(tmp_path)["ana"]
    assert [place.name for _, place in one.files] == ["a.csv"]
    assert one.notices[0].values["names"] == "b.csv"


def test_links_are_never_followed(tmp_path, sound):
    secret = put(tmp_path / "secret" / "tiny.ipynb", sound)
    batch = tmp_path / "batch"
    put(batch / "ana" / "tiny.ipynb", sound)
    (batch / "ana" / "data.csv").symlink_to(secret)
    (batch / "bia").mkdir()
    (batch / "bia" / "tiny.ipynb").symlink_to(secret)
    (batch / "caio").symlink_to(secret.parent)
    (batch / "davi.ipynb").symlink_to(secret)
    found = read(batch)
    assert {name: one.status for name, one in found.items()} == {"ana": "ok", "bia": "no-notebook"}
    assert found["ana"].files == ()
    assert left_aside(batch) == ["caio", "davi.ipynb"]


def test_other_files_are_left_aside_by_name(tmp_path):
    put(tmp_path / "todo.zip")
    put(tmp_path / "lista.csv")
    assert (read(tmp_path), left_aside(tmp_path)) == ({}, ["lista.csv", "todo.zip"])


def test_names_are_shown_composed_and_files_get_safe_unique_ones(tmp_path, sound):
    decomposed = unicodedata.normalize("NFD", "Peña")
    for name in (decomposed, "Ana Peña", "Ana:Peña", "ANA_PEÑA", "a[1]*", os.fsdecode(b"caf\xe9")):
        put(tmp_path / name / "tiny.ipynb", sound)
    found = read(tmp_path)
    assert "Peña" in found
    assert "caf\\xe9" in found
    keys = [one.key for one in found.values()]
    assert len({key.casefold() for key in keys}) == len(keys) == 6
    assert all(not set(key) & set("/\\:*?[] ") and not key.startswith(".") for key in keys)


def test_terminal_escapes_do_not_reach_a_name(tmp_path, sound):
    put(tmp_path / "a\x1b[31mb" / "tiny.ipynb", sound)
    assert list(read(tmp_path)) == ["a?[31mb"]


def test_a_file_that_is_too_large_is_refused_unread(tmp_path):
    path = put(tmp_path / "ana" / "tiny.ipynb")
    with path.open("r+b") as file:
        file.truncate(65 * 2**20)
    one = read(tmp_path)["ana"]
    assert (one.status, one.values) == ("too-large", {"most": 64})


def test_a_file_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    path = put(tmp_path / "ana" / "tiny.ipynb")

    def refuse(self):
        raise PermissionError(13, "x")

    monkeypatch.setattr(type(path), "read_bytes", refuse)
    assert read(tmp_path)["ana"].status == "unreadable"


def test_a_notebook_and_its_files_are_found_from_any_working_folder(tmp_path, sound, monkeypatch):
    put(tmp_path / "batch" / "ana" / "tiny.ipynb", sound)
    put(tmp_path / "batch" / "ana" / "t.csv", "1")
    monkeypatch.chdir(tmp_path)
    (one,) = read_submissions(Path("batch"), "tiny", IDS)
    monkeypatch.chdir("/")
    assert [source.read_text() for source, _ in one.files] == ["1"]


def closed(monkeypatch, *folders):
    """Folders that this process may not list, whoever runs the tests."""
    iterdir = Path.iterdir

    def refuse(self):
        if self in folders:
            raise PermissionError(errno.EACCES, "x", str(self))
        return iterdir(self)

    monkeypatch.setattr(Path, "iterdir", refuse)


def test_a_folder_that_cannot_be_read_costs_its_own_learner_only(tmp_path, sound, monkeypatch):
    put(tmp_path / "ana" / "tiny.ipynb", sound)
    put(tmp_path / "bia" / "tiny.ipynb", sound)
    put(tmp_path / "caio" / "private" / "tiny.ipynb", sound)
    put(tmp_path / "davi" / "tiny.ipynb", sound)
    put(tmp_path / "davi" / "private" / "t.csv")
    closed(monkeypatch, tmp_path / "bia", tmp_path / "caio" / "private", tmp_path / "davi" / "private")
    found = read(tmp_path)
    assert {name: one.status for name, one in found.items()} == {
        "ana": "ok",
        "bia": "unreadable",
        "caio": "unreadable",
        "davi": "ok",
    }
    assert found["bia"].values == {"reason": os.strerror(errno.EACCES)}
    assert [(notice.key, notice.values) for notice in found["davi"].notices] == [
        ("files-unreadable", {"names": "private"})
    ]


def test_a_data_file_that_cannot_be_read_is_left_out_by_name(tmp_path, sound, monkeypatch):
    put(tmp_path / "ana" / "tiny.ipynb", sound)
    secret = put(tmp_path / "ana" / "secret.csv")
    put(tmp_path / "ana" / "t.csv")
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != secret)
    one = read(tmp_path)["ana"]
    assert [place.name for _, place in one.files] == ["t.csv"]
    assert [(notice.key, notice.values) for notice in one.notices] == [("files-unreadable", {"names": "secret.csv"})]


def test_a_pipe_is_never_read(tmp_path, sound, monkeypatch):
    read_bytes = Path.read_bytes

    def only_files(self):
        assert self.is_file(), "a pipe would be waited for without end"
        return read_bytes(self)

    monkeypatch.setattr(Path, "read_bytes", only_files)
    put(tmp_path / "ana" / "tiny.ipynb", sound)
    os.mkfifo(tmp_path / "ana" / "data")
    os.mkfifo(tmp_path / "bia.ipynb")
    assert list(read(tmp_path)) == ["ana"]
    assert left_aside(tmp_path) == ["bia.ipynb"]


def test_learners_who_look_the_same_are_told_apart(tmp_path, sound):
    for form in ("NFC", "NFD"):
        put(tmp_path / unicodedata.normalize(form, "Peña") / "tiny.ipynb", sound)
    assert list(read(tmp_path)) == ["Peña", "Peña (2)"]


@pytest.mark.parametrize(
    ("before", "newcomer"), [("ana_p", "Ana P"), ("ana_p", "ana p"), ("Ana_P", "ana p"), ("ana_p", "Ana_P")]
)
def test_a_newcomer_takes_over_nobodys_record(tmp_path, sound, before, newcomer):
    put(tmp_path / before / "tiny.ipynb", sound)
    key = read(tmp_path)[before].key
    put(tmp_path / newcomer / "tiny.ipynb", sound)
    found = read(tmp_path)
    assert found[before].key == key
    assert found[newcomer].key.casefold() != key.casefold()


def test_the_longest_name_leaves_room_for_an_extension(tmp_path, sound):
    for last in "ab":
        put(tmp_path / ("𠀀" * 63 + last) / "tiny.ipynb", sound)  # 253 bytes, 64 characters
    keys = [one.key for one in read(tmp_path).values()]
    assert len(set(keys)) == 2
    assert all(len(f"{key}.html".encode()) < 255 for key in keys)
