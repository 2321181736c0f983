"""An X-ray of a jax function: the real TPU compiler, on a machine with no TPU, and what it says.

``xray(f, a, b, chip="v5e")`` compiles ``f``, Pallas kernels included, for a generation of TPU and returns a
:class:`Report`: cycles, bundles, use of each unit, memory, traffic, what holds it up. ``compare({"mine": f, "xla": g},
a, b)`` puts several side by side, ``slice_mesh("v5p:16x20x28")`` is the mesh of a whole pod to write programs for, and
``%load_ext tpu_kernels.xray`` gives a notebook ``%xray f(a, b)``. Importing this imports no jax.
"""

from typing import TYPE_CHECKING, Any

from tpu_kernels.xray.comparison import Comparison, compare
from tpu_kernels.xray.report import Report

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from tpu_kernels.xray.examine import xray
    from tpu_kernels.xray.sharding import slice_mesh

__all__ = ["Comparison", "Report", "compare", "slice_mesh", "xray"]


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """``%load_ext tpu_kernels.xray``: the magics ``%xray`` and ``%%xray``."""
    from tpu_kernels.xray.magics import XrayMagics

    shell.register_magics(XrayMagics)


def __getattr__(name: str) -> Any:
    if name == "xray":
        from tpu_kernels.xray.examine import xray

        return xray
    if name == "slice_mesh":
        from tpu_kernels.xray.sharding import slice_mesh

        return slice_mesh
    raise AttributeError(name)
