"""A mesh: devices in a row, and a name for that axis, by which a program says what it splits or sums over them."""

from typing import TypeVar

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from tpu_kernels.backend import require_devices
from tpu_kernels.phrases import phrase

Tree = TypeVar("Tree")


def data_mesh(n: int | None = None, axis: str = "data") -> Mesh:
    """The first ``n`` devices in a row (default: all of them), under one name.

    Raises ``ValueError`` when there are fewer. The axis is of type ``Auto``: arrays that are not split yet may enter a
    program over it, which the axes of a plain ``jax.make_mesh`` forbid.
    """
    devices = require_devices(len(jax.devices()) if n is None else n)
    return Mesh(np.array(devices), (axis,), axis_types=(AxisType.Auto,))


def data_axis(mesh: Mesh) -> str:
    """The name of the only axis. Raises ``ValueError`` for a mesh of more, or one not made by :func:`data_mesh`."""
    if len(mesh.axis_names) != 1 or mesh.axis_types != (AxisType.Auto,):
        types = ", ".join(kind.name for kind in mesh.axis_types)
        raise ValueError(phrase("training.mesh", axes=", ".join(mesh.axis_names), types=types))
    return str(mesh.axis_names[0])


def replicated(mesh: Mesh) -> NamedSharding:
    """All of an array on every device."""
    return NamedSharding(mesh, PartitionSpec())


def split_rows(mesh: Mesh) -> NamedSharding:
    """The leading dimension in equal runs, the first on the first device."""
    return NamedSharding(mesh, PartitionSpec(data_axis(mesh)))
