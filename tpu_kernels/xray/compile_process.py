"""The process in which the TPU's compiler is loaded: ``python -m tpu_kernels.xray.compile_process FOLDER``.

The compiler reads its flags once, when it is loaded, ends the process on some faults, and takes as much memory as it
likes: so each program is compiled in a process of its own, under limits. The folder holds ``request.json`` and
``program``, and gets ``answer.json``, ``hlo.txt`` and what the compiler dumps.
"""

import ctypes
import json
import math
import os
import re
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

REQUEST, PROGRAM, ANSWER, HLO = "request.json", "program", "answer.json", "hlo.txt"
DUMPS, PROFILES = "llo", "profiles"

# jax notes places in the code as file and line, without folders, and nothing for those in this package: the same code
# is then the same program on every machine, and in every session of a notebook.
PLACES = {
    "jax_hlo_source_file_canonicalization_regex": rf"{re.escape(str(Path(__file__).parent))}/.*|.*/",
    "jax_include_full_tracebacks_in_locations": False,
}

MEMORY = ("argument", "output", "temp", "alias", "generated_code")

BIGGEST_FILE = 2**31
GRACE = 5  # seconds from the signal that time is up to the one that cannot be refused
PR_SET_PDEATHSIG = 1


def main(folder: Path) -> None:
    """Compile what the folder asks for, and leave an answer there, also when the compiler refuses."""
    request = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
    _limit(request["memory_bytes"], request["seconds"], request["parent"])
    started = time.monotonic()
    try:
        answer = {"compiled": True, **_compile(folder, request)}
    except Exception as error:  # noqa: BLE001 - jax has no one class for what the compiler says
        answer = {"compiled": False, "error": f"{type(error).__name__}: {error}"}
    answer["seconds"] = time.monotonic() - started
    (folder / ANSWER).write_text(json.dumps(answer), encoding="utf-8")


def _compile(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    import jax
    from jax import export
    from jax.experimental import topologies
    from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

    for name, value in PLACES.items():
        jax.config.update(name, value)
    topology = topologies.get_topology_desc(platform="tpu", topology_name=request["topology"])
    exported = export.deserialize(bytearray((folder / PROGRAM).read_bytes()))
    axes = request["axes"]
    types = tuple(AxisType[name] for name in axes["types"])
    mesh = Mesh(_arranged(topology.devices, axes["sizes"]), tuple(axes["names"]), axis_types=types)
    whole = NamedSharding(mesh, PartitionSpec())
    specs = [
        jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding or whole)
        for a, sharding in zip(exported.in_avals, exported.in_shardings_jax(mesh), strict=True)
    ]
    compiled = jax.jit(exported.call, donate_argnums=tuple(request["donated"])).lower(*specs).compile()
    (folder / HLO).write_text(compiled.as_text() or "", encoding="utf-8")
    memory = compiled.memory_analysis()
    first: Any = topology.devices[0]
    return {
        "device_kind": first.device_kind,
        "memory": {name: getattr(memory, f"{name}_size_in_bytes", None) for name in MEMORY},
        "places": [[*device.coords, device.core_on_chip] for device in mesh.devices.flat],
    }


def _arranged(devices: Any, sizes: list[int]) -> Any:
    """The devices of a slice as a mesh: as ``jax.make_mesh`` arranges them, axes of the mesh along those of the torus.

    It knows v4 with one device for each chip only, where the compiler has two: there, in the order of their places.
    """
    import numpy as np
    from jax.experimental import mesh_utils

    count = math.prod(sizes)
    if count == 1:
        return np.array(devices[:1]).reshape(sizes)
    if devices[0].device_kind == "TPU v4":
        ordered = sorted(devices, key=lambda device: (*device.coords, device.core_on_chip))
        return np.array(ordered).reshape(sizes)
    return mesh_utils.create_device_mesh(sizes, devices, allow_split_physical_axes=True)


def _limit(memory_bytes: int, seconds: int, parent: int) -> None:
    """Die with the parent; no more time of processors and no more data than allowed, no core files.

    The limit is on data, not on addresses: the compiler's library alone maps most of a gigabyte.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before that
        sys.exit("the process that asked for this is gone")
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + GRACE))
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (BIGGEST_FILE, BIGGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    main(Path(sys.argv[1]))
