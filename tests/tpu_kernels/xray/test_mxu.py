"""Operations of the matrix units: what each stands for, and for how long it holds a unit."""

import pytest

from tpu_kernels.xray import bundles, mxu, targets
from tpu_kernels.xray.errors import DumpError


def counted(*opcodes: str) -> dict[str, int]:
    body = "  ;;  ".join(f"%{number} = {opcode} %v{number}_v0" for number, opcode in enumerate(opcodes))
    (counts,) = mxu.operations(bundles.parse(f"     0   :  {{ {body} }}\n"))
    return dict(counts)


def test_operations_are_counted_by_the_type_that_is_streamed() -> None:
    assert counted(
        "vmatmul.bf16.vlgmr.msra.gmra.mxu0",
        "vmatmul.bf16.dwg.gmra.mxu1",
        "vmatmul.mubr.bf16.gmra.mrb",
        "vmatmul.hi.f32.gmra.mxu2",
        "vmatmul.s8.gmra.mxu3",
        "vmatmul.mubr.msk.f8e4m3b11.bf16.gmra.mxu0",
        "vmatmul.lmr.bf16.gmra.16.mxu0",
        "vmatpush.bf16.msra.mxu0",
        "vpop.f32.mrf.mxu0",
    ) == {"bf16": 3, "f32": 2, "s8": 1, "f8": 1}


@pytest.mark.parametrize("opcode", ["vmatmul.tf32.gmra.mxu0", "vmatmul.new.bf16.mxu0", "vmatmul.gmra.mxu0"])
def test_an_unknown_type_is_refused(opcode: str) -> None:
    with pytest.raises(DumpError, match="unknown type"):
        counted(opcode)


@pytest.mark.parametrize(("dtype", "rows"), [("f32", 8), ("bf16", 16), ("s8", 32), ("f8", 32), ("s4", 64)])
def test_narrower_types_stream_more_rows(dtype: str, rows: int) -> None:
    assert mxu.flops({dtype: 3}, targets.target("v5e")) == 3 * 2 * rows * 128 * 128
    assert mxu.flops({dtype: 3}, targets.target("v6e")) == 3 * 2 * rows * 256 * 256


@pytest.mark.parametrize(("chip", "cycles"), [("v4", 16), ("v5e", 16), ("v5p", 16), ("v6e", 8), ("tpu7x", 8)])
def test_sixteen_rows_hold_a_unit_for_sixteen_cycles_or_eight(chip: str, cycles: int) -> None:
    target = targets.target(chip)
    assert mxu.cycles({"bf16": target.mxus}, target) == pytest.approx(cycles, rel=3e-3)


def test_a_run_counts_each_bundle_as_often_as_it_is_executed() -> None:
    program = bundles.parse(
        "     0   :  { %1 = vmatmul.bf16.mxu0 %v1_v0 }\n   0x1   :  { %2 = vmatmul.f32.mxu0 %v1_v0 }\n"
    )
    assert mxu.given(program, (5, 2)) == {"bf16": 5, "f32": 2}
