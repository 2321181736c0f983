"""MPI as a peer, through mpi4py: ranks are processes that ``mpirun`` starts, on this machine."""

import json
import os
import sys
from functools import partial
from typing import Any

import numpy as np
from mpi4py import MPI

from tpu_kernels.bench.collective_case import Case
from tpu_kernels.bench.mortal import die_with
from tpu_kernels.bench.peers.measurement import Forms, measure, parsed

OPERATIONS = {"sum": MPI.SUM, "max": MPI.MAX, "min": MPI.MIN}
DTYPES = ("float32", "int32", "int8")


class Mpi:
    """This process, in the world of ``mpirun``."""

    def __init__(self) -> None:
        self.world = MPI.COMM_WORLD
        self.rank = self.world.Get_rank()
        self.version = MPI.Get_library_version().split(",")[0].strip()

    def forms(self, case: Case) -> Forms:
        """See :class:`~tpu_kernels.bench.peers.measurement.Peer`."""
        if case.dtype not in DTYPES:
            raise NotImplementedError(case.dtype)
        data = case.data(self.rank).astype(case.dtype)
        sent, got = data.copy(), np.zeros(case.received, case.dtype)
        apart, inside = self._calls(case, sent, got)
        results = {"out_of_place": lambda: got, "in_place": lambda: sent}
        return Forms(lambda: np.copyto(sent, data), apart, inside, results)

    def _calls(self, case: Case, sent: Any, got: Any) -> tuple[Any, Any]:
        world, op = self.world, OPERATIONS.get(case.op or "")
        before, after = (self.rank - 1) % case.ranks, (self.rank + 1) % case.ranks
        match case.collective:
            case "all-reduce":
                return partial(world.Allreduce, sent, got, op), partial(world.Allreduce, MPI.IN_PLACE, sent, op)
            case "broadcast":
                return None, partial(world.Bcast, sent, case.root)
            case "all-gather":
                return partial(world.Allgather, sent, got), None
            case "reduce-scatter":
                return partial(world.Reduce_scatter_block, sent, got, op), None
            case "all-to-all":
                return partial(world.Alltoall, sent, got), partial(world.Alltoall, MPI.IN_PLACE, sent)
            case _:
                return (
                    partial(world.Sendrecv, sent, after, recvbuf=got, source=before),
                    partial(world.Sendrecv_replace, sent, after, source=before),
                )

    def barrier(self) -> None:
        """Returns when all ranks have called it."""
        self.world.Barrier()

    def gather(self, found: dict[str, Any]) -> list[dict[str, Any]] | None:
        """Everybody's ``found`` on the first rank."""
        ranks: list[dict[str, Any]] | None = self.world.gather(found)
        return ranks


def main() -> None:
    """Does the job of the first argument; the first rank prints what was measured."""
    die_with(os.getppid())  # mpirun, which ends its ranks unless it is killed itself
    found = measure(Mpi(), parsed(sys.argv[1]))
    if found is not None:
        print(json.dumps(found))  # noqa: T201 -- what it prints is its result


if __name__ == "__main__":
    main()
