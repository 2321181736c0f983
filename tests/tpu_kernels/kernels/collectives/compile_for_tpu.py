"""Compiles the collectives for slices of TPUs that are not here, and prints what the compiler said of each as JSON.

Run as a program, ``python compile_for_tpu.py FOLDER_WITH_LIBTPU``: libtpu reads its environment once, when it is
loaded, and a process that has it takes no other.
"""

import json
import os
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}

COLLECTIVES = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast", "permute")
MIB = 2**20


class Case(NamedTuple):
    """A collective on ``size`` bytes for each device of a mesh of this shape, and a number of its kernels."""

    topology: str
    mesh: tuple[int, ...]
    collective: str
    impl: str
    dtype: str = "float32"
    size: int = MIB
    op: str = "sum"

    @property
    def name(self) -> str:
        return f"{self.topology} {'x'.join(map(str, self.mesh))} {self.collective} {self.impl} {self.dtype}"


def cases() -> Iterator[Case]:
    """Every collective on every generation; large arrays and slices, where they may not fit."""
    for collective in COLLECTIVES:
        yield Case("v5e:2x4", (8,), collective, "ring", "bfloat16")
        yield Case("v6e:2x4", (8,), collective, "bidirectional", "int32")
        yield Case("v5p:2x2x2", (2, 2, 2), collective, "torus", size=MIB // 16)
    yield Case("v5e:2x4", (8,), "reduce_scatter", "ring", "float32", 256 * MIB)
    yield Case("v5e:16x16", (256,), "all_to_all", "bidirectional", "float32")
    yield Case("v5e:16x16", (256,), "all_reduce", "bidirectional", "float32", 64 * MIB, "max")
    yield Case("v5e:16x16", (16, 16), "all_reduce", "torus", "bfloat16")


def compiled(case: Case, devices: Any) -> int:
    """How many kernels the program holds; whatever the compiler raises passes."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    from tpu_kernels.kernels import collectives

    axes = "xyz"[: len(case.mesh)]
    mesh = Mesh(np.array(devices).reshape(case.mesh), tuple(axes))
    run = partial(getattr(collectives, case.collective), impl=case.impl, interpret=False)
    if case.collective in ("reduce_scatter", "all_reduce"):
        run = partial(run, op=case.op)
    if case.collective == "permute":
        run = partial(run, pairs=[(i, (i + 1) % len(devices)) for i in range(len(devices))])
    dtype = jnp.dtype(case.dtype)
    spec = P(tuple(axes))
    x = jax.ShapeDtypeStruct((len(devices) * (case.size // dtype.itemsize),), dtype, sharding=NamedSharding(mesh, spec))
    shared = jax.shard_map(lambda x: run(x, tuple(axes)), mesh=mesh, in_specs=spec, out_specs=spec)
    return jax.jit(shared).lower(x).compile().as_text().count('custom_call_target="tpu_custom_call"')


def main(libtpu: str) -> None:
    """Prints ``{"v5e:2x4 8 all_gather ring bfloat16": {"kernels": 1}, "...": {"error": "..."}}``."""
    os.environ.update(ENVIRONMENT)
    sys.path.insert(0, libtpu)
    from jax.experimental import topologies

    said: dict[str, dict[str, Any]] = {}
    devices: dict[str, Any] = {}
    for case in cases():
        if case.topology not in devices:
            devices[case.topology] = topologies.get_topology_desc(case.topology, "tpu").devices
        try:
            said[case.name] = {"kernels": compiled(case, devices[case.topology])}
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is this case's result
            said[case.name] = {"error": f"{type(error).__name__}: {error}"[:2000]}
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
