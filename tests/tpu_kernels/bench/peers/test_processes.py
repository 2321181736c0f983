"""Real peers in processes of their own: every collective right, in each form that the library has."""

import os
import sys

import pytest

from tpu_kernels.bench.collective_case import cases
from tpu_kernels.bench.collective_peers import bench_peer

PYTHON = os.environ.get("SISTOLICA_PEER_PYTHON", sys.executable)
# Out of place and in place.
FORMS = {
    "gloo": {"all-reduce": (0, 1), "broadcast": (0, 1)},
    "mpi": {"all-reduce": (1, 1), "broadcast": (0, 1), "all-to-all": (1, 1), "permute": (1, 1)},
}


@pytest.mark.parametrize(
    "collective", ["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "permute"]
)
def test_every_collective_is_right_on_three_ranks(peer, collective):
    options = {"root": 2} if collective == "broadcast" else {}
    case = cases(collective, [240], ranks=3, dtype="int32", **options)[0]
    row = bench_peer(peer, PYTHON, case, warmup=0, repeats=2).row
    assert row.right
    assert (row.out_of_place is not None, row.in_place is not None) == FORMS[peer].get(collective, (1, 0))
    assert [len(one.samples) for one in row.outcomes] == [3] * len(row.outcomes)


@pytest.mark.parametrize("op", ["max", "min"])
def test_the_operation_is_the_one_asked_for(peer, op):
    case = cases("all-reduce", [240], ranks=2, dtype="float32", op=op)[0]
    assert bench_peer(peer, PYTHON, case, warmup=0, repeats=1).row.right
