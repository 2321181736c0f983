"""A folder of submissions through the whole grader: rows, pages, gradebook; nobody stops the others."""

import contextlib
import csv
import json
import time
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from graders.batch import MAX_SAID, MAX_SENTENCE, Batch
from graders.gradebook import CourseGradebook, GradebookBusyError, GradebookError
from graders.intake import read_submissions
from graders.kernel import KernelRunner
from graders.learner import ProcessDiedError
from graders.process import Limits

RIGHT = "def add(a, b):\n    return a + b"
WRONG = "def add(a, b):\n    return a - b"


def grade(tiny, folder, out, lang="es", salt=None, workers=1, lab=None):
    lab = lab or tiny.lab
    batch = Batch(lab, tiny.masters, out, lang, KernelRunner, salt, workers)
    return list(batch.run(read_submissions(folder, "tiny", tiny.masters.grade_ids)))


def rows_of(out):
    with (out / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["learner"]: row for row in csv.DictReader(file)}


def files_of(out):
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted((out / "feedback").iterdir())} | {
        "grades.csv": (out / "grades.csv").read_bytes()
    }


@pytest.fixture(scope="module")
def mixed(tiny, tmp_path_factory):
    """Good, wrong, broken, absent, renamed, refused, dead; in both languages."""
    folder = tmp_path_factory.mktemp("entregas")
    tiny.hand_in(folder, "ana")
    (folder / "bia").mkdir()
    (folder / "bia" / "tiny.ipynb").write_text('{\n "cells": [\n', encoding="utf-8")
    tiny.hand_in(folder, "caio", "pt", add=WRONG)
    (folder / "davi" / "tiny").mkdir(parents=True)
    (folder / "davi" / "tiny" / "LEIAME.txt").write_text("oi")
    (folder / "Eva Peña.ipynb").write_text(json.dumps(tiny.notebook("pt")), encoding="utf-8")
    (folder / "=cmd()").mkdir()
    (folder / "=cmd()" / "x.ipynb").write_text('{"cells": []}')
    tiny.hand_in(folder, "flo", scale="import os\nos._exit(1)")
    out = tmp_path_factory.mktemp("notas") / "out"
    grades = grade(tiny, folder, out, salt="fixed")
    return folder, out, grades


def test_every_submission_has_its_row_in_a_stable_order(mixed):
    _, out, _ = mixed
    rows = rows_of(out)
    assert list(rows) == ["'=cmd()", "Eva Peña", "ana", "bia", "caio", "davi", "flo"]
    assert {name: (row["status"], row["score"], row["language"]) for name, row in rows.items()} == {
        "ana": ("ok", "5", "es"),
        "bia": ("not-json", "0", ""),
        "caio": ("ok", "3", "pt"),
        "davi": ("no-notebook", "0", ""),
        "Eva Peña": ("ok", "5", "pt"),
        "'=cmd()": ("unrecognised", "0", ""),
        "flo": ("ok", "2", "es"),
    }
    assert (rows["caio"]["add"], rows["caio"]["scale"]) == ("0", "3")


def test_each_problem_has_its_line(mixed):
    _, out, grades = mixed
    remarks = {grade.learner: grade.remark for grade in grades}
    assert remarks["ana"] == ""
    assert "línea 3" in remarks["bia"]
    assert remarks["davi"].startswith("sin cuaderno")
    assert "no se reconoció ninguna celda calificable" in remarks["=cmd()"]
    assert "El kernel se cerró al ejecutar la celda scale" in remarks["flo"]
    assert rows_of(out)["bia"]["message"] == remarks["bia"]


def test_everybody_has_a_page_in_their_language(mixed):
    _, out, grades = mixed
    pages = {grade.learner: (out / "feedback" / f"{grade.key}.html").read_text(encoding="utf-8") for grade in grades}
    assert len(list((out / "feedback").iterdir())) == len(grades) == 7
    assert "dica de soma" in pages["caio"]
    assert "pista de" not in pages["caio"]
    assert "Archivo dañado: no es un cuaderno legible (línea 3)" in pages["bia"]
    assert "Eva Peña" in pages["Eva Peña"]


def test_the_gradebook_is_nbgraders_and_holds_the_same(mixed):
    _, out, _ = mixed
    with contextlib.closing(Gradebook(f"sqlite:///{out / 'gradebook' / 'gradebook.db'}", "")) as gradebook:
        assert {student.id for student in gradebook.students} == {grade.key for grade in mixed[2]}
        scores = {one.student.id: (one.score, one.max_score) for one in gradebook.assignment_submissions("tiny")}
        assert scores == {"ana": (5, 5), "caio": (3, 5), "Eva_Peña": (5, 5), "flo": (2, 5)}
        grades = gradebook.find_submission_notebook("tiny", "tiny", "caio").grades
        assert {one.name: (one.auto_score, one.manual_score, one.needs_manual_grade) for one in grades} == {
            "add-check": (0, None, False),
            "scale-check": (3, None, False),
        }


def test_what_nbgrader_keeps_is_what_ran(mixed):
    _, out, _ = mixed
    kept = json.loads((out / "gradebook" / "autograded" / "caio" / "tiny" / "tiny.ipynb").read_text())
    cells = {cell["id"]: cell for cell in kept["cells"]}
    assert "".join(cells["add"]["source"]) == WRONG
    assert cells["add-check"]["outputs"][0]["data"]["text/plain"] == ["0.0"]


def test_again_is_the_same_to_the_byte_with_any_number_of_workers(mixed, tiny):
    folder, out, _ = mixed
    before = files_of(out)
    grade(tiny, folder, out, workers=2)
    assert files_of(out) == before


def test_the_salt_is_kept_for_the_next_time_and_from_others(mixed):
    _, out, _ = mixed
    salt = out / "gradebook" / "salt.txt"
    assert salt.read_text() == "fixed\n"
    assert salt.stat().st_mode & 0o077 == 0


def test_a_manual_grade_survives_a_regrade(tiny, tmp_path):
    tiny.hand_in(tmp_path / "in", "ana", add=WRONG)
    out = tmp_path / "out"
    grade(tiny, tmp_path / "in", out)
    with contextlib.closing(Gradebook(f"sqlite:///{out / 'gradebook' / 'gradebook.db'}", "")) as gradebook:
        gradebook.find_grade("add-check", "tiny", "tiny", "ana").manual_score = 1.5
        gradebook.db.commit()
    grade(tiny, tmp_path / "in", out)
    assert rows_of(out)["ana"]["score"] == "4.5"


def test_a_fault_of_a_check_is_the_instructors_to_see(tiny, tmp_path, monkeypatch):
    def broken(learner, rng, report):
        with report.criterion("values"):
            pass
        raise KeyError("answer 41")

    monkeypatch.setitem(tiny.lab.__dict__, "checks", {**tiny.lab.checks, "add": broken})
    tiny.hand_in(tmp_path / "in", "ana")
    (one,) = grade(tiny, tmp_path / "in", tmp_path / "out")
    assert (one.status, one.score) == ("check-fault", 4.0)
    assert "answer 41" in one.remark
    assert "answer 41" not in (tmp_path / "out" / "feedback" / "ana.html").read_text()


def test_a_fault_of_the_grader_costs_one_submission(tiny, tmp_path, monkeypatch):
    import graders.batch as module

    real = module.execute

    def failing(notebook, lab, learner, *rest):
        if learner == "bia":
            raise OSError("no room for bia")
        return real(notebook, lab, learner, *rest)

    monkeypatch.setattr(module, "execute", failing)
    for name in ("ana", "bia", "caio"):
        tiny.hand_in(tmp_path / "in", name)
    grades = grade(tiny, tmp_path / "in", tmp_path / "out")
    assert [(one.learner, one.status, one.score) for one in grades] == [
        ("ana", "ok", 5.0),
        ("bia", "grader-fault", 0.0),
        ("caio", "ok", 5.0),
    ]
    assert "no room for bia" in grades[1].remark
    assert "no room" not in (tmp_path / "out" / "feedback" / "bia.html").read_text()


def test_two_gradings_into_one_folder_do_not_mix(tiny, tmp_path):
    for name in ("ana", "bia"):
        tiny.hand_in(tmp_path / "in", name)
    submissions = read_submissions(tmp_path / "in", "tiny", tiny.masters.grade_ids)
    first = Batch(tiny.lab, tiny.masters, tmp_path / "out", "es", KernelRunner).run(submissions)
    with contextlib.closing(first):
        next(first)
        with pytest.raises(GradebookBusyError):
            list(Batch(tiny.lab, tiny.masters, tmp_path / "out", "es", KernelRunner).run(submissions))


def test_a_lab_that_changed_since_its_grades_is_refused(tiny, tmp_path):
    tiny.hand_in(tmp_path / "in", "ana")
    grade(tiny, tmp_path / "in", tmp_path / "out")
    changed = json.loads(json.dumps(tiny.masters.source))
    changed["cells"] = [cell for cell in changed["cells"] if cell["id"] != "scale-check"]
    with pytest.raises(GradebookError, match="submissions associated"):
        CourseGradebook(tmp_path / "out" / "gradebook", "tiny").assign(nbformat.from_dict(changed))


def test_folders_may_be_named_from_where_the_command_runs(tiny, tmp_path, monkeypatch):
    for name in ("ana", "bia"):
        path = tiny.hand_in(
            tmp_path / "in", name, add="import time\ntime.sleep(2)\nn = int(open('t.txt').read())\n" + RIGHT
        )
        path.with_name("t.txt").write_text("0")
    monkeypatch.chdir(tmp_path)
    grades = grade(tiny, Path("in"), Path("out"))
    assert [(one.learner, one.status, one.score) for one in grades] == [("ana", "ok", 5.0), ("bia", "ok", 5.0)]
    assert set(rows_of(tmp_path / "out")) == {"ana", "bia"}


def test_what_is_said_of_one_submission_has_an_end(tiny, tmp_path):
    tiny.hand_in(tmp_path / "in", "ana", add="raise ValueError('x' * 50_000 + '\\n' * 50 + 'y')")
    (one,) = grade(tiny, tmp_path / "in", tmp_path / "out")
    assert "ValueError: xxx" in one.remark
    assert len(one.remark) < 2 * MAX_SENTENCE
    assert "\n" not in one.remark


def test_so_has_how_many_things_are_said(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("graders.execute.NOTEBOOK_S", 0.0)  # no cell gets to run
    notebook = tiny.notebook("pt")
    notebook["cells"] += [{"cell_type": "code", "source": "1", "metadata": {}} for _ in range(200)]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ana.ipynb").write_text(json.dumps(notebook))
    (one,) = grade(tiny, tmp_path / "in", tmp_path / "out", lang="pt")
    assert one.remark.count("não foi executada") == MAX_SAID
    assert one.remark.endswith("E mais 183 avisos como estes.")


def test_a_call_that_ended_the_kernel_is_said(tiny, tmp_path):
    tiny.hand_in(tmp_path / "in", "ana", add="import os\ndef add(a, b):\n    os._exit(0)")
    (one,) = grade(tiny, tmp_path / "in", tmp_path / "out")
    assert (one.status, one.score, one.remark) == ("ok", 3.0, "El kernel se cerró al llamar a `add`.")
    assert "al llamar a <code>add</code>" in (tmp_path / "out" / "feedback" / "ana.html").read_text()


def test_formgrader_gets_no_page_that_acts(tiny, tmp_path):
    show = "from IPython.display import HTML, display\ndisplay(HTML('<script>alert(1)</scr' + 'ipt><b>bold</b>'))\n"
    tiny.hand_in(tmp_path / "in", "ana", add=show + RIGHT)
    grade(tiny, tmp_path / "in", tmp_path / "out")
    kept = (tmp_path / "out" / "gradebook" / "autograded" / "ana" / "tiny" / "tiny.ipynb").read_text()
    assert "<b>bold</b>" in kept
    assert "alert(1)</script>" not in kept


def test_a_grade_of_before_that_stays_in_the_gradebook_is_said(tiny, tmp_path):
    path = tiny.hand_in(tmp_path / "in", "ana")
    grade(tiny, tmp_path / "in", tmp_path / "out")
    path.write_text("")
    (one,) = grade(tiny, tmp_path / "in", tmp_path / "out")
    assert (one.status, one.score) == ("empty", 0)
    assert "(El libro de calificaciones conserva 5 de una entrega anterior.)" in one.remark


def test_a_salt_cut_short_is_replaced_and_a_whole_one_is_not_written_again(tiny, tmp_path):
    tiny.hand_in(tmp_path / "in", "ana")
    grade(tiny, tmp_path / "in", tmp_path / "out")
    salt = tmp_path / "out" / "gradebook" / "salt.txt"
    first = salt.stat()
    grade(tiny, tmp_path / "in", tmp_path / "out")
    assert (salt.stat().st_ino, salt.stat().st_mtime_ns) == (first.st_ino, first.st_mtime_ns)
    salt.write_text("")
    grade(tiny, tmp_path / "in", tmp_path / "out")
    assert len(salt.read_text().strip()) == 32
    assert salt.stat().st_mode & 0o077 == 0


def test_leaving_early_ends_who_is_being_graded(tiny, tmp_path):
    tiny.hand_in(tmp_path / "in", "ana")
    tiny.hand_in(tmp_path / "in", "bia", add="import time\nopen('started', 'w')\ntime.sleep(3600)")
    tiny.hand_in(tmp_path / "in", "caio")
    made = []

    def new_runner():
        made.append(KernelRunner(Limits(cell_s=3600)))
        return made[-1]

    batch = Batch(tiny.lab, tiny.masters, tmp_path / "out", "es", new_runner)
    grades = batch.run(read_submissions(tmp_path / "in", "tiny", tiny.masters.grade_ids))
    assert next(grades).learner == "ana"
    while not (made[0]._current.folder / "started").exists():
        time.sleep(0.05)
    grades.close()
    assert made[0]._spare is None
    with pytest.raises(ProcessDiedError):
        made[0].start("es")
