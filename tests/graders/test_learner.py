"""What a check meets when it calls the learner's code: values, or a named error with the line in their cell."""

import numpy as np
import pytest

from graders.learner import KernelLearner, LearnerError, NamespaceLearner, ProcessDiedError, ProcessTimeoutError
from graders.plain import dumps, loads

CELL = """\
import numpy as np

kept = []

def echo(*args):
    return list(args)

def helper(x):
    return 1 / x

def divides(x):
    return helper(x)

def loads(x):
    import json
    return json.loads(x)

def spoils(rows):
    rows.append(0)
    return rows

def quits():
    raise SystemExit(3)

def unwritten():
    raise NotImplementedError("falta")

class Odd(ValueError):
    def __str__(self):
        raise RuntimeError

def odd():
    raise Odd

def gives_object():
    return object()

def flag():
    return True

def array():
    return np.zeros(2, np.float32)

number = 7
"""


@pytest.fixture
def namespace():
    names = {"__name__": "__main__"}
    exec(compile(CELL, "<cell>", "exec"), names)
    return names


@pytest.fixture
def learner(namespace):
    return NamespaceLearner(namespace)


def error_of(learner, name, *args, **options):
    with pytest.raises(LearnerError) as caught:
        learner.call(name, *args, **options)
    return caught.value


def test_arguments_arrive_and_values_return(learner):
    array = np.arange(6, dtype=np.int8).reshape(2, 3)
    got = learner.call("echo", 1, "ñ", None, [2.5], array)
    assert got[:4] == [1, "ñ", None, [2.5]]
    assert np.array_equal(got[4], array)
    assert got[4].dtype == np.int8


def test_the_judges_own_objects_are_never_handed_over(learner):
    mine = [1, 2]
    assert learner.call("spoils", mine) == [1, 2, 0]
    assert mine == [1, 2]


def test_repeat_calls_with_the_very_same_objects(learner):
    assert learner.call("spoils", [1], repeat=3) == [1, 0, 0, 0]


def test_an_exception_names_type_message_and_the_deepest_line_of_theirs(learner):
    error = error_of(learner, "divides", 0)
    assert (error.kind, error.type, error.message, error.line) == (
        "raised",
        "ZeroDivisionError",
        "division by zero",
        CELL.splitlines().index("    return 1 / x") + 1,
    )


def test_a_failure_inside_a_library_has_the_line_of_theirs_that_called_it(learner):
    assert error_of(learner, "loads", "{").line == CELL.splitlines().index("    return json.loads(x)") + 1


@pytest.mark.parametrize(
    ("name", "kind", "type_name"),
    [
        ("quits", "raised", "SystemExit"),
        ("unwritten", "not-written", "NotImplementedError"),
        ("odd", "raised", "ValueError"),
        ("gives_object", "not-plain", "object"),
        ("absent", "missing", ""),
        ("number", "missing", ""),
    ],
)
def test_what_cannot_be_judged_has_a_name(learner, name, kind, type_name):
    error = error_of(learner, name)
    assert (error.kind, error.type) == (kind, type_name)


@pytest.mark.parametrize(
    ("name", "returns", "got"),
    [("flag", int, "bool"), ("array", list, "numpy.ndarray (float32)"), ("echo", np.ndarray, "list")],
)
def test_a_value_of_another_type_is_an_error(learner, name, returns, got):
    error = error_of(learner, name, returns=returns)
    assert (error.kind, error.type, error.message) == ("wrong-type", got, returns.__name__)


def test_an_interrupt_is_the_learners_own(namespace):
    namespace["stop"] = lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        NamespaceLearner(namespace).call("stop")


def answering(make_reply):
    return lambda request, timeout_s: make_reply(loads(request))


@pytest.mark.parametrize(
    "make_reply",
    [
        lambda asked: "",
        lambda asked: "no plain data",
        lambda asked: dumps({"nonce": "another", "value": 1}),
        lambda asked: dumps({"nonce": asked["nonce"]}),
        lambda asked: dumps([asked["nonce"], 1]),
        lambda asked: dumps({"nonce": asked["nonce"], "error": {"kind": "raised"}}),
        lambda asked: dumps({"nonce": asked["nonce"], "error": "text"}),
        lambda asked: dumps(
            {
                "nonce": asked["nonce"],
                "error": {"kind": "invented", "type": "", "message": "", "line": 0, "code": ""},
            }
        ),
    ],
)
def test_a_reply_that_is_none_is_a_failure_of_theirs(make_reply):
    learner = KernelLearner(answering(make_reply), "place", 1.0)
    assert error_of(learner, "f").kind == "garbled"


def test_the_request_says_where_the_names_are_looked_up():
    learner = KernelLearner(
        answering(
            lambda asked: dumps({"nonce": asked["nonce"], "value": [asked["at"], asked["args"], asked["repeat"]]})
        ),
        "blocked-check",
        1.0,
    )
    assert learner.call("f", 1, repeat=2) == ["blocked-check", [1], 2]


def test_a_function_that_ran_out_of_time_is_not_called_again():
    calls = []

    def ask(request, timeout_s):
        calls.append(loads(request)["name"])
        raise ProcessTimeoutError

    learner = KernelLearner(ask, "place", 0.5)
    assert [error_of(learner, name).kind for name in ("slow", "slow", "other")] == ["timeout"] * 3
    assert calls == ["slow", "other"]


def test_a_dead_process_is_named():
    def ask(request, timeout_s):
        raise ProcessDiedError

    assert error_of(KernelLearner(ask, "place", 1.0), "f").kind == "died"
