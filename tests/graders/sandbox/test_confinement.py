"""A confinement is plain values: what travels is what arrives, and nothing of the grader's goes along."""

import pytest

from graders.sandbox.confinement import Confinement, ConfinementError


@pytest.mark.parametrize(
    "confinement",
    [
        Confinement("root", {}),
        Confinement("user", {"JAX_PLATFORMS": "cuda"}, devices=("/dev/nvidia0",), cache="/c", cache_writable=True),
        Confinement(
            "limits",
            {"é": 'a "b" \n'},
            parts=(),
            uid=None,
            read_only=("/a b", "/ñ"),
            masked=("/ñ/c",),
            links={"/l": ".."},
        ),
    ],
)
def test_what_arrives_is_what_was_sent(confinement: Confinement) -> None:
    assert Confinement.from_json(confinement.to_json()) == confinement


def test_no_variable_of_the_grader_goes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_SECRET", "salt")
    variables = Confinement.for_this_python("root").variables("/learner", "/tmp")
    assert "salt" not in variables.values()
    assert not {"GRADER_SECRET", "PWD", "USERNAME", "VIRTUAL_ENV"} & {*variables}


def test_a_variable_may_be_added_or_changed() -> None:
    confinement = Confinement.for_this_python("root", environment={"JAX_PLATFORMS": "cuda", "NEW": "1"})
    variables = confinement.variables("/h", "/t")
    assert (variables["JAX_PLATFORMS"], variables["NEW"], variables["HOME"], variables["TMPDIR"]) == (
        "cuda",
        "1",
        "/h",
        "/t",
    )


def test_a_failure_names_its_part() -> None:
    error = ConfinementError("proc", PermissionError(1, "Operation not permitted"))
    assert (error.part, str(error)) == ("proc", "proc: [Errno 1] Operation not permitted")


def test_descriptors_that_a_learner_keeps_on_their_way_leave_the_grader_room() -> None:
    carried = 253  # by one message more than the limit: SCM_MAX_FD
    assert (
        Confinement("user", {}).open_files + carried < 1024
    )  # what a session may have open, unless it is told otherwise
