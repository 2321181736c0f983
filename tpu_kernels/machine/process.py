"""What this process has imported and started. Looks only at modules that are there, so nothing starts by looking."""

import sys
from collections.abc import Iterable


def jax_started() -> bool:
    """Whether jax holds devices here, from when on its flags and platforms are settled."""
    bridge = sys.modules.get("jax._src.xla_bridge")  # jax answers this question nowhere in its public modules
    return bridge is not None and bool(bridge.backends_are_initialized())


def jax_platforms() -> str | None:
    """jax's own setting of its platforms; ``None`` when it has none, or is not imported."""
    jax = sys.modules.get("jax")
    config = getattr(jax, "config", None)  # a jax whose import failed halfway has none
    return getattr(config, "jax_platforms", None)


def torch_xla_started() -> bool:
    """Whether PyTorch/XLA holds devices here, after which it starts no processes of its own."""
    native = getattr(sys.modules.get("torch_xla"), "_XLAC", None)
    asked = getattr(native, "_xla_runtime_is_initialized", None)
    return asked is not None and bool(asked())


def imported_versions(modules: Iterable[str]) -> dict[str, str]:
    """The versions of those ``modules`` that this process has imported."""
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in modules}
    return {name: str(version) for name, version in found.items() if version is not None}
