"""Copies between memories: which way, and of which operand, traced back through the arithmetic of addresses."""

from tpu_kernels.xray import bundles, copies
from tpu_kernels.xray.scalar import Predicate

PROGRAM = """
     0   :  { %s1_s0 = inlined_call_operand.hbm [shape: f32[64,128], index: 1, kind: input, shape index: {}] }
   0x1   :  { %2 = sst [smem:[#allocation9_spill]] %s1_s0 }
   0x2   :  { %s3_s1 = sld [smem:[#allocation9_spill]]  ;;  %s4_s2 = sshll.u32 %s30_s9, 5 }
   0x3   :  { %s5_s3 = scalar_lea.hbm %s3_s1, %s4_s2 }
   0x4   :  { %s6_s4 = sshll.u32 %s5_s3, 4  ;;  %s7_s5 = int_to_ptr.hbm [resolvable:$true] %s6_s4 }
   0x5   :  { %s8_s6 = int_to_ptr.vmem [resolvable:$true] %s31_s8 }
   0x6   :  { %9 = shalt.err (!%p1_p0) /* BoundsCheck 0 [deref of %s7] for %10 = dma.hbm_to_vmem [thread:$0]  (!%p2), \
/*hbm=*/%s7, /*size_in_granules=*/512 /* iteration_bounds: (2,) hlo: f.1 */ }
   0x7   :  { %10 = dma.hbm_to_vmem [thread:$0]  (!%p2_p1), /*hbm=*/%s7_s5, /*size_in_granules=*/512, /*vmem=*/%s8_s6 }
   0x8   :  { %11 = dma.general /*src=*/%s8_s6, /*size_in_granules=*/64, /*dst=*/%s7_s5, /*dst_syncflagno=*/%s32_s7 }
   0x9   :  { %12 = dma.done.wait (%p3_p2), %s33_s6, 512 }
"""


def test_copies_know_their_ends_and_operands() -> None:
    found = copies.copies(bundles.parse(PROGRAM))
    assert [(one.bundle, one.source, one.destination, one.granules, one.operand) for one in found] == [
        (7, "hbm", "vmem", "512", 1),
        (8, "vmem", "hbm", "64", 1),
    ]
    assert [one.guard for one in found] == [Predicate("p2_p1", True), None]


def test_an_address_from_nowhere_has_no_operand() -> None:
    lost = PROGRAM.replace("scalar_lea.hbm %s3_s1, %s4_s2", "scalar_lea.hbm %s40_s1, %s41_s2")
    assert [one.operand for one in copies.copies(bundles.parse(lost))] == [None, None]
