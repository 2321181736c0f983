"""What scalar instructions compute, against Python's integers cut to 32 bits."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.xray import scalar
from tpu_kernels.xray.bundles import Instruction
from tpu_kernels.xray.scalar import CONSTANTS

WORDS = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2**31 - 1, 2**31, 2**32 - 1]))


def value(opcode: str, operands: str, **registers: int) -> int | bool:
    assigned = scalar.assignment(Instruction("s9_s9", opcode, operands))
    assert assigned is not None
    found: int | bool = eval(assigned.source, {**CONSTANTS, **registers})
    return found


def signed(word: int) -> int:
    return word - 2**32 if word >= 2**31 else word


@settings(max_examples=40, deadline=None, derandomize=True)
@given(WORDS, WORDS)
def test_arithmetic_wraps_at_32_bits(a: int, b: int) -> None:
    read = {"s1_s1": a, "s2_s2": b}
    assert value("sadd.s32", " %s1_s1, %s2_s2", **read) == (a + b) % 2**32
    assert value("ssub.s32", " %s1_s1, %s2_s2", **read) == (a - b) % 2**32
    assert value("smul.u32", " %s1_s1, %s2_s2", **read) == (a * b) % 2**32
    assert value("sxor.u32", " %s1_s1, %s2_s2", **read) == a ^ b


@settings(max_examples=40, deadline=None, derandomize=True)
@given(WORDS, WORDS)
def test_comparisons_know_the_sign(a: int, b: int) -> None:
    read = {"s1_s1": a, "s2_s2": b}
    assert value("scmp.lt.s32.totalorder", " %s1_s1, %s2_s2", **read) == (signed(a) < signed(b))
    assert value("scmp.ge.s32.totalorder", " %s1_s1, %s2_s2", **read) == (signed(a) >= signed(b))
    assert value("scmp.lt.u32.totalorder", " %s1_s1, %s2_s2", **read) == (a < b)
    assert value("scmp.eq.s32.totalorder", " %s1_s1, %s2_s2", **read) == (a == b)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(WORDS, st.integers(0, 40))
def test_shifts(a: int, by: int) -> None:
    read = {"s1_s1": a, "s2_s2": by}
    assert value("sshll.u32", " %s1_s1, %s2_s2", **read) == (a << by) % 2**32
    assert value("sshrl.u32", " %s1_s1, %s2_s2", **read) == a >> by
    assert value("sshra.s32", " %s1_s1, %s2_s2", **read) == (signed(a) >> by) % 2**32


@pytest.mark.parametrize(("holds", "expected"), [(True, 7), (False, 5)])
def test_a_guarded_move_keeps_the_old_value(holds: bool, expected: int) -> None:
    assert value("smov", " (%p1_p1, %s2_s2), 7", p1_p1=holds, s2_s2=5) == expected
    assert value("smov", " (!%p1_p1, %s2_s2), 7", p1_p1=not holds, s2_s2=5) == expected


@pytest.mark.parametrize(("holds", "expected"), [(True, 3), (False, 9)])
def test_a_guarded_instruction_may_do_nothing(holds: bool, expected: int) -> None:
    assert value("sadd.s32", " (%p1_p1), 1, %s2_s2", p1_p1=holds, s2_s2=2, s9_s9=9) == expected


def test_a_choice_reads_past_its_labels() -> None:
    written = " /*predicate=*/%p1_p1, /*on_true=*/%s2_s2, /*on_false=*/0 /* copy for cssa */"
    assert value("scalar_select", written, p1_p1=True, s2_s2=4) == 4
    assert value("scalar_select", written, p1_p1=False, s2_s2=4) == 0


@pytest.mark.parametrize(
    ("opcode", "operands", "expected"),
    [
        ("pnand", " %p1_p1, %p2_p2", True),
        ("pand", " %p1_p1, %p2_p2", False),
        ("por", " %p1_p1, %p2_p2", True),
        ("pneg", " %p1_p1", False),
    ],
)
def test_predicates(opcode: str, operands: str, expected: bool) -> None:
    assert bool(value(opcode, operands, p1_p1=True, p2_p2=False)) is expected


def test_spilled_words_have_names_of_their_own() -> None:
    stored = scalar.assignment(Instruction("4", "sst", " [smem:[#allocation12_spill]] %s1_s1"))
    loaded = scalar.assignment(Instruction("s5_s5", "sld", " [smem:[#allocation12_spill]]"))
    beside = scalar.assignment(Instruction("s6_s6", "sld", " [smem:[#allocation12_spill + $0x1]]"))
    assert stored is not None and loaded is not None and beside is not None
    assert (stored.source, loaded.target) == ("s1_s1", "s5_s5")
    assert stored.target == loaded.source != beside.source


def test_a_register_of_a_loop_has_two_sources() -> None:
    assigned = scalar.assignment(Instruction("s1_s1", "sphi", " %s2_s2, %s3_s3 /* phi copy */"))
    assert assigned is not None
    assert (assigned.source, assigned.again, assigned.reads) == ("s2_s2", "s3_s3", {"s2_s2", "s3_s3"})


def test_a_program_for_two_cores_asks_which_it_runs_on() -> None:
    assigned = scalar.assignment(Instruction("s1_s1", "sld", " [smem:[#allocation0]] /* core id */ "))
    assert assigned is not None
    assert assigned.source == "CORE"


@pytest.mark.parametrize(
    ("opcode", "operands"),
    [
        ("sld", " [smem:[#allocation3]]"),  # an operand in scalar memory: data
        ("spop", " %7497"),  # from a vector
        ("scalar_lea.hbm", " %s1_s1, %s2_s2"),
        ("sadd.s32", " [#allocation3], %s2_s2"),
        ("sadd.s32", " %s1_s1"),  # one operand too few
        ("snew.s32", " %s1_s1, %s2_s2"),
        ("smov", ""),
    ],
)
def test_what_cannot_be_followed_is_not_guessed(opcode: str, operands: str) -> None:
    assert scalar.assignment(Instruction("s9_s9", opcode, operands)) is None
