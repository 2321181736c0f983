"""Accelerators that the operating system sees, whether or not any library can use them."""

from dataclasses import dataclass
from pathlib import Path

GOOGLE = "0x1ae0"
# v3, v4, v5p, v5e, v6e and 7x on the PCI bus. Google's network and disk devices have the same vendor.
TPUS = {"0x0027", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076"}

# Of the driver on Linux, in a container, and under Windows (WSL).
NVIDIA = ("dev/nvidia0", "dev/nvidiactl", "usr/lib/wsl/lib/nvidia-smi")


@dataclass(frozen=True)
class Attached:
    """``tpu_chips``: TPU chips on the bus; ``nvidia``, ``amd``: whether their drivers show a device."""

    tpu_chips: int = 0
    nvidia: bool = False
    amd: bool = False

    def has(self, platform: str) -> bool:
        """Whether there is hardware for a platform as ``JAX_PLATFORMS`` names it."""
        match platform:
            case "tpu":
                return self.tpu_chips > 0
            case "cuda":
                return self.nvidia
            case "rocm":
                return self.amd
            case "gpu":
                return self.nvidia or self.amd
        return True

    @property
    def platforms(self) -> tuple[str, ...]:
        """What this machine could run on, best first."""
        return tuple(platform for platform in ("tpu", "gpu", "cpu") if self.has(platform))


def attached(root: Path = Path("/")) -> Attached:
    """What is attached to this machine, whose file system begins at ``root``."""
    return Attached(
        tpu_chips=sum(_is_tpu(device) for device in root.glob("sys/bus/pci/devices/*")),
        nvidia=any((root / path).exists() for path in NVIDIA),
        amd=(root / "dev/kfd").exists(),
    )


def _is_tpu(device: Path) -> bool:
    try:
        vendor, kind = ((device / name).read_text().strip() for name in ("vendor", "device"))
    except OSError:  # a bus that this process may not read shows no TPU that it could use
        return False
    return vendor == GOOGLE and kind in TPUS
