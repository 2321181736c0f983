"""Points per criterion, and what of a result may be shown."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.execute import score_output
from graders.judge import disclosed, judge
from graders.lab import Exercise, Lab
from graders.learner import LearnerError, NamespaceLearner
from graders.report import CheckError, ExerciseResult, Outcome, Report

EXERCISE = Exercise("e", {"es": "E", "pt": "E"}, {"first": 1.0, "second": 0.5, "third": 0.25}, 1.0)


def test_each_criterion_stands_alone():
    report = Report(EXERCISE)
    with report.criterion("first") as first:
        first.require(False, hint="why-hint", got="x")
        pytest.fail("an unmet requirement ends the criterion")
    with report.criterion("second") as second:
        second.require(True)
    with report.criterion("third"):
        raise LearnerError("raised", "f", "ValueError", "no", 3, "code")
    outcomes = report.result().outcomes
    assert [outcome.points for outcome in outcomes] == [0.0, 0.5, 0.0]
    assert (outcomes[0].hint, outcomes[0].values) == ("why-hint", {"got": "x"})
    assert outcomes[2].error["type"] == "ValueError"
    assert (report.result().score, report.result().max_score) == (0.5, 1.75)


def test_the_default_hint_is_the_criterions_own():
    report = Report(EXERCISE)
    with report.criterion("first") as first:
        first.require(False)
    assert report.result(fault="x").outcomes[0].hint == "first-hint"


@pytest.mark.parametrize(("first_holds", "after"), [(True, None), (False, "first")])
def test_a_failure_after_a_failed_one_points_to_it(first_holds, after):
    report = Report(EXERCISE)
    with report.criterion("first") as first:
        first.require(first_holds)
    with report.criterion("second", after="first") as second:
        second.require(False)
    assert report.result(fault="x").outcomes[1].after == after


def test_a_check_that_forgets_or_repeats_or_invents_a_criterion_is_wrong_itself():
    report = Report(EXERCISE)
    with report.criterion("first"):
        pass
    with pytest.raises(CheckError, match="never looks at second, third"):
        report.result()
    with pytest.raises(CheckError, match="twice"), report.criterion("first"):
        pass
    with pytest.raises(CheckError, match="no criterion 'fourth'"), report.criterion("fourth"):
        pass
    with pytest.raises(CheckError, match="has not been checked"), report.criterion("second", after="third"):
        pass


def lab_with(check, tmp_path):
    lab = Lab(tmp_path / "mine", {"es": "L", "pt": "L"}, {"e": EXERCISE})
    lab.__dict__["checks"] = {"e": check}
    return lab


def test_a_fault_of_the_check_keeps_what_was_earned_and_says_where(tmp_path):
    def check(learner, rng, report):
        with report.criterion("first"):
            pass
        with report.criterion("second"):
            raise ZeroDivisionError("the check's own")

    result = judge(lab_with(check, tmp_path), "e", NamespaceLearner({}), np.random.default_rng(0))
    assert result.score == 1.0
    assert "ZeroDivisionError: the check's own" in result.fault
    assert "test_report.py" in result.fault


def test_a_nan_of_theirs_is_a_wrong_answer_and_no_warning(tmp_path):
    def check(learner, rng, report):
        for key in EXERCISE.criteria:
            with report.criterion(key) as criterion:
                criterion.require(learner.call("f").astype(np.int64).tolist() == [1])

    learner = NamespaceLearner({"f": lambda: np.array([np.nan])})
    result = judge(lab_with(check, tmp_path), "e", learner, np.random.default_rng(0))
    assert (result.score, result.fault) == (0.0, None)


def test_a_result_survives_json():
    error = LearnerError("raised", "f", "ValueError", "no", 3, "x").to_dict()
    result = ExerciseResult("e", (Outcome("first", 0.0, 1.0, error=error), Outcome("second", 0.5, 0.5)), "fault")
    assert ExerciseResult.from_dict(result.to_dict()) == result


@settings(deadline=None)
@given(st.lists(st.sampled_from(["hold", "fail", "raise"]), min_size=3, max_size=3))
def test_a_score_is_always_between_zero_and_the_maximum_and_full_only_if_all_hold(fates):
    report = Report(EXERCISE)
    for key, fate in zip(EXERCISE.criteria, fates, strict=True):
        with report.criterion(key) as criterion:
            criterion.require(fate != "fail")
            if fate == "raise":
                raise LearnerError("raised")
    result = report.result()
    written = float(score_output(result).data["text/plain"])
    assert 0 <= written <= EXERCISE.points
    assert (written == EXERCISE.points) == (set(fates) == {"hold"})
    assert (written == 0) == ("hold" not in fates)


@pytest.mark.parametrize("points", [math.nan, math.inf, -1.0, 2.0])
def test_a_score_out_of_range_is_never_written(points):
    with pytest.raises(ValueError, match="outside 0 to 1"):
        score_output(ExerciseResult("e", (Outcome("first", points, 1.0),)))


def shown(**error):
    told = {"kind": "raised", "function": "f", "type": "ValueError", "message": "41 42 43", "line": 2, "code": "g(a)"}
    result = ExerciseResult("e", (Outcome("first", 0.0, 1.0, error={**told, **error}),))
    return disclosed(result, ["x = 1", "def f(a):\n    g(a)\n"]).outcomes[0].error


def test_the_text_of_their_exception_is_not_shown_but_its_type_and_line_are():
    assert shown() == {
        "kind": "raised",
        "function": "f",
        "type": "ValueError",
        "message": "",
        "line": 2,
        "code": "g(a)",
    }


@pytest.mark.parametrize("smuggled", [{"line": 41}, {"code": "41 42 43"}, {"line": 1}])
def test_a_line_that_no_cell_holds_there_is_not_shown(smuggled):
    error = shown(**smuggled)
    assert (error["line"], error["code"]) == (0, "")


@pytest.mark.parametrize("name", ["Secret_41_42_43", "print", "__name__", ""])
def test_an_exception_type_that_is_not_built_in_is_not_shown(name):
    assert shown(type=name)["type"] == "Exception"


def test_what_this_side_found_out_is_shown_and_what_theirs_says_is_not():
    assert shown(kind="wrong-type", type="list", message="ndarray")["message"] == "ndarray"
    hidden = shown(kind="not-plain", type="Secret", message="41")
    assert (hidden["type"], hidden["message"]) == ("", "")
