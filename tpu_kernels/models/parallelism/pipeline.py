"""Pipeline schedules: how much of a step a stage waits, and how many microbatches it keeps meanwhile.

A stage of a pipeline can begin when the first microbatch reaches it and must wait for the last gradients at the end.
Sources: Huang et al., "GPipe", 2019; Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters
Using Megatron-LM", 2021, section 2.2, whose bubble is relative to the useful time (:attr:`Schedule.overhead`).
"""

from typing import NamedTuple

from tpu_kernels.models.matrix import whole
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import one_of
from tpu_kernels.phrases import phrase

GPIPE = "gpipe"  # every forward, then every backward
ONE_F_ONE_B = "1f1b"  # a backward as soon as there is one
INTERLEAVED = "interleaved"  # 1f1b, each device holding several separate chunks of layers
SCHEDULES = (GPIPE, ONE_F_ONE_B, INTERLEAVED)


class Schedule(NamedTuple):
    """``microbatches`` through ``stages``, each holding ``chunks`` pieces of the model. Made by :func:`schedule`."""

    kind: str
    stages: int
    microbatches: int
    chunks: int = 1

    @property
    def bubble_fraction(self) -> Quantity:
        """The share of the step in which a stage waits: ``(p - 1) / (m v + p - 1)``."""
        idle = self.stages - 1
        return Quantity(idle / (self.microbatches * self.chunks + idle), "share")

    @property
    def overhead(self) -> float:
        """Waiting relative to useful time, ``(p - 1) / (m v)``: a step takes ``1 + overhead`` times the useful time."""
        return (self.stages - 1) / (self.microbatches * self.chunks)

    def in_flight(self, stage: int = 0) -> float:
        """The most microbatches whose activations a stage keeps at once, in units of all the layers of the stage.

        GPipe keeps them all; 1F1B keeps ``min(m, p - stage)``; interleaved, counted in chunks, it keeps those of its
        warm-up and one more: on the first stage ``p + (p - 1) / v`` microbatches.
        """
        if isinstance(stage, bool) or not isinstance(stage, int) or not 0 <= stage < self.stages:
            raise ValueError(phrase("pipeline.no_stage", got=repr(stage), last=self.stages - 1))
        if self.kind == GPIPE:
            return float(self.microbatches)
        if self.kind == ONE_F_ONE_B:
            return float(min(self.microbatches, self.stages - stage))
        warm_up = 2 * (self.stages - stage - 1) + (self.chunks - 1) * self.stages
        return min(warm_up + 1, self.microbatches * self.chunks) / self.chunks

    def sends(self, stage: int) -> int:
        """Activations and gradients of a microbatch that a stage sends to others: one each way for every chunk, except
        beyond the ends of the model."""
        forward = self.chunks - (stage == self.stages - 1)
        return forward + self.chunks - (stage == 0)


def schedule(kind: str = ONE_F_ONE_B, *, stages: int, microbatches: int, chunks: int = 1) -> Schedule:
    """A checked :class:`Schedule`; ``kind`` is one of :data:`SCHEDULES`.

    Raises ``ValueError`` for a size below one, for several chunks without the interleaved schedule or one with it, and
    for an interleaved one whose microbatches are not a multiple of the stages, which its order needs.
    """
    stages, microbatches, chunks = whole("stages", stages), whole("microbatches", microbatches), whole("chunks", chunks)
    if one_of("schedule", kind, SCHEDULES) != INTERLEAVED:
        if chunks > 1:
            raise ValueError(phrase("pipeline.chunks", got=chunks, kind=kind))
    elif chunks == 1:
        raise ValueError(phrase("pipeline.one_chunk", got=chunks, kind=kind))
    elif microbatches % stages:
        raise ValueError(
            phrase("workload.not_divisible", name="microbatches", got=microbatches, by="stages", divisor=stages)
        )
    return Schedule(kind, stages, microbatches, chunks)
