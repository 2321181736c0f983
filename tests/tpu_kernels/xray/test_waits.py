"""Which wait is for which copy: by the semaphore that both name."""

from tests.tpu_kernels.xray import stored
from tpu_kernels.xray import bundles, waits
from tpu_kernels.xray.waits import Semaphore

COPY = "dma.hbm_to_vmem [thread:$0] /*hbm=*/%s1_s0, /*size_in_granules=*/64, /*vmem=*/%s3_s0, /*dst_syncflagno=*/"
PROGRAM = f"""
= control target key start
     0   : {{ %s5_s1 = scalar_lea.sflag [#allocation4], %s2_s8 }}
   0x1   : {{ %9 = {COPY}%s5_s1 }}
   0x2   : {{ %10 = {COPY}[#allocation6 + $0x4] }}
   0x3   : {{ %11 = dma.done.wait (%p2_p2), %s5_s1, 64 }}
   0x4   : {{ %12 = dma.done.wait [#allocation6 + $0x4], 64  ;;  %s7_s2 = sld [smem:[#allocation9_spill]] }}
   0x5   : {{ %13 = dma.done.wait (%p2_p2), %s7_s2, 64 }}
"""


def test_a_semaphore_is_named_by_its_place_or_by_a_register() -> None:
    found = waits.waits(bundles.parse(PROGRAM))
    assert [wait.bundle for wait in found] == [3, 4, 5]
    assert found[0].semaphore == Semaphore("%s5_s1", "allocation4")
    assert found[1].semaphore == Semaphore("[#allocation6 + $0x4]", "allocation6")


def test_an_address_that_is_computed_in_another_way_has_no_array() -> None:
    assert waits.waits(bundles.parse(PROGRAM))[2].semaphore == Semaphore("%s7_s2", None)


def test_a_copy_raises_the_semaphore_that_it_names() -> None:
    assert waits.raised(bundles.parse(PROGRAM)) == (
        Semaphore("%s5_s1", "allocation4"),
        Semaphore("[#allocation6 + $0x4]", "allocation6"),
    )


def test_every_copy_of_the_stored_programs_has_a_semaphore() -> None:
    for name in stored.NAMES:
        for dump in stored.dumps(name).values():
            raised = waits.raised(dump.bundles)
            assert len(raised) == len(dump.copies)
            assert all(one and one.array for one in raised), name
