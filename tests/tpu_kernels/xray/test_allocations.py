"""What a kernel keeps in the core's memories."""

from tpu_kernels.xray import allocations
from tpu_kernels.xray.allocations import Allocation

LINES = """$region0: #{f.1}
  #allocation0 [shape = 'u32[]', space=smem, size = 0x4, offset = 0x4, fixed_abs, tag = 'constant address - core index']
  #allocation2 [shape = 'f32[512,512]{1,0:T(8,128)}', space=vmem, size = 0x100000, scoped, tag = 'scratch operand']
    #allocation3 [shape = 'u8[2]{0}', space=vmem, size = 0x80000, scoped, tag = 'window of bf16[512,256], full [8,8]']
    #allocation4 [shape = 's32[2]{0}', space=sflag, size = 0x8, scoped, tag = 'scoped memory for f.1']
  #allocation110_spill [shape = 's32[1]{0}', space=smem, size = 0x4, scoped, tag = 'spill']
  %9 = vst [vmem:[#allocation2 + $0x150] sm:$0xff] %v7
"""


def test_allocations_have_space_size_and_purpose() -> None:
    found = allocations.parse(LINES)
    assert found == (
        Allocation("vmem", 0x100000, "scratch operand"),
        Allocation("vmem", 0x80000, "window of bf16[512,256], full [8,8]"),
        Allocation("sflag", 8, "scoped memory for f.1"),
        Allocation("smem", 4, "spill"),
    )
    assert allocations.total(found, "vmem") == 0x180000
    assert allocations.total(found, "cmem") == 0
