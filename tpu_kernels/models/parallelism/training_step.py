"""One training step of a transformer on a mesh of devices: memory, traffic and time of the device worst off."""

from collections.abc import Mapping
from typing import NamedTuple

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.hardware import Chip
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.parallelism.activations import (
    BLOCK,
    EVERYTHING,
    POLICIES,
    bytes_per_token,
    recomputed_flops,
    stored,
)
from tpu_kernels.models.parallelism.collective_bytes import all_gather, all_reduce, all_to_all, reduce_scatter
from tpu_kernels.models.parallelism.memory_use import MemoryUse
from tpu_kernels.models.parallelism.mesh_plan import AXES, Plan, fitted
from tpu_kernels.models.parallelism.stage_parameters import StageParameters, stage_parameters
from tpu_kernels.models.parallelism.transformer import Transformer
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline import Roofline, analyse
from tpu_kernels.models.roofline.amounts import itemsize, one_of
from tpu_kernels.models.roofline.machine import ONE_WAY, Level, Machine, machine
from tpu_kernels.models.roofline.training_states import States
from tpu_kernels.models.roofline.workload import Workload
from tpu_kernels.phrases import phrase

LOGITS = "fp32"


class TrainingStep(NamedTuple):
    """One step of ``tokens`` in sequences of ``sequence``: a model on a plan. Made by :func:`training_step`."""

    model: Transformer
    plan: Plan
    tokens: int
    sequence: int
    states: States = States()
    policy: str = EVERYTHING
    activations: str = "bf16"
    fused_attention: bool = True
    causal: bool = True

    def __repr__(self) -> str:
        tokens = Quantity(self.tokens, "count")
        return phrase("parallelism.summary", model=self.model.name, devices=self.plan.devices, tokens=tokens)

    @property
    def microbatch(self) -> float:
        """Tokens that a device holds of one microbatch; on a device of ``tensor`` they are shared with the others."""
        return self.tokens / (self.plan.batch_shards * self.plan.microbatches)

    def parameters(self, stage: int) -> StageParameters:
        """Parameters that a device of that pipeline stage holds before ``fsdp`` splits them."""
        return stage_parameters(self.model, self.plan, stage)

    def memory(self, stage: int | None = None) -> MemoryUse:
        """Bytes on a device of ``stage``, or of the stage that needs most.

        Parameters, gradients and optimiser by the formats of ``states`` and the ZeRO stage; activations of the
        microbatches in flight under the rematerialisation policy; fp32 logits on the last stage; and as ``working``
        what exists for one layer at a time: its whole gradients from ZeRO 2 on, its gathered parameters with ZeRO 3,
        and the activations that it recomputes.
        """
        if stage is None:
            return max((self.memory(one) for one in range(self.plan.pipeline)), key=lambda use: use.total)
        held, made, kept = self.parameters(stage), self.plan, self.states
        count, stored_bytes = held.total, self._layer_bytes(self.policy)
        whole = (made.shards(2) > 1) * kept.gradient_bytes + (made.shards(3) > 1) * kept.parameter_bytes
        again = max(self._layer_bytes(EVERYTHING) - stored_bytes, 0.0)
        last = stage == made.pipeline - 1
        logits = self.microbatch * self.model.vocabulary / made.tensor * itemsize(LOGITS) if last else 0.0
        return MemoryUse(
            stage,
            parameters=count * kept.parameter_bytes / made.shards(3),
            gradients=count * kept.gradient_bytes / made.shards(2),
            optimiser=count * kept.optimiser_bytes / made.shards(1),
            activations=stored_bytes * self.microbatch * held.layers * made.schedule.in_flight(stage),
            logits=logits,
            working=held.of_a_layer * whole + again * self.microbatch,
        )

    def traffic(self) -> Mapping[str, Quantity]:
        """Bytes that the busiest device sends along each axis (:data:`AXES`) in one step; axes of one device are left
        out.

        ``fsdp``: gradients and parameters by ZeRO stage (0: all-reduce; 1 and 2: reduce-scatter and all-gather; 3:
        gathered for the forward and again for the backward pass, in every microbatch). ``data``: all-reduce of the
        gradients that ``fsdp`` left. ``tensor``: each of the two blocks of a layer gathers its input and scatters its
        output, forward and backward (the tables are left out, and a mixture counted as one block). ``pipeline``:
        activations and their gradients at the ends of each chunk.
        ``expert``: tokens to their experts and back, forward and backward, and the all-reduce of the rest's gradients.
        """
        sent = dict.fromkeys(AXES, 0.0)
        for stage in range(self.plan.pipeline):
            for axis, amount in self._stage_traffic(stage).items():
                sent[axis] = max(sent[axis], amount)
        return {axis: Quantity(sent[axis], "bytes") for axis in AXES if getattr(self.plan, axis) > 1}

    def flops(self, stage: int | None = None) -> Quantity:
        """FLOP of a device of ``stage``, or of the stage that does most, recomputation included."""
        if stage is None:
            return max(self.flops(one) for one in range(self.plan.pipeline))
        layers = self.parameters(stage).layers
        again = recomputed_flops(self.model, self.sequence, self.policy, causal=self.causal)
        layer = 3 * self.model.layer_flops(self.sequence, causal=self.causal) + again
        table = 6 * self.model.vocabulary * self.model.d_model if stage == self.plan.pipeline - 1 else 0
        return Quantity((layers * layer + table) * self.tokens / (self.plan.batch_shards * self.plan.tensor), "FLOP")

    def workload(self, dtype: str = "bf16") -> Workload:
        """The step of the busiest device as a workload: its FLOP in ``dtype``, its bytes by axis of the mesh."""
        name = phrase("parallelism.step", model=self.model.name, devices=self.plan.devices)
        return Workload(name, {dtype: float(self.flops())}, dict(self.traffic()))

    def roofline(self, on: Machine, dtype: str = "bf16") -> Roofline:
        """What bounds the step on a machine whose levels are the axes of the mesh: see :func:`mesh_machine`. The
        pipeline's bubble is not in it: :meth:`time` adds it. HBM traffic is not modelled."""
        return analyse(self.workload(dtype), on)

    def time(self, on: Machine, dtype: str = "bf16", *, overlap: bool = True) -> Quantity:
        """Seconds of a step, the bubble included: the time of :meth:`roofline`, ``1 + overhead`` times."""
        return Quantity(self.roofline(on, dtype).time(overlap) * (1 + self.plan.schedule.overhead), "s")

    def _layer_bytes(self, policy: str) -> float:
        arrays = stored(
            self.model, self.sequence, policy=policy, dtype=self.activations, fused_attention=self.fused_attention
        )
        return bytes_per_token(arrays, tensor=self.plan.tensor, sequence_parallel=self.plan.sequence_parallel)

    def _stage_traffic(self, stage: int) -> dict[str, float]:
        held, made, kept = self.parameters(stage), self.plan, self.states
        tokens = self.tokens / made.batch_shards
        layer_input = tokens * self.model.d_model * itemsize(self.activations)
        gradients = held.total * kept.gradient_bytes
        passes = 3 if self.policy == BLOCK else 2  # forward and backward, and forward again
        own_tokens = layer_input / (made.tensor if made.sequence_parallel else 1)
        routed = self.model.experts_per_token * own_tokens
        dense = held.dense * kept.gradient_bytes
        return {
            "data": all_reduce(gradients / made.fsdp, made.data),
            "fsdp": self._zero_bytes(gradients, held.total * kept.parameter_bytes),
            "tensor": held.layers * passes * 2 * all_reduce(layer_input, made.tensor),
            "pipeline": made.schedule.sends(stage) * own_tokens,
            "expert": held.layers * passes * 2 * all_to_all(routed, made.expert)
            + all_reduce(dense / made.fsdp, made.expert),
        }

    def _zero_bytes(self, gradients: float, parameters: float) -> float:
        made, ways = self.plan, self.plan.fsdp
        if made.zero == 0:
            return all_reduce(gradients, ways)
        reductions = made.microbatches if made.zero >= 2 else 1  # only a shard of the gradients is kept in between
        gathers = 2 * made.microbatches if made.zero == 3 else 1
        return reductions * reduce_scatter(gradients, ways) + gathers * all_gather(parameters, ways)


def training_step(
    model: Transformer,
    made: Plan,
    *,
    tokens: int,
    sequence: int,
    states: States | None = None,
    policy: str = EVERYTHING,
    activations: str = "bf16",
    fused_attention: bool = True,
    causal: bool = True,
) -> TrainingStep:
    """A checked :class:`TrainingStep`: ``tokens`` in the whole batch, in sequences of ``sequence``.

    ``policy``: what is kept for the backward pass (one of :data:`POLICIES`); ``activations``: its format. Raises
    ``ValueError`` for sizes below one, for an unknown policy or format, and for a plan that cannot split the model.
    """
    itemsize(activations)
    kept = states or States()
    _ = (kept.parameter_bytes, kept.gradient_bytes, kept.optimiser_bytes)  # refuses formats that do not exist
    return TrainingStep(
        model,
        fitted(made, model),
        whole("tokens", tokens),
        whole("sequence", sequence),
        kept,
        one_of("policy", policy, POLICIES),
        activations,
        bool(fused_attention),
        bool(causal),
    )


def mesh_machine(on: str | Chip | Machine, axes: Mapping[str, float | str]) -> Machine:
    """The machine with one level for each axis of a mesh: ``mesh_machine("v5p", {"fsdp": 2, "data": "dcn"})``.

    A number gives that many axes of ICI, as rings (a fraction where an axis is shared); a word, a level of the machine.
    Raises ``ValueError`` for an axis that is not one of :data:`AXES`.
    """
    target = machine(on)
    levels = {}
    for axis, carrier in axes.items():
        one_of("axes", axis, AXES)
        if isinstance(carrier, str):
            bandwidth = float(target.level(carrier).bandwidth)
        else:
            bandwidth = target.level("ici").bandwidth * positive_number(axis, carrier)
        levels[axis] = Level(axis, Quantity(bandwidth, "bytes/s"), counted=ONE_WAY)
    return target._replace(levels=levels)
