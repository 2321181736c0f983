"""Data parallelism as a program for each device, which sums with the others: PyTorch's own form, in processes.

The counterpart of JAX's ``shard_map`` form. On TPU each chip has a process. On a CPU the simulated devices are threads
of one process, and in three places torch_xla would let them wait for each other until XLA ends the process:

- Each waiting device holds a thread of a pool that is only as wide as the machine has cores (:mod:`.simulation`).
- Two threads that compile the same program at the same time get one each, and devices meet in a sum only if they run
  the very same one. So the threads take turns: the first compiles, the others find it in the cache.
- A program that writes its results where its inputs were keeps the thread that started it waiting, at times with
  Python's lock held, until it ends; the others then never start theirs. So :func:`launch` turns that off.
"""

import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tpu_kernels.phrases import phrase
from tpu_kernels.training.pytorch import libraries
from tpu_kernels.training.pytorch.batch import Batch, filled
from tpu_kernels.training.pytorch.simulation import require_unclaimed


class Replica:
    """A :class:`~.layout.Layout`: the device with number ``index`` of ``count`` that run the same program.

    It draws random numbers of its own; ``torch.manual_seed`` with the same seed on all would have them drop the same.
    """

    def __init__(self) -> None:
        import torch_xla
        from torch_xla import runtime
        from torch_xla.core import xla_model

        self.device: torch.device = torch_xla.device()
        self.index, self.count = int(runtime.global_ordinal()), int(runtime.world_size())
        xla_model.set_rng_state(xla_model.get_rng_state() + self.index)  # torch_xla begins with the same on all
        self._turns = _turns(self.count) if runtime.device_type() == "CPU" else None

    def settle(self, model: nn.Module) -> None:
        """Sends the parameters to this device."""
        self.sync()

    def place(self, batch: Batch, accumulate: int) -> dict[str, Tensor]:
        """The rows of this device, of the whole batch filled up to a multiple of ``count * accumulate``.

        Raises ``ValueError`` as :func:`.batch.filled` does.
        """
        full = filled(batch, self.count * accumulate)
        mine = {name: array.reshape(self.count, -1, *array.shape[1:])[self.index] for name, array in full.items()}
        return {name: torch.tensor(array).to(self.device) for name, array in mine.items()}

    def sum(self, tensors: list[Tensor]) -> None:
        """Replaces each tensor by its sum over all devices: one all-reduce for all of them."""
        from torch_xla.core import xla_model

        xla_model.all_reduce(xla_model.REDUCE_SUM, tensors)

    def sync(self) -> None:
        """Compiles and starts what was recorded for this device. All devices must come to it, equally often."""
        import torch_xla

        if self._turns:
            self._turns.take(torch_xla.sync)
        else:
            torch_xla.sync()


def launch(work: Callable[..., None], *args: Any, start_method: str = "spawn") -> None:
    """Calls ``work(replica, *args)`` for each device: a process a TPU chip, or a thread a simulated one; waits for all.

    ``work`` and ``args`` are pickled, so ``work`` stands in a module; for one from a notebook's cell, ``start_method``
    is "fork". Raises ``RuntimeError`` when torch_xla has taken devices in this process, ``ValueError`` for a ``work``
    that the new processes could not import, :class:`~.libraries.LibraryError` without torch_xla, and what ``work``
    raises.
    """
    require_unclaimed()
    if start_method == "spawn" and work.__module__ == "__main__" and not hasattr(sys.modules["__main__"], "__file__"):
        raise ValueError(phrase("pytorch.not_importable", name=work.__qualname__))
    torch_xla = libraries.torch_xla()
    if os.environ.get("PJRT_DEVICE") == "CPU":
        os.environ["XLA_ENABLE_PARAM_ALIASING"] = "0"
    torch_xla.launch(partial(_work, work), args, start_method=start_method)


def _work(work: Callable[..., None], _: int, *args: Any) -> None:
    replica = Replica()
    try:
        work(replica, *args)
        if replica._turns:
            replica._turns.leave()
    except BaseException as error:
        if replica._turns:
            replica._turns.give_up(error)
        raise


class _Turns:
    """``count`` threads that do something one after another, and none again before all have."""

    def __init__(self, count: int) -> None:
        self._count, self._leaving, self._uneven = count, 0, False
        self._all_here, self._one_at_a_time = threading.Barrier(count, self._compare), threading.Lock()
        self._failure: BaseException | None = None

    def take(self, act: Callable[[], None]) -> None:
        """Calls ``act`` when it is this thread's turn.

        Raises what another thread gave up with, ``RuntimeError`` when another has left and would never come.
        """
        self._meet()
        with self._one_at_a_time:
            act()

    def leave(self) -> None:
        """Waits until all leave. Raises as :meth:`take` does."""
        with self._one_at_a_time:
            self._leaving += 1
        self._meet()

    def give_up(self, error: BaseException) -> None:
        """Frees the threads that wait for this one."""
        self._failure = self._failure or error
        self._all_here.abort()

    def _meet(self) -> None:
        try:
            self._all_here.wait()
        except threading.BrokenBarrierError:
            raise self._failure or RuntimeError from None
        if self._uneven:
            raise RuntimeError(phrase("pytorch.uneven", left=self._leaving, count=self._count))

    def _compare(self) -> None:
        """Called once, when all are here and before any goes on and may leave."""
        self._uneven = 0 < self._leaving < self._count


_of_this_process: dict[int, _Turns] = {}
_making = threading.Lock()


def _turns(count: int) -> _Turns:
    """The same for all threads of this process."""
    with _making:
        if count not in _of_this_process:
            _of_this_process[count] = _Turns(count)
        return _of_this_process[count]
