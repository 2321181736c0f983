"""Attacks through ``sistolica grade`` itself: what it says, how it ends, and its refusal when the self-test fails."""

import contextlib
import csv
import io
import re
import shutil

import pytest
from rich.console import Console

from graders.sandbox.choice import Ground
from graders.sandbox.self_test import SelfTestError
from sistolica.commands.grade import PROBLEMS, grade
from tests.graders.attacks.attack import PAYLOADS, PROJECT, Attack
from tests.graders.attacks.course import FIRST

THROUGH_THE_COMMAND = ("ansi_escapes", "hostile_name", "sigkill_parent", "truncated_json")


@pytest.fixture
def submissions(battle, tmp_path):
    for folder in battle.course.submissions.iterdir():
        if folder.name.startswith((FIRST, *THROUGH_THE_COMMAND)):
            shutil.copytree(folder, tmp_path / "entregas" / folder.name, symlinks=True)
    return tmp_path / "entregas"


def run(submissions, out):
    console, complaints = (Console(file=io.StringIO(), force_terminal=True, color_system=None) for _ in range(2))
    status = grade(PROJECT, submissions, "matmul", out, console, complaints, lang="pt")
    return status, console.file.getvalue(), complaints.file.getvalue()


def test_a_few_attacks_through_the_command(submissions, tmp_path, nursery, confinement, monkeypatch):
    here = Ground(nursery.runner, nursery, confinement)
    monkeypatch.setattr("sistolica.commands.grade.ground", lambda *asked: contextlib.nullcontext(here))
    status, _, complaints = run(submissions, tmp_path / "notas")
    assert status == PROBLEMS  # half a file is no notebook
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", complaints)
    assert "owned" in complaints
    with (tmp_path / "notas" / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        scores = {row["learner"]: float(row["score"]) for row in csv.DictReader(file)}
    assert scores.pop(FIRST) == 10
    wanted = {name: Attack.read(PAYLOADS / f"{name}.py").score for name in THROUGH_THE_COMMAND}
    assert {re.match(r"[a-z_]+", learner)[0].rstrip("_"): score for learner, score in scores.items()} == wanted


def test_nothing_is_graded_when_the_self_test_refuses(submissions, tmp_path, nursery, confinement, monkeypatch):
    def refuse(*asked):
        raise SelfTestError("um teste conseguiu [ler] arquivos")

    here = Ground(nursery.runner, nursery, confinement)
    monkeypatch.setattr("sistolica.commands.grade.ground", lambda *asked: contextlib.nullcontext(here))
    monkeypatch.setattr("sistolica.commands.grade.self_test", refuse)
    status, _, complaints = run(submissions, tmp_path / "notas")
    assert (status, complaints) == (PROBLEMS, "um teste conseguiu [ler] arquivos\n")
    assert list((tmp_path / "notas").iterdir()) == []
