"""The compiled program as XLA prints it: operations, how often each is run, where it comes from."""

import pytest

from tpu_kernels.xray import hlo, hlo_products
from tpu_kernels.xray.errors import DumpError

MODULE = """HloModule jit_f, is_scheduled=true

FileNames
1 "-"
2 "kernel.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=2 function_name_id=1 line=13 end_line=15 column=2 end_column=9}
2 {file_name_id=1 function_name_id=1 line=62 end_line=62 column=2 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}


%fused (p0: bf16[100,60], p1: bf16[60,200]) -> bf16[100,200] {
  %p0 = bf16[100,60]{1,0:T(8,128)(2,1)} parameter(0)
  %p1 = bf16[60,200]{1,0:T(8,128)(2,1)} parameter(1)
  ROOT %convolution.1 = bf16[100,200]{1,0:T(8,128)(2,1)} convolution(%p0, %p1), dim_labels=bf_io->bf
}

%body (state: (s32[], bf16[100,200], s32[])) -> (s32[], bf16[100,200], s32[]) {
  %state = (s32[]{:T(128)}, bf16[100,200]{1,0:T(8,128)(2,1)}, s32[]{:T(128)}) parameter(0)
  %one = s32[]{:T(128)} constant(1)
  %i = s32[]{:T(128)} get-tuple-element(%state), index=0
  %next = s32[]{:T(128)} add(%i, %one)
  %x = bf16[100,200]{1,0:T(8,128)(2,1)} get-tuple-element(%state), index=1
  %last = s32[]{:T(128)} get-tuple-element(%state), index=2
  %copy.5 = bf16[100,200]{1,0:T(8,128)(2,1)} copy(%x), metadata={op_name="jit(f)/copy" stack_frame_id=2}
  ROOT %turned = (s32[]{:T(128)}, bf16[100,200]{1,0:T(8,128)(2,1)}, s32[]{:T(128)}) tuple(%next, %copy.5, %last)
}

%condition (state.1: (s32[], bf16[100,200], s32[])) -> pred[] {
  %state.1 = (s32[]{:T(128)}, bf16[100,200]{1,0:T(8,128)(2,1)}, s32[]{:T(128)}) parameter(0)
  %i.1 = s32[]{:T(128)} get-tuple-element(%state.1), index=0
  %end = s32[]{:T(128)} constant(7)
  ROOT %lt = pred[]{:T(512)} compare(%i.1, %end), direction=LT
}

ENTRY %main (a: bf16[100,60], b: bf16[60,200]) -> bf16[100,200] {
  %a = bf16[100,60]{1,0:T(8,128)(2,1)} parameter(0)
  %b = bf16[60,200]{1,0:T(8,128)(2,1)} parameter(1)
  %copy-start = (bf16[60,200]{1,0:T(8,128)(2,1)S(1)}, bf16[60,200]{1,0:T(8,128)(2,1)}, u32[]{:S(2)}) copy-start(%b)
  %copy-done = bf16[60,200]{1,0:T(8,128)(2,1)S(1)} copy-done(%copy-start)
  %fusion.2 = bf16[100,200]{1,0:T(8,128)(2,1)} fusion(%a, %copy-done), kind=kOutput, calls=%fused, \
metadata={op_name="jit(f)/dot" stack_frame_id=1}, \
backend_config={"used_scoped_memory_configs":[{"memory_space":"1","offset":"0","size":"4096"}]}
  %zero = s32[]{:T(128)} constant(0)
  %start = s32[]{:T(128)} copy(%zero)
  %tuple = (s32[]{:T(128)}, bf16[100,200]{1,0:T(8,128)(2,1)}, s32[]{:T(128)}) tuple(%start, %fusion.2, %zero)
  %while = (s32[]{:T(128)}, bf16[100,200]{1,0:T(8,128)(2,1)}, s32[]{:T(128)}) while(%tuple), \
condition=%condition, body=%body
  ROOT %kernel.3 = bf16[100,200]{1,0:T(8,128)(2,1)} custom-call(%fusion.2), custom_call_target="tpu_custom_call"
}
"""


def test_operations_are_read_in_order() -> None:
    module = hlo.parse(MODULE)
    assert module.entry == "main"
    names = [one.name for one in module.computations["main"]]
    assert names[:4] == ["a", "b", "copy-start", "copy-done"]
    assert names[-1] == "kernel.3"
    assert module.named["fusion.2"].operands == ("a", "copy-done")


def test_runs_follow_loops_and_leave_fusions_whole() -> None:
    runs = hlo.parse(MODULE).runs
    assert (runs["fusion.2"], runs["copy.5"], runs["kernel.3"]) == (1, 7, 1)
    assert "convolution.1" not in runs


@pytest.mark.parametrize(
    ("old", "new", "trips"),
    [
        ("constant(7)", "constant(10)", 10),
        ("%one = s32[]{:T(128)} constant(1)", "%one = s32[]{:T(128)} constant(3)", 3),
        ("%zero = s32[]{:T(128)} constant(0)", "%zero = s32[]{:T(128)} constant(9)", 0),
        ("add(%i, %one)", "add(%one, %i)", 7),
        ("add(%i, %one)", "add(%copied, %one)\n  %copied = s32[]{:T(128)S(6)} copy(%i)", 7),
        ("add(%i, %one)", "copy(%sum)\n  %sum = s32[]{:T(128)} add(%i, %one)", 7),
        ("%i = s32[]{:T(128)} get-tuple-element(%state)", "%i = s32[]{:T(128)} get-tuple-element(%copy.5)", None),
        ("body=%body", 'body=%body, backend_config={"known_trip_count":{"n":"4"}}', 4),
        ("direction=LT", "direction=NE", None),
        ("constant(7)", "get-tuple-element(%state.1), index=2", None),
        ("add(%i, %one)", "multiply(%i, %one)", None),
        ("tuple(%next,", "tuple(%last,", None),
    ],
)
def test_trips_are_counted_or_not_known(old: str, new: str, trips: int | None) -> None:
    assert old in MODULE
    assert hlo.parse(MODULE.replace(old, new)).runs["copy.5"] == trips


def test_arrays_are_as_large_as_their_tiles() -> None:
    module = hlo.parse(MODULE)
    near, far, _ = module.named["copy-start"].arrays
    assert (near.dtype, near.dimensions, near.bytes, near.near) == ("bf16", (60, 200), 64 * 256 * 2, True)
    assert (far.bytes, far.near) == (64 * 256 * 2, False)


def test_places_are_the_learners() -> None:
    module = hlo.parse(MODULE)
    assert module.where(module.named["fusion.2"]) == "kernel.py:13"
    assert module.where(module.named["copy.5"]) == ""
    assert module.where(module.named["kernel.3"]) == ""


def test_an_operation_knows_its_memory_and_whether_it_is_pallas() -> None:
    module = hlo.parse(MODULE)
    assert (module.named["fusion.2"].vmem, module.named["kernel.3"].vmem) == (4096, None)
    assert [one.name for one in module.operations() if one.is_kernel] == ["kernel.3"]


def test_multiplications_of_a_fusion() -> None:
    module = hlo.parse(MODULE)
    assert hlo_products.flops(module, module.named["fusion.2"]) == 2 * 100 * 60 * 200
    assert hlo_products.flops(module, module.named["copy.5"]) == 0
    assert hlo_products.only_products(module, module.named["fusion.2"])
    assert not hlo_products.only_products(module, module.named["copy.5"])


def test_a_batch_written_as_a_dilated_convolution_is_not_counted() -> None:
    dilated = "dim_labels=bf_io->bf, window={size=2 lhs_dilate=2}"
    module = hlo.parse(MODULE.replace("dim_labels=bf_io->bf", dilated))
    assert hlo_products.flops(module, module.named["fusion.2"]) is None
    assert not hlo_products.only_products(module, module.named["fusion.2"])


@pytest.mark.parametrize(
    ("old", "new"),
    [("ENTRY ", ""), ("%fusion.2 = ", "%fusion.2: "), (" fusion(%a", " [fusion](%a"), (MODULE, "")],
)
def test_another_form_is_refused(old: str, new: str) -> None:
    assert old in MODULE
    with pytest.raises(DumpError):
        hlo.parse(MODULE.replace(old, new, 1))
