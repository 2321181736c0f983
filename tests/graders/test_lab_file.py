"""Reading lab.toml: sound labs, and each fault named with its place."""

import subprocess
import sys

import pytest

from graders.lab import LabError, lab_ids, labs_folder, read_lab
from graders.phrases import phrase

SOUND = """\
title = { es = "T", pt = "T" }
[exercises.one]
title = { es = "U", pt = "U" }
time_limit_s = 1
criteria = { a = 0.25, b = 2 }
"""


def write(folder, text, checks="def one(learner, rng, report): pass"):
    (folder / "lab").mkdir()
    (folder / "lab" / "lab.toml").write_text(text, encoding="utf-8")
    (folder / "lab" / "checks.py").write_text(checks, encoding="utf-8")
    return folder


def test_points_add_up_and_check_cells_are_known_by_name(tmp_path):
    lab = read_lab("lab", write(tmp_path, SOUND))
    assert (lab.id, lab.points, lab.exercises["one"].points) == ("lab", 2.25, 2.25)
    assert lab.exercise_of("one-check") == "one"
    assert lab.exercise_of("one") is None
    assert lab.exercise_of("two-check") is None
    assert list(lab.checks) == ["one"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title = {", "title {", "not TOML"),
        (', pt = "T"', "", "title needs a text in each of es, pt"),
        (', pt = "U"', "", "title needs a text"),
        ("time_limit_s = 1", "", "time_limit_s is None"),
        ("time_limit_s = 1", "time_limit_s = 0", "time_limit_s is 0"),
        ("time_limit_s = 1", "time_limit_s = true", "time_limit_s is True"),
        ("a = 0.25", "a = 0.1", "multiple of 0.25"),
        ("a = 0.25", "a = -1", "points above 0"),
        ("a = 0.25", "a = nan", "points above 0"),
        ("a = 0.25", 'a = "1"', "points above 0"),
        ("{ a = 0.25, b = 2 }", "{}", "no criteria"),
        ("criteria = { a = 0.25, b = 2 }", "", "no table 'criteria'"),
    ],
)
def test_a_fault_in_the_file_is_named(tmp_path, old, new, said):
    assert old in SOUND
    with pytest.raises(LabError, match=said):
        read_lab("lab", write(tmp_path, SOUND.replace(old, new)))


def test_an_exercise_without_a_check_is_named(tmp_path):
    lab = read_lab("lab", write(tmp_path, SOUND, checks="x = 1"))
    with pytest.raises(LabError, match="no check for exercise 'one'"):
        _ = lab.checks


def test_an_unknown_lab_is_named_with_those_that_exist(tmp_path):
    with pytest.raises(LabError, match=r"unknown lab 'other'.*holds lab"):
        read_lab("other", write(tmp_path, SOUND))
    with pytest.raises(LabError, match="unknown lab"):
        read_lab("../tmp", labs_folder())


def test_a_file_that_is_not_utf8_is_named(tmp_path):
    write(tmp_path, SOUND)
    (tmp_path / "lab" / "lab.toml").write_bytes(b"\xff")
    with pytest.raises(LabError, match=r"lab\.toml: not TOML"):
        read_lab("lab", tmp_path)


@pytest.mark.parametrize("name", ["a+b", "two words", "Lab", "lab*", "-lab"])
def test_a_folder_that_cannot_name_an_assignment_is_no_lab(tmp_path, name):
    write(tmp_path, SOUND)
    (tmp_path / "lab").rename(tmp_path / name)
    with pytest.raises(LabError, match="is no name for a lab"):
        read_lab(name, tmp_path)


@pytest.mark.parametrize("checks", ["def one(", "import nothing_of_the_name", "x = 1"])
def test_checks_that_do_not_load_are_refused_before_anything_is_graded(tmp_path, checks):
    with pytest.raises(LabError, match=r"checks\.py"):
        read_lab("lab", write(tmp_path, SOUND, checks=checks)).require_sound()


@pytest.mark.parametrize("content", [None, b"[", b"\xff", b"", b"[one]\na = { es = 'x' }\nb = { es = 'x', pt = 'x' }"])
def test_so_are_messages_that_are_not_there(tmp_path, content):
    lab = read_lab("lab", write(tmp_path, SOUND))
    if content is not None:
        (lab.folder / "messages.toml").write_bytes(content)
    with pytest.raises(LabError, match=r"messages\.toml"):
        lab.require_sound()


def test_the_checkouts_labs_are_found_without_importing_the_platform():
    code = "import sys; from graders.lab import labs_folder; labs_folder(); print('sistolica' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
    assert "matmul" in lab_ids()


def test_the_packaged_labs_are_found_where_there_is_no_checkout(tmp_path, monkeypatch):
    import graders.lab as module

    (tmp_path / "sistolica" / "_labs").mkdir(parents=True)
    (tmp_path / "sistolica" / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.setattr(module, "__file__", str(tmp_path / "site" / "graders" / "lab.py"))
    monkeypatch.setattr(module.importlib.util, "find_spec", finder(tmp_path))
    assert labs_folder() == tmp_path / "sistolica" / "_labs"


def finder(folder):
    from importlib.machinery import PathFinder

    return lambda name: PathFinder.find_spec(name, [str(folder)])


def test_every_message_of_the_grader_is_sound():
    assert phrase.faults() == []


@pytest.mark.parametrize("lab_id", lab_ids())
def test_every_lab_has_a_name_and_a_hint_for_each_criterion_in_each_language(lab_id):
    lab = read_lab(lab_id)
    assert lab.phrase.faults() == []
    for key, exercise in lab.exercises.items():
        for criterion in exercise.criteria:
            for lang in ("es", "pt"):
                assert lab.criterion_name(key, criterion, lang)
                assert lab.hint(key, f"{criterion}-hint", lang)
