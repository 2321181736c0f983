"""``sistolica grade`` and ``sistolica labs check``: exit statuses, one clear line for each thing that is wrong."""

import contextlib
import io
import json

import pytest
from rich.console import Console

from graders.kernel import KernelProcess
from graders.phrases import phrase
from graders.sandbox.choice import Ground, NotContainedError
from graders.sandbox.confinement import PARTS, Confinement, ConfinementError
from sistolica.commands.grade import ALL_GRADED, BAD_USAGE, PROBLEMS, grade
from sistolica.commands.labs import MANIFEST, check, release


class Terminal:
    """Runs the command and keeps what it says."""

    def __init__(self, project):
        self.project = project

    def grade(self, submissions, out, lab="tiny", **options):
        console, complaints = (Console(file=io.StringIO(), width=40, force_terminal=False) for _ in range(2))
        status = grade(self.project, submissions, lab, out, console, complaints, **options)
        return status, console.file.getvalue(), complaints.file.getvalue()


@pytest.fixture
def terminal(tiny):
    return Terminal(tiny.project)


@pytest.fixture(autouse=True)
def _one_zygote_for_all(place, monkeypatch):
    monkeypatch.setattr("sistolica.commands.grade.ground", lambda *asked: contextlib.nullcontext(place))
    monkeypatch.setattr("sistolica.commands.grade.self_test", lambda *asked: [])  # it has tests of its own


@pytest.fixture
def no_process(monkeypatch):
    def refuse(*args):
        pytest.fail("a process was started for a command that is wrong")

    monkeypatch.setattr(KernelProcess, "__init__", refuse)
    monkeypatch.setattr("sistolica.commands.grade.ground", refuse)


@pytest.mark.usefixtures("no_process")
@pytest.mark.parametrize(
    ("lang", "problem", "said"),
    [
        ("es", {"lab": "tinny"}, "no hay ningún laboratorio 'tinny': existen tiny"),
        ("pt", {"lab": "tinny"}, "não há nenhum laboratório 'tinny': existem tiny"),
        ("es", {"lab": "../tiny"}, "no hay ningún laboratorio"),
        ("es", {"submissions": "absent"}, "no existe la carpeta"),
        ("pt", {"submissions": "absent"}, "não existe"),
        ("es", {"submissions": "file"}, "no es una carpeta"),
        ("pt", {"submissions": "file"}, "não é uma pasta"),
        ("es", {"submissions": "empty"}, "no contiene ninguna entrega"),
        ("pt", {"submissions": "empty"}, "não contém nenhuma entrega"),
        ("es", {"out": "file"}, "no es una carpeta: elige otro destino"),
        ("pt", {"out": "file/out"}, "não é possível escrever em"),
        ("es", {"out": "in/notas"}, "está dentro de las entregas"),
        ("pt", {"out": "in"}, "está dentro das entregas"),
        ("es", {"workers": 0}, "--workers 0"),
        ("es", {"backend": "npu"}, "--backend npu: se espera uno de auto, cpu, tpu, gpu"),
        ("pt", {"backend": "tpu"}, "--backend tpu: nesta máquina não há um dispositivo"),
        ("fr", {}, "idioma desconocido 'fr': usa uno de es, pt"),
        ("es", {"submissions": "x" * 300}, "no se puede usar una de las carpetas"),
        ("pt", {"out": "circle/out"}, "não é possível usar uma das pastas"),
    ],
)
def test_a_wrong_command_is_one_line_and_does_nothing(terminal, tiny, tmp_path, lang, problem, said):
    tiny.hand_in(tmp_path / "in", "ana")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "circle").symlink_to("circle")
    submissions, out = (
        tmp_path / problem.pop(name, default) for name, default in (("submissions", "in"), ("out", "out"))
    )
    before = sorted(tmp_path.rglob("*"))
    status, output, complaint = terminal.grade(submissions, out, lang=lang, **problem)
    assert (status, output) == (BAD_USAGE, "")
    assert said in complaint
    assert complaint.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("lang", "line", "summary"),
    [
        ("es", "ana: 5 de 5\n", "Prueba: 1 de 1 entregas calificadas."),
        ("pt", "ana: 5 de 5\n", "Teste: 1 de 1 entregas avaliadas."),
    ],
)
def test_all_graded_is_status_0(terminal, tiny, tmp_path, lang, line, summary):
    tiny.hand_in(tmp_path / "in", "ana")
    status, output, complaint = terminal.grade(tmp_path / "in", tmp_path / "out", lang=lang)
    assert (status, complaint) == (ALL_GRADED, "")
    assert line in output
    assert summary in output
    assert str(tmp_path / "out" / "grades.csv") in output


@pytest.mark.parametrize(("lang", "said"), [("es", "no se calificó nada"), ("pt", "nada foi avaliado")])
def test_a_sandbox_that_is_required_and_not_whole_is_status_2(terminal, tiny, tmp_path, monkeypatch, lang, said):
    def ground(say, spoken, modules, backend, required):
        assert required
        raise NotContainedError(phrase("nursery.required", lang=spoken, reasons="…"))

    monkeypatch.setattr("sistolica.commands.grade.ground", ground)
    tiny.hand_in(tmp_path / "in", "ana")
    status, output, complaint = terminal.grade(tmp_path / "in", tmp_path / "out", lang=lang, require_sandbox=True)
    assert (status, output) == (BAD_USAGE, "")
    assert said in complaint


@pytest.mark.parametrize(("parts", "said"), [((), "de a una"), (PARTS, "")])
def test_learners_who_share_a_count_of_processes_take_turns(terminal, tiny, tmp_path, monkeypatch, parts, said):
    shared = Ground(None, None, Confinement("user", {}, parts))
    asked = []
    monkeypatch.setattr("sistolica.commands.grade.ground", lambda *given: contextlib.nullcontext(shared))
    monkeypatch.setattr("sistolica.commands.grade.Batch", lambda *given: asked.append(given[-1]) or empty)
    monkeypatch.setattr("sistolica.commands.grade._run", lambda *given: [])
    empty = object()
    tiny.hand_in(tmp_path / "in", "ana")
    _, _, complaint = terminal.grade(tmp_path / "in", tmp_path / "out", lang="es", workers=2)
    assert asked == [1 if said else 2]
    assert said in complaint
    assert bool(complaint) == bool(said)


def test_no_process_at_all_is_status_1_with_the_reason(terminal, tiny, tmp_path, monkeypatch):
    def fail(*asked):
        raise ConfinementError("zygote", "out of luck")

    monkeypatch.setattr("sistolica.commands.grade.ground", fail)
    tiny.hand_in(tmp_path / "in", "ana")
    status, output, complaint = terminal.grade(tmp_path / "in", tmp_path / "out")
    assert (status, output) == (PROBLEMS, "")
    assert "out of luck" in complaint


def test_a_problem_is_status_1_with_its_line_and_the_rest_is_graded(terminal, tiny, tmp_path):
    tiny.hand_in(tmp_path / "in", "[bold]ana")
    (tmp_path / "in" / "bia").mkdir()
    (tmp_path / "in" / "todo.zip").write_text("x")
    status, output, complaint = terminal.grade(tmp_path / "in", tmp_path / "out")
    assert status == PROBLEMS
    assert "[bold]ana: 5 de 5\n" in output
    assert "bia: sin cuaderno" in complaint
    assert "no son entregas y quedaron fuera: todo.zip" in complaint
    assert "1 de 2 entregas" in output


def test_a_seed_repeats_a_grading_anywhere(terminal, tiny, tmp_path):
    answer = "def add(a, b):\n    return a + b if a % 2 else 0"  # right for half of the inputs
    for number in range(3):
        tiny.hand_in(tmp_path / "in", f"learner-{number}", add=answer)
    tables = []
    for out in ("first", "second"):
        terminal.grade(tmp_path / "in", tmp_path / out, seed=7)
        tables.append((tmp_path / out / "grades.csv").read_bytes())
    assert tables[0] == tables[1]


def test_a_gradebook_of_another_version_of_the_lab_is_said(terminal, tiny, tmp_path, monkeypatch):
    from graders.gradebook import CourseGradebook, GradebookError

    def refuse(self, source):
        raise GradebookError("RuntimeError: Cannot add or remove cells")

    monkeypatch.setattr(CourseGradebook, "assign", refuse)
    tiny.hand_in(tmp_path / "in", "ana")
    status, _, complaint = terminal.grade(tmp_path / "in", tmp_path / "out")
    assert status == PROBLEMS
    assert "usa otra carpeta con --out" in complaint
    assert "Cannot add or remove cells" in complaint


@pytest.mark.parametrize(
    ("answers", "status", "said"),
    [
        ({}, 0, "Soma. Pontuação: 2 de 2"),
        ({"add": "def add(a, b):\n    raise ValueError(f'got {a}')"}, 1, "ValueError: got"),
        ({"add": "def add(a, b):\n    import os; os._exit(0)"}, 1, "foi encerrado"),
    ],
)
def test_the_self_check_from_outside_ends_with_a_status(tiny, tmp_path, answers, status, said):
    console, complaints = (Console(file=io.StringIO(), width=40) for _ in range(2))
    path = tiny.hand_in(tmp_path, "ana", "pt", **answers)
    assert check(tiny.project, path, console, complaints) == status
    assert said in console.file.getvalue()
    assert "A avaliação usa outras entradas" in console.file.getvalue() or status == 0
    assert complaints.file.getvalue() == ""


@pytest.mark.usefixtures("no_process")
@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (None, {}, "no se pudo leer"),
        ("{", {}, "archivo dañado"),
        ('{"cells": []}', {}, "no hay ningún laboratorio ''"),
        ('{"cells": []}', {"lab_id": "tiny", "lang": "pt"}, "nenhuma célula avaliável"),
        ('{"cells": []}', {"lang": "fr"}, "idioma desconocido"),
    ],
)
def test_a_self_check_of_nothing_is_one_line_and_status_2(tiny, tmp_path, content, options, said):
    console, complaints = (Console(file=io.StringIO(), width=40) for _ in range(2))
    path = tmp_path / "x.ipynb"
    if content is not None:
        path.write_text(content)
    assert check(tiny.project, path, console, complaints, **options) == 2
    assert said in complaints.file.getvalue()
    assert complaints.file.getvalue().count("\n") == 1


def test_folders_that_cannot_be_used_are_one_line(terminal, tiny, tmp_path, monkeypatch):
    tiny.hand_in(tmp_path / "in", "ana")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "feedback").write_text("in the way")
    status, _, complaint = terminal.grade(tmp_path / "in", tmp_path / "out")
    assert (status, complaint.count("\n")) == (PROBLEMS, 1)
    assert "elige otro destino con --out" in complaint

    def refuse(*args):
        raise PermissionError(13, "Permission denied", "in")

    monkeypatch.setattr("sistolica.commands.grade.read_submissions", refuse)
    status, _, complaint = terminal.grade(tmp_path / "in", tmp_path / "out")
    assert (status, complaint) == (BAD_USAGE, f"no se pudo leer {tmp_path / 'in'}: Permission denied\n")


def test_more_workers_than_submissions_are_not_started(terminal, tiny, tmp_path):
    tiny.hand_in(tmp_path / "in", "ana")
    assert terminal.grade(tmp_path / "in", tmp_path / "out", workers=10**12)[0] == ALL_GRADED


def test_no_escape_of_theirs_reaches_the_terminal(tiny, tmp_path):
    console = Console(file=io.StringIO(), width=40)
    path = tiny.hand_in(tmp_path, "ana", add="def add(a, b):\n    raise ValueError('\\x1b[31mred\\x1b]0;title\\x07')")
    assert check(tiny.project, path, console, console) == 1
    assert "ValueError: red" in console.file.getvalue()
    assert "\x1b" not in console.file.getvalue()


@pytest.mark.parametrize("manifest", ["", "{", "[]", "{}"])
def test_a_manifest_cut_short_stops_no_release(tiny, tmp_path, manifest):
    console = Console(file=io.StringIO(), width=200)
    (tmp_path / MANIFEST).write_text(manifest)
    assert release(tiny.project, tmp_path, console, console, lang="pt") == 0
    assert console.file.getvalue() == f"Notebooks em {tmp_path}: 1\n"
    assert json.loads((tmp_path / MANIFEST).read_text()) == {"files": ["pt/tiny/tiny.ipynb"]}
