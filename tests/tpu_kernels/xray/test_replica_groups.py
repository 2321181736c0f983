"""Groups of devices in each form in which XLA writes them, and back in one short form."""

import random

import numpy as np
import pytest

from tpu_kernels.xray import replica_groups
from tpu_kernels.xray.errors import DumpError


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{{0,1},{2,3}}", ((0, 1), (2, 3))),
        ("{{0,2,1,3}}", ((0, 2, 1, 3),)),
        ("{}", ((0, 1, 2, 3),)),
        ("[2,2]<=[4]", ((0, 1), (2, 3))),
        ("[2,2]<=[2,2]T(1,0)", ((0, 2), (1, 3))),
        ("mesh['a'=2,'b'=2] {'b'}", ((0, 1), (2, 3))),
        ("mesh['a'=2,'b'=2] {'a'}", ((0, 2), (1, 3))),
        ("mesh['a'=2,'b'=2] {'a','b'}", ((0, 1, 2, 3),)),
        ("mesh['a'=4] {'a':(1)2}", ((0, 2), (1, 3))),
        ("mesh['a'=4] {'a':(2)2}", ((0, 1), (2, 3))),
    ],
)
def test_each_form_is_read(written: str, expected: replica_groups.Groups) -> None:
    found = replica_groups.groups(f"channel_id=1, replica_groups={written}, use_global_device_ids=true", 4)
    assert found == expected


def test_counting_through_a_grid_is_what_numpy_does() -> None:
    choose = random.Random(0)
    for _ in range(30):
        sizes = [choose.choice((2, 3, 4)) for _ in range(3)]
        order = choose.sample(range(3), 3)
        members = np.arange(np.prod(sizes)).reshape(sizes).transpose(order).reshape(sizes[order[0]], -1)
        text = f"[{members.shape[0]},{members.shape[1]}]<=[{','.join(map(str, sizes))}]T({','.join(map(str, order))})"
        expected = tuple(tuple(group) for group in members.tolist())
        assert replica_groups.groups(f"replica_groups={text}", members.size) == expected
        short = replica_groups.written(expected)
        assert short is not None
        assert replica_groups.groups(f"replica_groups={short}", members.size) == expected


@pytest.mark.parametrize(
    ("groups", "short"),
    [
        ((tuple(range(8960)),), "[1,8960]<=[8960]"),
        (((0, 1), (2, 3)), "[2,2]<=[4]"),
        (((0, 2), (1, 3)), "[2,2]<=[2,2]T(1,0)"),
        (((0, 1, 3, 2),), None),
        (((0, 1), (2,)), None),
        (((4, 5), (6, 7)), None),
    ],
)
def test_groups_have_one_short_form_or_none(groups: replica_groups.Groups, short: str | None) -> None:
    assert replica_groups.written(groups) == short


@pytest.mark.parametrize(
    "attributes",
    [
        "channel_id=1",
        "replica_groups={{0,1},{1,2}}",
        "replica_groups={{0,9}}",
        "replica_groups=[3,2]<=[4]",
        "replica_groups=mesh['a'=2,'b'=2] {'c'}",
        "replica_groups=mesh['a'=4] {'a':(1)3}",
        "replica_groups=mesh['a'=2,'b'=2], device_ids=([4]) {'a'}",
        "replica_groups=mesh['a'=8] {'a':(1)2,'a':(4)2}",
    ],
)
def test_another_form_is_refused(attributes: str) -> None:
    with pytest.raises(DumpError):
        replica_groups.groups(attributes, 4)


def test_a_permute_joins_those_that_send_to_each_other() -> None:
    sent = replica_groups.pairs("source_target_pairs={{0,2},{2,0},{1,3},{4,4}}, channel_id=1")
    assert sent == ((0, 2), (2, 0), (1, 3), (4, 4))
    assert replica_groups.joined(sent) == ((0, 2), (1, 3))
    with pytest.raises(DumpError):
        replica_groups.pairs("channel_id=1")
