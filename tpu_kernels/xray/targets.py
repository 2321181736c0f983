"""What a program can be compiled for: each generation, as jax and the compiler name it, and how its dumps are read."""

from dataclasses import dataclass

from tpu_kernels.models import hardware
from tpu_kernels.phrases import phrase
from tpu_kernels.xray.errors import UnknownTargetError


@dataclass(frozen=True)
class Target:
    """One generation. Rates are per jax device, which is a chip, or one of its TensorCores.

    ``cores`` is how many TensorCores a device has: with two (megacore) the compiler gives each half of a grid.
    ``near_memory`` is where XLA keeps arrays that it does not want in HBM: VMEM, or CMEM where there is one.
    ``mxu_rows_per_cycle`` is in rows of 16-bit operands; ``granule`` is the unit of a copy's size in dumps, in bytes;
    ``delay_slots`` bundles after a branch are executed whether it is taken or not. ``simulated_since`` is the first
    libtpu whose simulator knows the generation, ``None`` when none does. ``scoped_vmem`` is what one kernel may use of
    VMEM unless it asks for more, in bytes. ``latency`` is the least that a step of a pipeline takes when its blocks are
    tiny, in cycles.
    """

    chip: str
    topology: str
    device_kind: str
    devices_per_chip: int
    cores: int
    near_memory: str
    mxu_rows_per_cycle: int
    granule: int
    delay_slots: int
    scoped_vmem: int
    latency: int
    simulated_since: tuple[int, ...] | None

    @property
    def hardware(self) -> hardware.Chip:
        return hardware.chip(self.chip)

    @property
    def clock(self) -> float:
        """Hz: published, or what the published peak implies."""
        value = self.hardware.value("clock").value
        if isinstance(value, float):
            return float(value)
        macs = self.cores * self.devices_per_chip * self.mxus * self.mxu_side**2 * self.mxu_rows_per_cycle
        return float(self.hardware.peak_flops["bf16"]) / (2 * macs)

    @property
    def mxus(self) -> int:
        """Per TensorCore."""
        return int(self.hardware.mxus_per_tensorcore)

    @property
    def mxu_side(self) -> int:
        return int(self.hardware.mxu_side)

    @property
    def vmem(self) -> int:
        """Bytes per TensorCore."""
        return int(self.hardware.vmem_per_core)

    @property
    def hbm_bandwidth(self) -> float:
        """Bytes/s that one device can move."""
        return float(self.hardware.hbm_bandwidth) / self.devices_per_chip

    def peak(self, dtype: str) -> float | None:
        """FLOP/s of one device in ``dtype`` (``"bf16"``, ``"int8"``); ``None`` when no rate was published."""
        rates = self.hardware.peak_flops
        return float(rates[dtype]) / self.devices_per_chip if dtype in set(rates) else None

    def simulates(self, libtpu: str) -> bool:
        """Whether the simulator in this version of libtpu knows the generation."""
        return self.simulated_since is not None and version(libtpu) >= self.simulated_since


MIB = 2**20

# Delay slots, granules and limits are as found in the dumps and messages of libtpu 0.0.42.1. Latencies are what its
# simulator gives a step that copies 4 KiB in and out; it has no answer for v4 and TPU7x, which are taken to be as fast,
# in seconds, as v5e and v6e.
TARGETS = {
    target.chip: target
    for target in (
        Target("v4", "v4:2x2x1", "TPU v4", 2, 1, "cmem", 1, 512, 1, 16 * MIB, 418, None),
        Target("v5e", "v5e:2x2", "TPU v5 lite", 1, 1, "vmem", 1, 32, 4, 16 * MIB, 598, (0,)),
        Target("v5p", "v5p:2x2x1", "TPU v5", 1, 2, "vmem", 1, 32, 4, 16 * MIB, 454, (0,)),
        Target("v6e", "v6e:2x2", "TPU v6 lite", 1, 1, "vmem", 2, 32, 4, 32 * MIB, 358, (0,)),
        Target("tpu7x", "tpu7x:2x2x1", "TPU7x", 2, 1, "vmem", 2, 32, 6, 32 * MIB, 450, (0, 0, 50, 1)),
    )
}


def target(name: str) -> Target:
    """The generation with this name, in any spelling that the catalogue of chips knows.

    Raises :class:`UnknownTargetError` for another name, and for a chip that the compiler does not compile for here.
    """
    try:
        wanted = hardware.chip(name).id
    except hardware.UnknownChipError:
        wanted = ""
    for found in TARGETS.values():
        if found.hardware.id == wanted:
            return found
    raise UnknownTargetError(phrase("xray.unknown_chip", got=repr(name)[:60], known=", ".join(TARGETS)))


def version(text: str) -> tuple[int, ...]:
    """``"0.0.42.1"`` as numbers that compare."""
    return tuple(int(part) for part in text.split(".") if part.isdecimal())
