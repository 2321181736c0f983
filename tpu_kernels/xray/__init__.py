"""An X-ray of a jax function: the real TPU compiler, on a machine with no TPU, and what it says.

``xray(f, a, b, chip="v5e")`` compiles ``f``, Pallas kernels included, for a generation of TPU and returns a
:class:`Report`: cycles, bundles, use of each unit, memory, traffic, what holds it up. Importing this imports no jax.
"""

from typing import TYPE_CHECKING, Any

from tpu_kernels.xray.report import Report

if TYPE_CHECKING:
    from tpu_kernels.xray.examine import xray

__all__ = ["Report", "xray"]


def __getattr__(name: str) -> Any:
    if name == "xray":
        from tpu_kernels.xray.examine import xray

        return xray
    raise AttributeError(name)
