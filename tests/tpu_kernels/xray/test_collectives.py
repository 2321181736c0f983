"""Collectives of a compiled program, in the forms that the TPU's compiler gives them."""

from itertools import product

import pytest

from tpu_kernels.models.collective_cost import link, torus_cost
from tpu_kernels.models.topology import tpu_slice
from tpu_kernels.xray import hlo, ici_time, slices
from tpu_kernels.xray.collectives import Collective, collectives, exchanges
from tpu_kernels.xray.errors import DumpError

SLICE = slices.named("v5e:16x16")
PLACES = [(x, y, 0, 0) for x, y in product(range(16), range(16))]  # the second side fastest
ROWS = "[16,16]<=[256]"
COLUMNS = "[16,16]<=[16,16]T(1,0)"
NEXT = ",".join(f"{{{16 * x + y},{16 * x + (y + 1) % 16}}}" for x, y in product(range(16), range(16)))
FURTHER = ",".join(f"{{{16 * x + y},{16 * x + (y + 2) % 16}}}" for x, y in product(range(16), range(16)))

MODULE = f"""HloModule jit_f, is_scheduled=true

%add (x: bf16[], y: bf16[]) -> bf16[] {{
  %x = bf16[] parameter(0)
  %y = bf16[] parameter(1)
  ROOT %sum = bf16[] add(%x, %y)
}}

%all-reduce-scatter (input: bf16[160,128]) -> bf16[16,128] {{
  %input = bf16[160,128]{{1,0:T(8,128)(2,1)}} parameter(0)
  %zero = bf16[] constant(0)
  %pad = bf16[256,128]{{1,0:T(8,128)(2,1)}} pad(%input, %zero), padding=0_96x0_0
  %all-reduce.9 = bf16[256,128]{{1,0:T(8,128)(2,1)}} all-reduce(%pad), channel_id=2, replica_groups={ROWS}, \
use_global_device_ids=true, to_apply=%add
  %here = u32[] partition-id()
  ROOT %mine = bf16[16,128]{{1,0:T(8,128)(2,1)}} dynamic-slice(%all-reduce.9, %here), dynamic_slice_sizes={{16,128}}
}}

%begin (given.1: bf16[16,100]) -> (bf16[16,100], bf16[256,100]) {{
  %given.1 = bf16[16,100]{{1,0:T(8,128)(2,1)}} parameter(0)
  %all-gather.2 = bf16[256,100]{{1,0:T(8,128)(2,1)}} all-gather(%given.1), channel_id=5, replica_groups={ROWS}, \
dimensions={{0}}, use_global_device_ids=true
  ROOT %begun = (bf16[16,100]{{1,0:T(8,128)(2,1)}}, bf16[256,100]{{1,0:T(8,128)(2,1)}}) custom-call(%all-gather.2), \
custom_call_target="AsyncCollectiveStart"
}}

%async_collective_fusion.1 (given.2: bf16[16,100]) -> bf16[256,100] {{
  %given.2 = bf16[16,100]{{1,0:T(8,128)(2,1)}} parameter(0)
  ROOT %all-gather.3 = bf16[256,100]{{1,0:T(8,128)(2,1)}} all-gather(%given.2), channel_id=5, replica_groups={ROWS}, \
dimensions={{0}}, use_global_device_ids=true
}}

%end (given.3: bf16[16,100]) -> bf16[256,100] {{
  %given.3 = bf16[16,100]{{1,0:T(8,128)(2,1)}} parameter(0)
  %all-gather.4 = bf16[256,100]{{1,0:T(8,128)(2,1)}} all-gather(%given.3), channel_id=5, replica_groups={ROWS}, \
dimensions={{0}}, use_global_device_ids=true
  ROOT %ended = bf16[256,100]{{1,0:T(8,128)(2,1)}} custom-call(%all-gather.4), custom_call_target="AsyncCollectiveDone"
}}

%offloaded (given: bf16[16,100]) -> bf16[256,100] {{
  %given = bf16[16,100]{{1,0:T(8,128)(2,1)}} parameter(0)
  ROOT %all-gather.1 = bf16[256,100]{{1,0:T(8,128)(2,1)}} all-gather(%given), channel_id=3, \
replica_groups=mesh['a'=16,'b'=16] {{'a'}}, dimensions={{0}}, use_global_device_ids=true
}}

%body (state: (s32[], bf16[16,100])) -> (s32[], bf16[16,100]) {{
  %state = (s32[]{{:T(128)}}, bf16[16,100]{{1,0:T(8,128)(2,1)}}) parameter(0)
  %i = s32[]{{:T(128)}} get-tuple-element(%state), index=0
  %v = bf16[16,100]{{1,0:T(8,128)(2,1)}} get-tuple-element(%state), index=1
  %moving = (bf16[16,100]{{1,0:T(8,128)(2,1)}}, bf16[16,100]{{1,0:T(8,128)(2,1)}}, u32[]{{:S(2)}}, u32[]{{:S(2)}}) \
collective-permute-start(%v), channel_id=4, source_target_pairs={{{NEXT}}}
  %moved = bf16[16,100]{{1,0:T(8,128)(2,1)}} collective-permute-done(%moving)
  ROOT %turned = (s32[]{{:T(128)}}, bf16[16,100]{{1,0:T(8,128)(2,1)}}) tuple(%i, %moved)
}}

%condition (state.1: (s32[], bf16[16,100])) -> pred[] {{
  %state.1 = (s32[]{{:T(128)}}, bf16[16,100]{{1,0:T(8,128)(2,1)}}) parameter(0)
  ROOT %again = pred[] constant(true)
}}

ENTRY %main (a: bf16[160,128], b: bf16[16,100], c: f32[]) -> bf16[16,100] {{
  %a = bf16[160,128]{{1,0:T(8,128)(2,1)}} parameter(0)
  %b = bf16[16,100]{{1,0:T(8,128)(2,1)}} parameter(1)
  %c = f32[] parameter(2)
  %both = (bf16[160,128]{{1,0:T(8,128)(2,1)}}, f32[]) all-reduce(%a, %c), channel_id=1, \
replica_groups=[1,256]<=[256], use_global_device_ids=true, to_apply=%add, \
metadata={{source_file="step.py" source_line=7}}
  %scattered = bf16[16,128]{{1,0:T(8,128)(2,1)}} fusion(%a), kind=kCustom, calls=%all-reduce-scatter
  %gathering = ((bf16[16,100]{{1,0:T(8,128)(2,1)}}), bf16[256,100]{{1,0:T(8,128)(2,1)}}) call-start(%b), \
async_execution_thread="sparsecore", to_apply=%offloaded, metadata={{source_file="step.py" source_line=9}}
  %gathered = bf16[256,100]{{1,0:T(8,128)(2,1)}} call-done(%gathering)
  %begins = (bf16[16,100]{{1,0:T(8,128)(2,1)}}, bf16[256,100]{{1,0:T(8,128)(2,1)}}) fusion(%b), \
kind=kCustom, calls=%begin
  %works = bf16[256,100]{{1,0:T(8,128)(2,1)}} fusion(%b), kind=kCustom, calls=%async_collective_fusion.1
  %ends = bf16[256,100]{{1,0:T(8,128)(2,1)}} fusion(%b), kind=kCustom, calls=%end
  %zero.1 = s32[]{{:T(128)}} constant(0)
  %tuple = (s32[]{{:T(128)}}, bf16[16,100]{{1,0:T(8,128)(2,1)}}) tuple(%zero.1, %b)
  %loop = (s32[]{{:T(128)}}, bf16[16,100]{{1,0:T(8,128)(2,1)}}) while(%tuple), condition=%condition, body=%body, \
backend_config={{"known_trip_count":{{"n":"5"}}}}
  ROOT %last = bf16[16,100]{{1,0:T(8,128)(2,1)}} get-tuple-element(%loop), index=1
}}
"""


def found(text: str = MODULE) -> dict[str, Collective]:
    return {one.name: one for one in collectives(hlo.parse(text), SLICE, PLACES)}


def modelled(collective: str, size: int, axes: tuple[int, ...]) -> float:
    of = tpu_slice("v5e", "16x16")
    on = link(alpha=1e-6, bandwidth=of.link_bandwidth)
    return float(torus_cost(collective, of.torus, size=size, on=on, axes=axes).time)


def test_an_all_reduce_of_several_arrays_is_one() -> None:
    one = found()["both"]
    assert (one.operation, one.dtype, one.bytes, one.result_bytes) == ("all-reduce", "bf16 f32", 40964, 40964)
    assert (one.groups, one.group_size, one.members) == (1, 256, "[1,256]<=[256]")
    assert (one.extents, one.runs, one.asynchronous, one.where) == ({"x": 16, "y": 16}, 1, False, "step.py:7")
    assert one.seconds == pytest.approx(modelled("all-reduce", 40964, (0, 1)))


def test_a_sum_of_which_each_keeps_a_part_is_a_reduce_scatter() -> None:
    one = found()["scattered"]
    assert (one.operation, one.bytes, one.result_bytes) == ("reduce-scatter", 256 * 128 * 2, 16 * 128 * 2)
    assert (one.members, one.extents) == (ROWS, {"y": 16})
    assert one.seconds == pytest.approx(modelled("reduce-scatter", 256 * 128 * 2, (1,)))


def test_one_that_another_core_carries_out_is_asynchronous() -> None:
    one = found()["all-gather.1"]
    assert (one.operation, one.asynchronous, one.where, one.runs) == ("all-gather", True, "step.py:9", 1)
    assert (one.bytes, one.result_bytes) == (16 * 100 * 2, 256 * 100 * 2)
    assert (one.members, one.extents) == (COLUMNS, {"x": 16})
    assert one.seconds == pytest.approx(modelled("all-gather", 256 * 100 * 2, (0,)))


def test_one_that_goes_on_while_others_compute_is_counted_once() -> None:
    assert set(found()) == {"both", "scattered", "all-gather.1", "begins", "moving"}
    one = found()["begins"]
    assert (one.operation, one.asynchronous, one.runs, one.result_bytes) == ("all-gather", True, 1, 256 * 100 * 2)


def test_a_permute_in_a_loop_runs_as_often_as_the_loop() -> None:
    one = found()["moving"]
    assert (one.operation, one.asynchronous, one.runs) == ("collective-permute", True, 5)
    assert (one.bytes, one.result_bytes) == (16 * 100 * 2, 16 * 100 * 2)
    assert (one.groups, one.group_size, one.extents) == (16, 16, {"y": 16})
    assert one.seconds == pytest.approx(modelled("permute", 3200, (1,)))


def test_what_the_model_does_not_know_has_no_time() -> None:
    assert found(MODULE.replace(NEXT, FURTHER))["moving"].seconds is None
    partial = found(MODULE.replace(ROWS, "[32,8]<=[256]"))["scattered"]
    assert (partial.extents, partial.seconds) == ({"y": 8}, None)
    pod = slices.named("tpu7x:2x2x1")
    places = [(x, y, 0, core) for y, x, core in product(range(2), range(2), range(2))]
    text = MODULE.replace("[1,256]<=[256]", "[1,8]<=[8]").replace(ROWS, "[1,8]<=[8]").replace(NEXT, "{0,1},{1,0}")
    text = text.replace("mesh['a'=16,'b'=16] {'a'}", "mesh['a'=8] {'a'}")
    assert {one.seconds for one in collectives(hlo.parse(text), pod, places)} == {None}


def test_collectives_are_no_kernels_but_a_fusion_that_works_meanwhile_is() -> None:
    run = set(hlo.parse(MODULE).runs) & exchanges(hlo.parse(MODULE))
    assert run == {"both", "scattered", "all-gather.1", "moving", "begins", "ends"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("replica_groups=[1,256]<=[256]", "replica_groups=everybody"),
        ("replica_groups=[1,256]<=[256]", "replica_groups=[1,512]<=[512]"),
        ("all-reduce(%a, %c)", "all-reduce()"),
        ("source_target_pairs", "pairs"),
    ],
)
def test_another_form_is_refused(old: str, new: str) -> None:
    assert old in MODULE
    with pytest.raises(DumpError):
        found(MODULE.replace(old, new, 1))


def test_chips_of_two_devices_share_their_links_so_that_no_time_is_modelled() -> None:
    whole = {"x": 4, "y": 4}
    assert ici_time.seconds("all-reduce", 2**20, whole, (), slices.named("v5p:4x4x4")) is not None
    assert ici_time.seconds("all-reduce", 2**20, whole, (), slices.named("v4:4x4x4")) is None


@pytest.mark.parametrize(("to", "known"), [(1, True), (3, True), (2, False)])  # the ring of four closes from 3 to 0
def test_a_permute_is_modelled_between_neighbours_only(to: int, known: bool) -> None:
    sent = [((0, 0, 0, 0), (to, 0, 0, 0))]
    found = ici_time.seconds("collective-permute", 2**20, {"x": 4}, sent, slices.named("v5p:4x4x4"))
    assert (found is not None) is known
