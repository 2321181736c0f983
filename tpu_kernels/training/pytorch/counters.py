"""What torch_xla did behind a piece of code: programs run and compiled, numbers moved, operations left to the CPU.

A training loop that is slow for no visible reason mostly shows here: a program compiled at every step (a shape that
changes), or more than one run a step (a number that is read).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tpu_kernels.training.pytorch import libraries

FALLBACK = "aten::"  # how torch_xla counts an operation that it has no program for, ``item()`` among them


@dataclass
class Counts:
    """Since the block began, in this process. Filled in when it ends; all 0 before.

    ``executions`` of programs, ``compilations`` of new ones, transfers ``to_device`` and ``to_host``, and by name the
    operations that ran on the host, ``fallbacks``: ``aten::_local_scalar_dense`` is ``item()``.
    """

    executions: int = 0
    compilations: int = 0
    to_device: int = 0
    to_host: int = 0
    fallbacks: dict[str, int] = field(default_factory=dict)


@contextmanager
def count() -> Iterator[Counts]:
    """Counts what happens in the ``with`` block. At both ends waits until the device has done what it was given."""
    before = _read()
    counts = Counts()
    yield counts
    after = _read()
    for name in ("executions", "compilations", "to_device", "to_host"):
        setattr(counts, name, getattr(after, name) - getattr(before, name))
    more = {name: total - before.fallbacks.get(name, 0) for name, total in after.fallbacks.items()}
    counts.fallbacks.update({name: total for name, total in more.items() if total})


def _read() -> Counts:
    libraries.torch_xla()
    from torch_xla.core import xla_model
    from torch_xla.debug import metrics

    def samples(metric: str) -> int:
        data = metrics.metric_data(metric)
        return int(data[0]) if data else 0

    xla_model.wait_device_ops()  # an execution is counted when it ends
    named = [name for name in metrics.counter_names() if name.startswith(FALLBACK)]
    return Counts(
        executions=samples("ExecuteTime") + samples("ExecuteReplicatedTime"),
        compilations=samples("CompileTime"),
        to_device=samples("TransferToDeviceTime"),
        to_host=samples("TransferFromDeviceTime"),
        fallbacks={name: metrics.counter_value(name) for name in named},
    )
