"""What a check learns of the program that JAX makes of a learner's function, and what a forged one gains: nothing."""

import json
import tomllib
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import graders
from graders.explain import error_text
from graders.judge import disclosed
from graders.lab import Exercise
from graders.learner import KernelLearner, NamespaceLearner
from graders.learner_error import LearnerError
from graders.plain import dumps, loads
from graders.program import MAX_PROGRAM, Collective, MissingCompilerError, Program, Spec
from graders.report import ExerciseResult, Outcome, Report
from graders.tolerance import product_bound, within
from tests.graders.traced_cells import namespace

NARROW = Spec((256, 128), "bfloat16"), Spec((128, 256), "bfloat16")


@pytest.fixture(scope="module")
def learner():
    return NamespaceLearner(namespace())


def operands(seed=0):
    rng = np.random.default_rng(seed)
    return tuple(rng.uniform(0.5, 1.5, spec.shape).astype(ml_dtypes.bfloat16) for spec in NARROW)


def right(program):
    a, b = operands()
    return within(program.call(a, b), a.astype(np.float64) @ b.astype(np.float64), product_bound(a, b))


def error_of(action):
    with pytest.raises(LearnerError) as caught:
        action()
    return caught.value


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
def test_a_product_of_xlas_is_counted_and_carried_out(learner, platform):
    program = learner.program("by_xla", *NARROW, platform=platform)
    assert (program.count("dot_general"), program.kernels, program.flops) == (1, {}, 2 * 256 * 128 * 256)
    assert program.results == (Spec((256, 256), "float32"),)
    assert right(program)


@pytest.mark.parametrize(("function", "kernel"), [("by_kernel", "mine"), ("by_library", "_kernel")])
def test_a_kernel_for_a_tpu_is_counted_and_carried_out_from_its_own_code(learner, function, kernel):
    program = learner.program(function, *NARROW)
    assert (program.count("dot_general"), program.kernels, program.flops) == (0, {kernel: 1}, 2 * 256 * 128 * 256)
    assert right(program)


def test_a_kernel_that_no_result_depends_on_does_not_count(learner):
    assert learner.program("idle_kernel", *NARROW).kernels == {}


def test_a_kernel_whose_result_weighs_nothing_shows_by_the_product_beside_it(learner):
    program = learner.program("weightless_kernel", *NARROW)
    assert (program.kernels, program.count("dot_general")) == ({"mine": 1}, 1)
    assert right(program)


def test_a_kernel_that_computes_something_else_gives_something_else(learner):
    square = Spec((256, 256), "bfloat16")
    program = learner.program("wrong_kernel", square, square)
    a, b = (np.random.default_rng(seed).uniform(0.5, 1.5, (256, 256)).astype(ml_dtypes.bfloat16) for seed in (0, 1))
    want = a.astype(np.float64) @ b.astype(np.float64)
    assert program.kernels == {"mine": 1}
    assert not within(program.call(a, b), want, product_bound(a, b))


def test_what_is_no_array_reaches_the_function_as_it_is(learner):
    program = learner.program("scaled", np.ones((2, 3), np.float32), 4, platform="cpu")
    assert np.array_equal(program.call(np.ones((2, 3), np.float32)), np.full((2, 3), 4))


def test_exchanges_between_devices_are_counted_with_what_one_device_gives(learner):
    for platform in ("cpu", "tpu"):
        program = learner.program("summed", Spec((64, 16), "float32", ("x",)), platform=platform, mesh={"x": 8})
        assert program.collectives == (Collective("all_reduce", 8 * 16 * 4, 1),)


def test_a_program_for_several_tpu_devices_is_counted_and_not_carried_out(learner):
    program = learner.program("summed", Spec((64, 16), "float32", ("x",)), mesh={"x": 8})
    assert error_of(lambda: program.call(np.ones((64, 16), np.float32))).kind == "unknown-part"


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
def test_a_function_that_cannot_be_traced_has_its_line(learner, platform):
    error = error_of(lambda: learner.program("branches", *NARROW, platform=platform))
    assert (error.kind, error.type, error.code) == ("not-traced", "TypeError", "if a[0, 0] > 0:")
    assert "\n" not in error.message


@pytest.mark.parametrize(
    ("function", "platform", "kind"),
    [
        ("not_written", "cpu", "not-written"),
        ("not_written", "tpu", "not-written"),
        ("by_kernel", "cpu", "not-traced"),
        ("absent", "tpu", "missing"),
        ("large", "cpu", "too-large"),
    ],
)
def test_a_function_without_a_program_is_an_error_with_a_name(learner, function, platform, kind):
    specs = (Spec((8, 8)),) if function == "large" else NARROW
    assert error_of(lambda: learner.program(function, *specs, platform=platform)).kind == kind


def test_arguments_that_the_program_is_not_for_are_a_fault_of_the_check(learner):
    with pytest.raises(ValueError, match="JAX makes 32 bits"):
        learner.program("by_xla", np.ones((2, 2)), np.ones((2, 2)))
    program = learner.program("by_xla", *NARROW, platform="cpu")
    with pytest.raises(ValueError, match="a program that takes"):
        program.call(np.ones((2, 2)), np.ones((2, 2)))


class Answers:
    """A reader that gives the same answer to every question."""

    def __init__(self, answer):
        self.answer = answer

    def ask(self, question, *given):
        if isinstance(self.answer, LearnerError):
            raise self.answer
        return self.answer


def forged(value, reader):
    """The learner whose process sends ``value``, whatever is asked of it."""

    def ask(request, timeout_s):
        return dumps({"nonce": loads(request)["nonce"], "value": value})

    return KernelLearner(ask, "place", 1.0, reader=reader)


FOUND = {
    "platforms": ["tpu"],
    "devices": 1,
    "arguments": [[[256, 128], "bfloat16"], [[128, 256], "bfloat16"]],
    "results": [[[256, 256], "float32"]],
    "operations": {"dot_general": 1},
    "kernels": {"mine": 1},
    "collectives": [["all_reduce", 4, 1]],
    "flops": None,
    "constant": 0,
}
CODE = np.zeros(3, np.uint8)


def test_what_was_found_in_a_program_is_given_as_it_was_found():
    program = forged(CODE, Answers(FOUND)).program("f", *NARROW)
    assert (program.kernels, program.flops, program.largest_constant) == ({"mine": 1}, None, 0)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {**FOUND, "platforms": ["cpu"]},
        {**FOUND, "platforms": ["cpu", "tpu"]},
        {**FOUND, "devices": 8},
        {**FOUND, "arguments": []},
        {**FOUND, "arguments": [[[256, 128], "bfloat16"], [[128, 256], "float32"]]},
        {**FOUND, "arguments": [[256, 128]]},
        {**FOUND, "results": [1]},
        {**FOUND, "operations": {"dot_general": "many"}},
        {**FOUND, "kernels": {"mine": None}},
        {**FOUND, "collectives": [["all_reduce", 4]]},
        {**FOUND, "flops": 1.5},
        {key: value for key, value in FOUND.items() if key != "constant"},
    ],
    ids=repr,
)
def test_a_program_for_something_else_and_an_answer_that_is_none_are_no_program(answer):
    assert error_of(lambda: forged(CODE, Answers(answer)).program("f", *NARROW)).kind == "not-a-program"


@pytest.mark.parametrize("value", [None, "code", [1], np.zeros((1, 2), np.uint8), np.zeros(2, np.int8)], ids=repr)
def test_what_is_no_bytes_is_no_program(value):
    assert error_of(lambda: forged(value, Answers(FOUND)).program("f", *NARROW)).kind == "not-a-program"


def test_a_program_larger_than_one_that_is_read_is_not_read():
    value = np.zeros(MAX_PROGRAM + 1, np.uint8)
    assert error_of(lambda: forged(value, Answers(FOUND)).program("f", *NARROW)).kind == "too-large"


def test_a_message_larger_than_any_is_not_read():
    def ask(request, timeout_s):
        nonce = json.dumps(["str", loads(request)["nonce"]])
        code = '["array","uint8",[34603008],"' + "A" * (34603008 // 3 * 4) + '"]'
        return f'["dict",[["nonce",{nonce}],["value",{code}]]]'

    learner = KernelLearner(ask, "place", 1.0, reader=Answers(FOUND))
    assert error_of(lambda: learner.program("f", *NARROW)).kind == "garbled"


@pytest.mark.parametrize(
    ("question", "failure", "kind"),
    [
        ("inspect", "raised", "not-a-program"),
        ("inspect", "died", "not-a-program"),
        ("inspect", "garbled", "not-a-program"),
        ("inspect", "timeout", "costly"),
        ("call", "raised", "program-failed"),
        ("call", "died", "costly"),
        ("call", "timeout", "costly"),
        ("xray", "died", "costly"),
        ("xray", "timeout", "costly"),
    ],
)
def test_how_the_reader_failed_says_what_is_wrong_with_the_program(question, failure, kind):
    reader = Answers(FOUND)

    def act():
        if question == "inspect":
            reader.answer = LearnerError(failure)
        program = forged(CODE, reader).program("f", *NARROW)
        reader.answer = LearnerError(failure)
        return program.call(*operands()) if question == "call" else program.xray()

    error = error_of(act)
    assert (error.kind, error.function) == (kind, "f")


def test_an_x_ray_is_refused_by_the_compiler_or_cannot_be_made():
    reader = Answers(FOUND)
    program = forged(CODE, reader).program("f", *NARROW)
    reader.answer = {"report": {"cycles": {"value": None}}}
    assert program.xray()["cycles"]["value"] is None
    reader.answer = {"refused": "VMEM"}
    assert error_of(program.xray).kind == "refused"
    reader.answer = {"missing": "libtpu"}
    with pytest.raises(MissingCompilerError, match="libtpu"):
        program.xray()
    reader.answer = {"report": "text"}
    assert error_of(program.xray).kind == "not-a-program"


def documented_check():
    """The example that lab authors read."""
    guide = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = guide.partition("### A check that looks at the program")[2]
    names = {}
    exec(section.partition("```python\n")[2].partition("```")[0], names)
    return names["tiled"]


TILED = Exercise("tiled", {"es": "Teselas", "pt": "Blocos"}, {"kernel": 2.0, "cycles": 1.0}, 60.0)


@pytest.mark.parametrize(
    ("function", "kernel", "hint", "spent", "cycles"),
    [
        ("by_kernel", 2.0, None, 8_999, 1.0),
        ("by_library", 2.0, None, None, 0.0),
        ("by_xla", 0.0, "kernel-hint", 9_000, 0.0),
        ("idle_kernel", 0.0, "kernel-hint", 8_999, 1.0),
        ("weightless_kernel", 0.0, "kernel-hint", 9_000, 0.0),
        ("wrong_kernel", 0.0, "values-hint", 9_000, 0.0),
    ],
)
def test_the_check_that_the_guide_shows_tells_a_kernel_from_what_looks_like_one(
    function, kernel, hint, spent, cycles, monkeypatch
):
    # The X-ray has tests of its own, where the compiler is; here a kernel takes as many cycles as it is said to.
    monkeypatch.setattr(Program, "xray", lambda self, chip: {"cycles": {"value": spent}})
    report = Report(TILED)
    learner = NamespaceLearner({**namespace(), "tiled_matmul": namespace()[function]})
    documented_check()(learner, np.random.default_rng(0), report)
    outcomes = {outcome.criterion: outcome for outcome in report.result().outcomes}
    assert (outcomes["kernel"].points, outcomes["kernel"].hint) == (kernel, hint)
    assert outcomes["cycles"].points == cycles


def test_the_learner_is_told_where_tracing_failed_and_no_hidden_input():
    error = LearnerError("not-traced", "f", "TypeError", "hidden 3.25", 2, "return a if a else b").to_dict()
    result = ExerciseResult("e", (Outcome("c", 0.0, 1.0, error=error),))
    shown = disclosed(result, ["def f(a, b):\n    return a if a else b"]).outcomes[0].error
    for lang in ("es", "pt"):
        text = error_text(shown, lang)
        assert "TypeError" in text
        assert "return a if a else b" in text
        assert "3.25" not in text
        assert "3.25" in error_text(error, lang)


def test_every_way_to_fail_has_words_in_both_languages():
    texts = tomllib.loads((Path(graders.__file__).parent / "messages.toml").read_text(encoding="utf-8"))["error"]
    for kind in ("too-large", "not-a-program", "program-failed", "unknown-part", "costly", "refused"):
        error = LearnerError(kind, "f").to_dict()
        said = {lang: error_text(error, lang) for lang in ("es", "pt")}
        assert said == {lang: texts[kind][lang].format(function="f") for lang in said}
