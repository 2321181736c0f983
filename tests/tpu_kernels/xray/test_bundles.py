"""Reading a program: bundles, their instructions, the regions that begin and end with them; and what is none."""

import pytest

from tpu_kernels.xray import bundles
from tpu_kernels.xray.errors import DumpError

PROGRAM = """= control target key start
LB: loop body
= control target key end

     0   :  { %s1_s0 = smov 0 /* copy */  ;;  %2 = vst [vmem:[#allocation2 + $0x8] sm:$0xff] %v3_v0 }
   0x1 LB: > { %s4_s1 = sphi %s1_s0, %s5_s2 } /* Start region 7 :: Start region 8 */
   0x2   : >> { %6 = dma.hbm_to_vmem [thread:$0]  (!%p7_p0), /*hbm=*/%s8_s3, /*size_in_granules=*/64 /*
window_bounds: (8, 1)
iteration_bounds: (2, 2) */ } /* End region 8 */
   0x3 PF: > {} /* Start/End empty region 9 :: End region 7 */
"""


def test_each_bundle_has_its_place() -> None:
    read = bundles.parse(PROGRAM)
    assert [(one.address, one.mark, one.depth, one.starts, one.ends) for one in read] == [
        (0, "", 0, (), ()),
        (1, "LB", 1, (7, 8), ()),
        (2, "", 2, (), (8,)),
        (3, "PF", 1, (9,), (9, 7)),
    ]


def test_instructions_are_split_and_named() -> None:
    first, _, third, last = bundles.parse(PROGRAM)
    assert [(one.target, one.opcode) for one in first.instructions] == [("s1_s0", "smov"), ("2", "vst")]
    assert [one.opcode for one in third.instructions] == ["dma.hbm_to_vmem"]
    assert "/*size_in_granules=*/64" in third.instructions[0].operands
    assert last.instructions == ()


def test_scalars_are_told_from_vectors() -> None:
    first, second, third, _ = bundles.parse(PROGRAM)
    assert [one.is_scalar for one in (*first.instructions, *second.instructions, *third.instructions)] == [
        True,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("   0x2   : >>", "   0x4   : >>"),  # a bundle is missing
        ("   0x2   : >>", "   0x1   : >>"),  # one is there twice
        ("   0x2   : >> {", "   0x2   : >> ["),  # another bracket
        ("} /* Start/End", "/* Start/End"),  # none at the end
        ("     0   :", "     z   :"),
    ],
)
def test_another_form_is_refused(old: str, new: str) -> None:
    assert old in PROGRAM
    with pytest.raises(DumpError):
        bundles.parse(PROGRAM.replace(old, new))


@pytest.mark.parametrize("text", ["", "no program", "\n\n"])
def test_no_program_is_refused(text: str) -> None:
    with pytest.raises(DumpError):
        bundles.parse(text)


def test_what_is_no_instruction_is_refused() -> None:
    odd = bundles.parse(PROGRAM.replace("%s1_s0 = smov 0", "smov(%s1_s0, 0)"))
    with pytest.raises(DumpError, match="no instruction"):
        _ = odd[0].instructions
