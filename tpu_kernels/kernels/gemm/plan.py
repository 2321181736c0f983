"""Which implementation does a product, and why: chosen by the machine, the types and what the caller asked for."""

from dataclasses import dataclass
from typing import NamedTuple

from jax import lax

from tpu_kernels.backend import BackendError, Here
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.implementations import IMPLEMENTATIONS, implementation
from tpu_kernels.kernels.gemm.placement import Placement
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.tensor_core import DEFAULT_CHIP
from tpu_kernels.phrases import phrase

AUTO = "auto"
KERNELS = {"tpu": "pallas_tpu", "gpu": "pallas_gpu"}


@dataclass(frozen=True)
class Plan:
    """How a product will be done: by which implementation, cut into which blocks, interpreted or not, and why.

    ``block`` is ``None`` where the implementation cuts as it likes; ``why`` is in the language in force.
    """

    implementation: str
    block: Block | None
    interpret: bool
    why: str


class Choice(NamedTuple):
    """A plan before it is put into words. ``refused`` is the kernel that ``auto`` wanted and could not have."""

    implementation: str
    block: Block | None
    interpret: bool
    refused: str | None = None


def chip_of(here: Here) -> str:
    """The TPU for which blocks are sized: this machine's, or :data:`DEFAULT_CHIP`."""
    return here.chip if here.platform == "tpu" and here.chip else DEFAULT_CHIP


def choose(
    problem: Problem,
    where: Placement,
    *,
    backend: str,
    block: Block | None,
    interpret: bool | None,
    precision: lax.Precision | None,
) -> Choice:
    """The implementation for this problem in this place.

    ``auto`` takes the machine's own kernel if it does the problem, else XLA. Whoever gives a block or asks for the
    interpreter has asked for a kernel: there ``auto`` never means XLA.

    Raises ``ValueError`` for an unknown backend or a wrong block, ``TypeError`` for what the one asked for does not do,
    ``BackendError`` where ``interpret=False`` asks for hardware that is not here; inside jit it does not, for what is
    traced on one machine may be compiled for another.
    """
    here = where.machine
    if backend != AUTO and backend not in IMPLEMENTATIONS:
        raise ValueError(phrase("gemm.backend", got=repr(backend)[:60], known=", ".join((AUTO, *IMPLEMENTATIONS))))
    wanted = backend
    if backend == AUTO:
        wanted = KERNELS.get(here.platform, "xla")
        if wanted == "xla" and (block is not None or interpret is not None):
            wanted = "pallas_tpu"
    module = implementation(wanted)
    at_home = module.HOME in (None, here.platform)
    if interpret is False and not (at_home or where.traced):
        raise BackendError(phrase("gemm.not_here", implementation=wanted, home=str(module.HOME), here=here.platform))
    if interpret and module.HOME is None:
        raise ValueError(phrase("gemm.nothing_to_interpret", implementation=wanted))
    interpreted = interpret if interpret is not None else not at_home
    free = backend == AUTO and block is None and not interpret
    reason = None if interpreted else _not_partitioned(wanted, where, free)
    reason = reason or module.refusal(problem, here if at_home and not interpreted else None)
    if reason is not None:
        if free:
            return Choice("xla", None, interpret=False, refused=wanted)
        raise TypeError(phrase("gemm.refused", implementation=wanted, reason=reason))
    return Choice(wanted, module.block_for(problem, block, chip_of(here), precision), interpreted)


def _not_partitioned(name: str, where: Placement, free: bool) -> str | None:
    """Why a kernel cannot be used on several devices: jax does not share its work out, only ``shard_map`` does.

    Where nobody can say whether there are several, who is ``free`` to take another does, and who asked for it gets it.
    """
    if implementation(name).HOME is None or not (where.spread or (where.spread is None and free)):
        return None
    return phrase("gemm.not_partitioned", count=where.machine.count)


def notice(choice: Choice, problem: Problem, where: Placement) -> str | None:
    """What to say aloud about a choice that the caller may not expect; ``None`` for the others."""
    here = where.machine
    if choice.refused is not None:
        reason = _not_partitioned(choice.refused, where, True)
        reason = reason or implementation(choice.refused).refusal(problem, here)
        return phrase("gemm.fell_back", wanted=choice.refused, reason=reason)
    if choice.interpret:
        home = str(implementation(choice.implementation).HOME)
        return phrase("gemm.interpreted", implementation=choice.implementation, home=home, here=here.platform)
    return None


def explained(
    choice: Choice, problem: Problem, where: Placement, backend: str, precision: lax.Precision | None
) -> Plan:
    """The choice with its reasons."""
    here = where.machine
    words = notice(choice, problem, where)
    if words is None:
        key = {"implementation": choice.implementation, "here": here.kind}
        words = phrase("gemm.chosen", **key) if backend == AUTO else phrase("gemm.asked", **key)
    cut = implementation(choice.implementation).describe(problem, choice.block, chip_of(here), precision)
    return Plan(choice.implementation, choice.block, choice.interpret, f"{words} {cut}".strip())
