"""Compiles products for TPUs that are not here, and prints what the compiler said of each as JSON.

Run as a program, ``python compile_for_tpu.py FOLDER_WITH_LIBTPU``: libtpu reads its environment once, when it is
loaded, and a process that has it takes no other.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tpu_kernels.xray.compiler import OFF_DEVICE

TOPOLOGIES = {"v4": "v4:2x2x1", "v5e": "v5e:2x2", "v5p": "v5p:2x2x1", "v6e": "v6e:2x2", "7x": "tpu7x:2x2x1"}
WITHOUT_8_BITS = {"v4"}
LEFT_OUT = {
    "v4": {"large blocks", "resident", "resident turned"},
    "7x": {"panels of odd tiles"},
}  # by VMEM or schedules that they do not have

CASES = {
    "bfloat16": {"sizes": (1024, 4096, 1024), "dtype": "bfloat16"},
    "large blocks": {"sizes": (1024, 4096, 1024), "dtype": "bfloat16", "block": (1024, 4096, 512)},
    "float32": {"sizes": (1024, 2048, 1024), "dtype": "float32"},
    "float32 highest": {"sizes": (512, 256, 256), "dtype": "float32", "precision": "highest"},
    "int8": {"sizes": (1024, 2048, 1024), "dtype": "int8"},
    "float8": {"sizes": (512, 1024, 512), "dtype": "float8_e4m3fn"},
    "ragged": {"sizes": (300, 200, 100), "dtype": "float32"},
    "ragged in k": {"sizes": (300, 1100, 400), "dtype": "bfloat16", "block": (256, 512, 256)},
    "ragged int8": {"sizes": (300, 1100, 400), "dtype": "int8", "block": (256, 512, 256)},
    "bias and gelu": {"sizes": (512, 1024, 512), "dtype": "bfloat16", "activation": "gelu", "bias": True},
    "bias and silu": {"sizes": (257, 512, 300), "dtype": "float32", "activation": "silu", "bias": True},
    "batched": {"sizes": (257, 512, 384), "dtype": "bfloat16", "batch": 3},
    "one row": {"sizes": (1, 2048, 2048), "dtype": "bfloat16"},
    "panels": {"sizes": (512, 256, 1024), "dtype": "bfloat16", "block": (128, 256, 256), "schedule": "panels"},
    "panels of odd tiles": {
        "sizes": (1000, 640, 512),
        "dtype": "bfloat16",
        "block": (256, 640, 128),
        "schedule": "panels",
        "bias": True,
    },
    "panels int8": {"sizes": (1024, 640, 512), "dtype": "int8", "block": (256, 640, 128), "schedule": "panels"},
    "panels turned": {"sizes": (1000, 520, 384), "dtype": "bfloat16", "block": (256, 520, 128), "schedule": "panels"},
    "panels turned float32": {
        "sizes": (1000, 520, 384),
        "dtype": "float32",
        "block": (256, 520, 128),
        "schedule": "panels",
    },
    "panels turned int8": {"sizes": (1000, 520, 384), "dtype": "int8", "block": (256, 520, 128), "schedule": "panels"},
    "panels turned float8": {
        "sizes": (1000, 520, 384),
        "dtype": "float8_e4m3fn",
        "block": (256, 520, 128),
        "schedule": "panels",
    },
    "panels swapped": {
        "sizes": (384, 300, 288),
        "dtype": "bfloat16",
        "block": (128, 300, 144),
        "schedule": "panels",
        "bias": True,
    },
    "resident": {"sizes": (256, 384, 512), "dtype": "bfloat16", "block": (256, 384, 256), "schedule": "resident"},
    "resident turned": {
        "sizes": (1000, 520, 384),
        "dtype": "bfloat16",
        "block": (1000, 520, 128),
        "schedule": "resident",
    },
    "backward": {"sizes": (512, 256, 384), "dtype": "bfloat16", "activation": "gelu", "bias": True, "grad": True},
    "backward ragged": {"sizes": (300, 200, 100), "dtype": "float32", "batch": 2, "bias": True, "grad": True},
    "shared out": {"sizes": (1024, 256, 384), "dtype": "bfloat16", "activation": "relu", "grad": True, "devices": 4},
}


def cases(chip: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Those that the matrix unit of this generation has formats for, and its memories a schedule."""
    for name, case in CASES.items():
        if name in LEFT_OUT.get(chip, ()):
            continue
        if chip not in WITHOUT_8_BITS or case["dtype"] not in ("int8", "float8_e4m3fn"):
            yield name, case


def compiled(chip: str, devices: Any, case: dict[str, Any]) -> str:
    """The block that was chosen; whatever the compiler raises passes."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    from tpu_kernels.kernels.gemm.block import Block
    from tpu_kernels.kernels.gemm.blocking import checked_block, choose_block
    from tpu_kernels.kernels.gemm.dtypes import accumulator_dtype, result_dtype
    from tpu_kernels.kernels.gemm.gradient import Call, product
    from tpu_kernels.kernels.gemm.problem import Problem
    from tpu_kernels.kernels.gemm.tensor_core import tensor_core

    (m, k, n), dtype, g = case["sizes"], jnp.dtype(case["dtype"]), case.get("batch", 1)
    count = case.get("devices", 1)
    problem = Problem(g, m // count, k, n, dtype, accumulator_dtype(dtype), result_dtype(dtype))
    precision = lax.Precision(case["precision"]) if "precision" in case else None
    block = choose_block(problem, chip, precision)
    if "block" in case:
        schedule, shared = case.get("schedule", "stream"), tensor_core(chip).sharing
        cores = shared if schedule == "panels" else 1
        block = checked_block(problem, Block(*case["block"], schedule, cores), chip, precision)
    call = Call(problem, "pallas_tpu", block, precision, case.get("activation"), False, chip)

    mesh = Mesh(np.array(devices[:count]), ("rows",))
    rows, whole = P(None, "rows"), P()
    shapes = [((g, m, k), dtype, rows), ((g, k, n), dtype, whole)]
    if case.get("bias"):
        shapes.append(((n,), jnp.dtype(jnp.float32), whole))
    arrays = [jax.ShapeDtypeStruct(s, d, sharding=NamedSharding(mesh, spec)) for s, d, spec in shapes]

    def local(a: Any, b: Any, bias: Any = None) -> Any:
        return product(call, a, b, bias)

    run: Callable[..., Any] = local
    if count > 1:
        from tpu_kernels.kernels.gemm.manual_axes import varying_over

        axes = frozenset({"rows"})

        def alike(a: Any, b: Any) -> Any:
            return product(call, a, varying_over(axes, b), None)

        run = jax.shard_map(alike, mesh=mesh, in_specs=(rows, whole), out_specs=rows)
    if case.get("grad"):
        run = jax.grad(lambda *xs, of=run: jnp.sum(of(*xs).astype(jnp.float32)), argnums=tuple(range(len(arrays))))
    program = jax.jit(run).lower(*arrays).compile()
    assert "tpu_custom_call" in program.as_text()
    return str(block)


def main(libtpu: str) -> None:
    """Prints ``{"v5e bfloat16": {"block": "1024x4096x512"}, "v4 int8": {"error": "..."}}``."""
    os.environ.update(OFF_DEVICE)
    sys.path.insert(0, libtpu)
    from jax.experimental import topologies

    said: dict[str, dict[str, str]] = {}
    for chip, topology in TOPOLOGIES.items():
        devices = topologies.get_topology_desc(topology, "tpu").devices
        for name, case in cases(chip):
            try:
                said[f"{chip} {name}"] = {"block": compiled(chip, devices, case)}
            except Exception as error:  # noqa: BLE001 -- whatever it is, it is this case's result
                said[f"{chip} {name}"] = {"error": f"{type(error).__name__}: {error}"[:2000]}
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    partial(main, *sys.argv[1:])()
