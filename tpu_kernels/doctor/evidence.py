"""All that the finders judge by, gathered once. They see nothing else, so a test needs no accelerator to feed them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tpu_kernels.doctor.look import Sight
from tpu_kernels.doctor.probe import Failure
from tpu_kernels.machine.attached import Attached
from tpu_kernels.machine.lockfile import Lockfile
from tpu_kernels.machine.nvidia_smi import GpuMemory
from tpu_kernels.machine.place import Place


@dataclass(frozen=True)
class Evidence:
    """The machine, this process, and how jax starts in another one."""

    environ: Mapping[str, str] = field(default_factory=dict)
    pid: int = 0  # of this process
    python: str = "3.12.0"
    threads: int = 8  # that the machine gives this process at once
    place: Place = "machine"
    attached: Attached = field(default_factory=Attached)
    installed: Mapping[str, str] = field(default_factory=dict)  # distribution -> version
    asked_by_jax: Mapping[str, str] = field(default_factory=dict)  # distribution -> range of versions
    imported: Mapping[str, str] = field(default_factory=dict)  # module -> version, in this process
    jax: Sight | Failure | None = None  # None: not started, because a flag would abort it or it is not installed
    jax_started: bool = False  # in this process; ``jax`` then tells of this process
    jax_platforms: str | None = None  # jax's own setting in this process
    torch_xla_started: bool = False
    torch_xla_failure: Failure | None = None  # of its import in another process
    gpus: tuple[GpuMemory, ...] = ()
    lockfile: Lockfile | None = None
    expected_devices: int | None = None

    @property
    def sight(self) -> Sight | None:
        """What jax computes on, when it does."""
        return self.jax if isinstance(self.jax, Sight) else None

    @property
    def failure(self) -> Failure | None:
        """How jax failed to start, when it did."""
        return self.jax if isinstance(self.jax, Failure) else None
