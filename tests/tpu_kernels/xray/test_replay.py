"""Programs small enough to be run in the head, run: loops, branches and their delay slots, copies, spills, cores."""

import pytest

from tpu_kernels.xray import bundles, copies, replay
from tpu_kernels.xray.errors import DumpError
from tpu_kernels.xray.regions import Loop, loops

# A pipeline over three steps: five trips, a copy in the first three, work in the middle three.
PIPELINE = """
     0   :  { %s1_s1 = smov 0 }
   0x1 LB: > { %s2_s2 = sphi %s1_s1, %s9_s9 } /* Start region 10 */
   0x2   : > { %p3_p0 = scmp.lt.s32.totalorder %s2_s2, 3  ;;  %p4_p1 = scmp.ge.s32.totalorder %s2_s2, 1 }
   0x3   : > { %5 = dma.hbm_to_vmem [thread:$0]  (%p3_p0), /*hbm=*/%s20_s0, /*size_in_granules=*/64, /*vmem=*/%s21_s1 }
   0x4   : > { %p6_p2 = scmp.lt.s32.totalorder %s2_s2, 4 }
   0x5   : > { %p7_p3 = pnand %p4_p1, %p6_p2 }
   0x6   : > { %8 = sbr.rel (%p7_p3) target = $region12 }
   0x7   : > {}
   0x8   : > { %v30_v0 = vadd.f32 %v31_v1, %v32_v2 } /* Start region 11 :: End region 11 */
   0x9 PF: > { %s9_s9 = sadd.s32 1, %s2_s2 } /* Start/End empty region 12 */
   0xa   : > { %p10_p4 = scmp.ge.s32.totalorder %s9_s9, 5 /* loop exit test */ }
   0xb   :  { %11 = sbr.rel (!%p10_p4) target = $region10 }
   0xc   :  {} /* End region 10 */
   0xd   :  { %s22_s2 = inlined_call_operand.hbm [shape: f32[8,128], index: 0, kind: input] }
"""


def run(text: str, delay_slots: int = 1, core: int = 0) -> replay.Replay:
    program = bundles.parse(text)
    return replay.replay(program, copies.copies(program), delay_slots, core)


def test_each_bundle_is_counted() -> None:
    found = run(PIPELINE)
    #                         0  1  2  3  4  5  6  7  8  9  a  b  c  d
    assert found.executions == (1, 5, 5, 5, 5, 5, 5, 5, 3, 5, 5, 5, 5, 1)


def test_copies_are_counted_under_their_conditions() -> None:
    found = run(PIPELINE)
    assert (found.starts, found.granules) == ((3,), (3 * 64,))


def test_a_size_may_be_computed() -> None:
    """The last block hangs over the edge: 64, 64, then 40."""
    ragged = PIPELINE.replace("/*size_in_granules=*/64", "/*size_in_granules=*/%s40_s7").replace(
        "%p3_p0 = scmp.lt.s32.totalorder %s2_s2, 3",
        "%p3_p0 = scmp.lt.s32.totalorder %s2_s2, 3  ;;  %s42_s3 = smul.u32 64, %s2_s2"
        "  ;;  %s43_s4 = ssub.s32 168, %s42_s3  ;;  %s40_s7 = smin.u32 64, %s43_s4",
    )
    assert run(ragged).granules == (64 + 64 + 40,)


@pytest.mark.parametrize(("delay_slots", "expected"), [(0, 3), (1, 3), (2, 5)])
def test_delay_slots_are_executed_whether_the_branch_is_taken_or_not(delay_slots: int, expected: int) -> None:
    executions = run(PIPELINE, delay_slots).executions
    assert executions is not None
    assert executions[8] == expected


def test_loops_have_entries_and_trips() -> None:
    assert loops(run(PIPELINE), 1) == (Loop(1, 12, 1, 5),)


def test_a_branch_in_the_shadow_of_one_that_is_taken_does_nothing() -> None:
    text = """
     0   :  { %p1_p0 = scmp.eq.s32.totalorder 0, 0 }
   0x1   :  { %2 = sbr.rel (%p1_p0) target = $region2 }
   0x2   :  { %3 = sbr.rel (%p1_p0) target = $region3 }
   0x3   :  { %s4_s1 = smov 1 }
   0x4 PF:  { %s5_s2 = smov 2 } /* Start/End empty region 2 */
   0x5   :  { %s6_s3 = smov 3 }
   0x6 PF:  { %s7_s4 = smov 4 } /* Start/End empty region 3 */
"""
    assert run(text, 1).executions == (1, 1, 1, 0, 1, 1, 1)
    untaken = text.replace("scmp.eq.s32.totalorder 0, 0", "scmp.eq.s32.totalorder 0, 1")
    assert run(untaken, 1).executions == (1, 1, 1, 1, 1, 1, 1)


def test_a_branch_may_leave_the_program() -> None:
    text = """
     0   :  { %p1_p0 = scmp.eq.s32.totalorder 0, 0 }
   0x1   :  { %2 = sbr.rel (%p1_p0) target = $region4 }
   0x2   :  {}
   0x3   :  { %s4_s1 = smov 1 } /* Start region 3 :: End region 3 */
"""
    assert run(text).executions == (1, 1, 1, 0)


def test_registers_live_through_memory() -> None:
    """A register of the loop is stored in the bundle where it is defined, and loaded in the next trip."""
    text = """
     0   :  { %s1_s1 = smov 0 }
   0x1 LB: > { %2 = sst [smem:[#allocation7_spill]] %s3_s2  ;;  %s3_s2 = sphi %s1_s1, %s5_s4 } /* Start region 1 */
   0x2   : > { %s4_s3 = sld [smem:[#allocation7_spill]] }
   0x3   : > { %s5_s4 = sadd.s32 2, %s4_s3 }
   0x4   : > { %p6_p0 = scmp.ge.s32.totalorder %s5_s4, 6 }
   0x5   :  { %7 = sbr.rel (!%p6_p0) target = $region1 }
   0x6   :  {} /* End region 1 */
"""
    assert run(text).executions == (1, 3, 3, 3, 3, 3, 3)


def test_cores_go_their_own_ways() -> None:
    text = """
     0   :  { %s1_s1 = sld [smem:[#allocation0]] /* core id */ }
   0x1   :  { %p2_p0 = scmp.ne.s32.totalorder %s1_s1, 0 }
   0x2   :  { %3 = sbr.rel (%p2_p0) target = $region2 }
   0x3   :  {}
   0x4   :  { %s4_s2 = smov 1 } /* Start region 1 :: End region 1 */
   0x5 PF:  {} /* Start/End empty region 2 */
"""
    assert run(text, core=0).executions == (1, 1, 1, 1, 1, 1)
    assert run(text, core=1).executions == (1, 1, 1, 1, 0, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scmp.ge.s32.totalorder %s9_s9, 5", "scmp.ge.s32.totalorder %s9_s9, %s50_s9"),  # a bound from nowhere
        ("%s1_s1 = smov 0", "%s1_s1 = sld [smem:[#allocation3]]"),  # a start from memory
        ("%s1_s1 = smov 0", "%s1_s1 = smov 0  ;;  %60 = scall.rel target = $region3"),
        ("sadd.s32 1, %s2_s2", "sadd.s32 0, %s2_s2"),  # no end in sight
        ("sadd.s32 1, %s2_s2", "snew.s32 1, %s2_s2"),  # an instruction that is not known
    ],
)
def test_a_way_that_depends_on_data_is_unknown(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "MOST_STRETCHES", 1000)
    assert old in PIPELINE
    assert run(PIPELINE.replace(old, new)) == replay.Replay(None, {}, (None,), (None,))


def test_a_copy_that_depends_on_data_is_unknown_and_the_rest_is_known() -> None:
    found = run(PIPELINE.replace("(%p3_p0), /*hbm", "(%p70_p9), /*hbm"))
    assert (found.starts, found.granules) == ((None,), (None,))
    assert found.executions == run(PIPELINE).executions


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("target = $region12", "target = $region99"),
        ("target = $region12", "to region12"),
        ("%p6_p2 = scmp.lt.s32.totalorder %s2_s2, 4", "%p3_p0 = scmp.lt.s32.totalorder %s2_s2, 4"),  # written twice
        ("/*size_in_granules=*/64", "/*size_in_bytes=*/64"),
    ],
)
def test_a_program_that_cannot_be_is_refused(old: str, new: str) -> None:
    assert old in PIPELINE
    with pytest.raises(DumpError):
        run(PIPELINE.replace(old, new))
