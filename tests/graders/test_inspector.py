"""Programs read in a process of their own: those of real functions, forged ones, and bytes that are none."""

import numpy as np
import pytest

from graders.inspector import Inspector
from graders.kernel import KernelRunner
from graders.learner import KernelLearner
from graders.learner_error import LearnerError
from graders.plain import dumps, loads
from graders.process import RunnerLostError
from graders.program import Spec
from tests.graders.traced_cells import PRODUCTS
from tpu_kernels.xray import libtpu
from tpu_kernels.xray.errors import MissingCompilerError

SHAPE = (128, 128)
SPECS = Spec(SHAPE), Spec(SHAPE)


@pytest.fixture(scope="module")
def runner():
    found = KernelRunner()
    yield found
    found.close()


class Mortal:
    """A process that a certain program kills when it is read, as corrupted ones do that make MLIR leave its memory."""

    def __init__(self, process):
        self._process = process

    def run_cell(self, source):
        return self._process.run_cell(source + FATAL)

    def __getattr__(self, name):
        return getattr(self._process, name)


FATAL = """
import os
unguarded = inspect
inspect = lambda code: os.kill(os.getpid(), 9) if bytes(code) == b"fatal" else unguarded(code)
"""


@pytest.fixture(scope="module")
def inspector(runner):
    found = Inspector(lambda: Mortal(runner.start("es")))
    yield found
    found.close()


@pytest.fixture(scope="module")
def learner(runner, inspector):
    process = runner.start("es")
    assert process.run_cell(PRODUCTS).status == "ok"
    yield KernelLearner(process.ask, None, 60.0, reader=inspector)
    process.close()


@pytest.fixture(scope="module")
def code(learner):
    """A program, as the learner's process sends one."""
    return learner.program("by_kernel", *SPECS)._code


def sending(value, reader):
    """A learner whose process sends ``value``, whatever is asked of it."""

    def ask(request, timeout_s):
        return dumps({"nonce": loads(request)["nonce"], "value": value})

    return KernelLearner(ask, None, 60.0, reader=reader)


def operands():
    rng = np.random.default_rng(0)
    return rng.uniform(0.5, 1.5, SHAPE).astype(np.float32), rng.uniform(0.5, 1.5, SHAPE).astype(np.float32)


def kind_of(action):
    with pytest.raises(LearnerError) as caught:
        action()
    return caught.value.kind


def test_a_program_goes_from_one_process_to_the_other_and_is_carried_out_there(learner):
    program = learner.program("by_kernel", *SPECS)
    a, b = operands()
    assert program.kernels == {"mine": 1}
    assert np.allclose(program.call(a, b), a @ b)


def test_a_program_for_eight_devices_is_carried_out_on_the_cpus_of_the_process_that_reads(learner):
    program = learner.program("summed", Spec((16, 4), "float32", ("x",)), platform="cpu", mesh={"x": 8})
    given = np.arange(64, dtype=np.float32).reshape(16, 4)
    assert np.array_equal(program.call(given), given.reshape(8, 2, 4).sum(0))


def test_another_function_s_program_is_as_good_as_what_it_computes(learner, inspector):
    """Forged: the bytes of a product are sent where a sum is asked for."""
    forged = sending(learner.program("by_xla", *SPECS)._code, inspector).program("add", *SPECS)
    a, b = operands()
    assert not np.allclose(forged.call(a, b), a + b)


@pytest.mark.parametrize("given", ["empty", "text", "halved", "overwritten", "fatal"])
def test_bytes_that_are_no_program_are_named_so_and_the_next_program_is_read(learner, inspector, code, given):
    half = code.size // 2
    overwritten = code.copy()
    overwritten[half : half + 400] = 0xFF
    text, fatal = (np.frombuffer(written, np.uint8) for written in (b"a" * 500, b"fatal"))
    sent = {"empty": code[:0], "text": text, "halved": code[:half], "overwritten": overwritten, "fatal": fatal}
    assert kind_of(lambda: sending(sent[given], inspector).program("f", *SPECS)) == "not-a-program"
    assert learner.program("by_kernel", *SPECS).kernels == {"mine": 1}


def test_a_lost_runner_is_no_fault_of_the_program(code):
    def start():
        raise RunnerLostError

    inspector = Inspector(start)
    assert kind_of(lambda: inspector.ask("inspect", code)) == "died"
    assert isinstance(inspector.lost, RunnerLostError)


def test_an_x_ray_of_a_program_counts_the_cycles_of_its_kernel(learner):
    try:
        libtpu.find()
    except MissingCompilerError as missing:
        pytest.skip(str(missing))
    report = learner.program("by_kernel", *SPECS).xray("v5e")
    assert (report["chip"], report["flops"], [one["pallas"] for one in report["kernels"]]) == ("v5e", None, [True])
    assert report["cycles"]["value"] == sum(one["cycles"]["value"] for one in report["kernels"])
