"""torch's gloo as a peer: ranks are processes that speak over TCP, on this machine.

gloo reduces, broadcasts and is done in the array that it is given: those have no form out of place.
"""

import json
import os
import sys
from functools import partial
from typing import Any

import torch
import torch.distributed as dist

from tpu_kernels.bench.collective_case import Case
from tpu_kernels.bench.peers.measurement import Forms, measure, parsed

OPERATIONS = {"sum": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX, "min": dist.ReduceOp.MIN}


class Gloo:
    """This process, in the default group of ``torch.distributed``."""

    def __init__(self) -> None:
        self.rank = dist.get_rank()
        self.version = str(torch.__version__)

    def forms(self, case: Case) -> Forms:
        """See :class:`~tpu_kernels.bench.peers.measurement.Peer`."""
        kind = getattr(torch, case.dtype)
        data = torch.from_numpy(case.data(self.rank).copy()).to(kind)
        sent, got = data.clone(), torch.zeros(case.received, dtype=kind)
        apart, inside = self._calls(case, sent, got)
        results = {"out_of_place": partial(_read, got), "in_place": partial(_read, sent)}
        return Forms(lambda: sent.copy_(data), apart, inside, results)

    def _calls(self, case: Case, sent: torch.Tensor, got: torch.Tensor) -> tuple[Any, Any]:
        op = OPERATIONS.get(case.op or "")
        match case.collective:
            case "all-reduce":
                return None, partial(dist.all_reduce, sent, op)
            case "broadcast":
                return None, partial(dist.broadcast, sent, case.root)
            case "all-gather":
                return partial(dist.all_gather_into_tensor, got, sent), None
            case "reduce-scatter":
                return partial(dist.reduce_scatter_tensor, got, sent, op), None
            case "all-to-all":
                return partial(dist.all_to_all_single, got, sent), None
            case _:
                return partial(self._permute, case, sent, got), None

    def _permute(self, case: Case, sent: torch.Tensor, got: torch.Tensor) -> None:
        after, before = (self.rank + 1) % case.ranks, (self.rank - 1) % case.ranks
        for work in (dist.isend(sent, after), dist.irecv(got, before)):
            work.wait()

    def barrier(self) -> None:
        """Returns when all ranks have called it."""
        dist.barrier()

    def gather(self, found: dict[str, Any]) -> list[dict[str, Any]] | None:
        """Everybody's ``found`` on the first rank."""
        ranks = [found] * dist.get_world_size() if self.rank == 0 else None
        dist.gather_object(found, ranks)
        return ranks


def _read(tensor: torch.Tensor) -> Any:
    """As NumPy's float32 or integers: NumPy has no bfloat16."""
    return (tensor.float() if tensor.is_floating_point() else tensor).numpy()


def main() -> None:
    """Does the job of the first argument; the first rank prints what was measured."""
    meeting = os.environ["MEETING"]
    ranks = int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=int(os.environ["RANK"]), world_size=ranks)
    found = measure(Gloo(), parsed(sys.argv[1]))
    dist.destroy_process_group()
    if found is not None:
        print(json.dumps(found))  # noqa: T201 -- what it prints is its result


if __name__ == "__main__":
    main()
