"""Collectives of every implementation in one run, as the NCCL tests measure them, each result checked.

Out of place, a call gets memory for its result as NCCL and MPI do: a donated array, the result of the call before.
Without it every call asks the kernel for new pages, and large arrays measure that. In place, it gets what it sends.
Calls follow each other without a pause, and each is waited for.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import isqrt

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tpu_kernels.backend import here, require_devices
from tpu_kernels.bench.collective_case import Case
from tpu_kernels.bench.collective_chunks import ELEMENTWISE, in_chunks
from tpu_kernels.bench.collective_row import Outcome, Row
from tpu_kernels.bench.timing import time_in_turns
from tpu_kernels.kernels import collectives
from tpu_kernels.models.collective_cost.bus_bandwidth import BROADCAST, PERMUTE
from tpu_kernels.phrases import phrase

XLA, CHUNKED, TORUS = "xla", "chunked", "torus"
IMPLEMENTATIONS = ("ring", "bidirectional", TORUS, XLA, CHUNKED)
Program = Callable[[jax.Array, jax.Array], jax.Array]


def implementations(collective: str, platform: str) -> tuple[str, ...]:
    """What is worth timing there: kernels on a TPU, and on a CPU, where they are interpreted, XLA whole and chunked."""
    if platform == "tpu":
        return ("ring", "bidirectional", XLA)
    return (XLA, CHUNKED) if platform == "cpu" and collective in ELEMENTWISE else (XLA,)


def checked_implementations(names: Sequence[str], collective: str) -> Sequence[str]:
    """``names`` themselves. ``ValueError`` for one that is not known, or that does not do ``collective``."""
    for name in names:
        if name not in IMPLEMENTATIONS:
            known = ", ".join(IMPLEMENTATIONS)
            raise ValueError(phrase("collectives.unknown_impl", got=repr(name), known=known))
        if name == CHUNKED and collective not in ELEMENTWISE:
            raise ValueError(phrase("collective_bench.no_chunks", got=collective, known=", ".join(ELEMENTWISE)))
    return names


def bench_collective(
    cases: Sequence[Case],
    names: Sequence[str],
    *,
    warmup: int = 5,
    repeats: int = 20,
    progress: Callable[[], None] = lambda: None,
) -> Iterator[Row]:
    """Yields a :class:`Row` for each case and implementation, on the first ``case.ranks`` devices.

    A kernel that runs in the interpreter here gives values once, out of place, and no times. ``progress`` is called
    after each row. Raises ``ValueError`` for more devices than there are, and what the implementation refuses.
    """
    platform = here().platform
    for case in cases:
        devices = require_devices(case.ranks)
        for name in checked_implementations(names, case.collective):
            mesh = _mesh(devices, name)
            interpreted = platform == "cpu" and name not in (XLA, CHUNKED)
            run = partial(_outcome, case, name, mesh, None if interpreted else (warmup, repeats))
            apart = run(in_place=False)
            inside = run(in_place=True) if case.in_place and not interpreted else None
            yield Row(case, name, platform, devices[0].device_kind, apart, inside)
            progress()


def _mesh(devices: Sequence[jax.Device], name: str) -> Mesh:
    """One axis; for the torus two, as square as the number of devices allows."""
    count = len(devices)
    width = next(side for side in range(isqrt(count), 0, -1) if count % side == 0) if name == TORUS else 1
    grid = np.array(devices).reshape(count // width, width)
    return Mesh(grid, ("x", "y")) if name == TORUS else Mesh(grid[:, 0], ("x",))


def _outcome(case: Case, name: str, mesh: Mesh, rounds: tuple[int, int] | None, *, in_place: bool) -> Outcome:
    sharding = NamedSharding(mesh, P(mesh.axis_names))
    program = _program(case, name, mesh, in_place=in_place)
    held = np.concatenate([case.data(rank) for rank in range(case.ranks)])
    x = jax.device_put(held.astype(jnp.dtype(case.dtype)), sharding)
    room = x if in_place else jnp.zeros(case.ranks * case.received, case.dtype, device=sharding)
    result = program(x, room)
    wrong = _wrong(case, result)
    if rounds is None:
        return Outcome(wrong, ())

    def call() -> jax.Array:
        nonlocal result
        result = program(result if in_place else x, result)
        return result

    warmup, repeats = rounds
    return Outcome(wrong, (time_in_turns({name: call}, warmup=warmup, repeats=repeats)[name].samples,))


def _program(case: Case, name: str, mesh: Mesh, *, in_place: bool) -> Program:
    """``program(x, result)``, which writes over ``result``, or over ``x`` when it is the same array."""
    every = P(mesh.axis_names)
    collective = _collective(case, name, tuple(mesh.axis_names))

    def body(x: jax.Array, result: jax.Array) -> jax.Array:
        return in_chunks(collective, x, result) if name == CHUNKED else collective(x)

    # What varies is left unchecked: an interpreted kernel does not say.
    if in_place:
        over = jax.shard_map(lambda x: body(x, x), mesh=mesh, in_specs=every, out_specs=every, check_vma=False)
        inside = jax.jit(over, donate_argnums=0)
        return lambda x, result: inside(x)
    apart = jax.shard_map(body, mesh=mesh, in_specs=(every, every), out_specs=every, check_vma=False)
    program: Program = jax.jit(apart, donate_argnums=1, keep_unused=True)
    return program


def _collective(case: Case, name: str, axes: tuple[str, ...]) -> Callable[[jax.Array], jax.Array]:
    options: dict[str, object] = {"impl": XLA if name == CHUNKED else name}
    if case.op is not None:
        options["op"] = case.op
    if case.collective == BROADCAST:
        options["root"] = case.root
    if case.collective == PERMUTE:
        options["pairs"] = case.pairs
    function = getattr(collectives, case.collective.replace("-", "_"))
    return partial(function, axis_name=axes, **options)


def _wrong(case: Case, result: jax.Array) -> int:
    parts = np.asarray(result).reshape(case.ranks, -1)
    return sum(case.wrong(rank, part) for rank, part in enumerate(parts))
