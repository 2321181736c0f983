"""Pipeline schedules, against a machine that runs their operations one after the other."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.models import parallelism
from tpu_kernels.models.parallelism.pipeline import GPIPE, INTERLEAVED, ONE_F_ONE_B, Schedule

Operation = tuple[str, int, int]  # forward or backward, microbatch, chunk


def order(made: Schedule, stage: int) -> list[Operation]:
    """What a stage does, in its order, as GPipe and Megatron-LM define it."""
    p, m, v = made.stages, made.microbatches, made.chunks
    if made.kind == GPIPE:
        return [("F", i, 0) for i in range(m)] + [("B", i, 0) for i in range(m)]
    if made.kind == ONE_F_ONE_B:
        forwards, backwards = [("F", i, 0) for i in range(m)], [("B", i, 0) for i in range(m)]
        warm_up = min(p - stage - 1, m)
    else:
        # Groups of p microbatches go through the first chunk, then through the second, and so on.
        steps = range(m * v)
        forwards = [("F", k // (p * v) * p + k % p, k // p % v) for k in steps]
        backwards = [("B", k // (p * v) * p + k % p, v - 1 - k // p % v) for k in steps]
        warm_up = min(2 * (p - stage - 1) + (v - 1) * p, m * v)
    done = forwards[:warm_up]
    for one, other in zip(forwards[warm_up:], backwards, strict=False):
        done += [one, other]
    return done + backwards[len(forwards) - warm_up :]


def run(made: Schedule) -> tuple[Fraction, list[Fraction], list[int]]:
    """Time of the step, time in which each stage worked, and the most chunks that each kept at once."""
    p, v = made.stages, made.chunks
    pieces = p * v  # piece s + p * chunk lies on stage s
    duration = {"F": Fraction(1, v), "B": Fraction(2, v)}
    queues: list[Iterator[Operation]] = [iter(order(made, stage)) for stage in range(p)]
    current: list[Operation | None] = [next(queue, None) for queue in queues]
    finished: dict[tuple[str, int, int], Fraction] = {}
    clock, worked, held, most = [Fraction(0)] * p, [Fraction(0)] * p, [0] * p, [0] * p
    while any(current):
        advanced = False
        for stage, operation in enumerate(current):
            if operation is None:
                continue
            kind, microbatch, chunk = operation
            piece = stage + p * chunk
            needed = [("F", microbatch, piece)] if kind == "B" else []
            if kind == "F" and piece > 0:
                needed.append(("F", microbatch, piece - 1))
            if kind == "B" and piece < pieces - 1:
                needed.append(("B", microbatch, piece + 1))
            if any(need not in finished for need in needed):
                continue
            start = max([clock[stage], *(finished[need] for need in needed)])
            clock[stage] = finished[kind, microbatch, piece] = start + duration[kind]
            worked[stage] += duration[kind]
            held[stage] += 1 if kind == "F" else -1
            most[stage] = max(most[stage], held[stage])
            current[stage], advanced = next(queues[stage], None), True
        assert advanced, "the schedule waits for itself"
    return max(clock), worked, most


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    kind = draw(st.sampled_from([GPIPE, ONE_F_ONE_B, INTERLEAVED]))
    stages = draw(st.integers(1, 6))
    if kind == INTERLEAVED:
        groups, chunks = draw(st.integers(1, 4)), draw(st.integers(2, 4))
        return parallelism.schedule(kind, stages=stages, microbatches=groups * stages, chunks=chunks)
    return parallelism.schedule(kind, stages=stages, microbatches=draw(st.integers(1, 12)))


@settings(deadline=None, max_examples=150)
@given(schedules())
def test_the_bubble_is_the_time_that_the_machine_waits(made: Schedule) -> None:
    time, worked, _ = run(made)
    useful = 3 * made.microbatches  # forward 1, backward 2
    assert worked == [useful] * made.stages
    assert time == useful * (1 + Fraction(made.stages - 1, made.microbatches * made.chunks))
    assert time / useful == pytest.approx(1 + made.overhead)
    assert 1 - useful / time == pytest.approx(made.bubble_fraction)
    assert made.overhead == pytest.approx(made.bubble_fraction / (1 - made.bubble_fraction))


@settings(deadline=None, max_examples=150)
@given(schedules())
def test_the_microbatches_in_flight_are_those_that_the_machine_keeps(made: Schedule) -> None:
    kept = [chunks / made.chunks for chunks in run(made)[2]]
    assert [made.in_flight(stage) for stage in range(made.stages)] == pytest.approx(kept)


@settings(deadline=None)
@given(schedules())
def test_a_stage_sends_what_crosses_its_ends(made: Schedule) -> None:
    pieces = made.stages * made.chunks
    sent = [0] * made.stages
    for piece in range(pieces - 1):
        if made.stages > 1:
            sent[piece % made.stages] += 1  # activations to the next piece
            sent[(piece + 1) % made.stages] += 1  # gradients back from it
    if made.stages > 1:
        assert [made.sends(stage) for stage in range(made.stages)] == sent


@settings(deadline=None)
@given(st.integers(2, 64), st.integers(1, 500), st.integers(2, 8))
def test_more_microbatches_or_chunks_wait_less_and_more_stages_more(
    stages: int, microbatches: int, chunks: int
) -> None:
    made = parallelism.schedule(stages=stages, microbatches=microbatches)
    assert parallelism.schedule(stages=stages, microbatches=microbatches + 1).bubble_fraction < made.bubble_fraction
    assert parallelism.schedule(stages=stages + 1, microbatches=microbatches).bubble_fraction > made.bubble_fraction
    group = stages * microbatches
    plain = parallelism.schedule(stages=stages, microbatches=group)
    cut = parallelism.schedule(INTERLEAVED, stages=stages, microbatches=group, chunks=chunks)
    assert cut.overhead == pytest.approx(plain.overhead / chunks)
    assert cut.in_flight(0) >= plain.in_flight(0)


def test_the_memory_penalty_of_interleaving_is_megatrons() -> None:
    # NVIDIA/Megatron-LM at 00caa53a, megatron/training/theoretical_memory_usage.py: 1 + (p - 1) / (p v).
    for stages, chunks in ((4, 2), (8, 3), (16, 5)):
        made = parallelism.schedule(INTERLEAVED, stages=stages, microbatches=8 * stages, chunks=chunks)
        assert made.in_flight(0) == pytest.approx(stages * (1 + (stages - 1) / (stages * chunks)))


def test_one_stage_never_waits() -> None:
    made = parallelism.schedule(stages=1, microbatches=7)
    assert (made.bubble_fraction, made.overhead, made.in_flight()) == (0, 0, 1)
    assert parallelism.schedule(stages=4, microbatches=1).bubble_fraction == 0.75
    assert parallelism.schedule(stages=4, microbatches=4).bubble_fraction.format("es") == "42,9\N{NO-BREAK SPACE}%"


@pytest.mark.parametrize("size", [0, -1, 1.5, True, None])
def test_sizes_that_are_not_sizes_are_refused(size: Any) -> None:
    for sizes in ({"stages": size, "microbatches": 4}, {"stages": 4, "microbatches": size}):
        with pytest.raises(ValueError, match="entero de 1 en adelante"):
            parallelism.schedule(**sizes)


def test_schedules_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'zb'.*gpipe, 1f1b, interleaved"):
        parallelism.schedule("zb", stages=2, microbatches=2)
    with pytest.raises(ValueError, match="2 trozos por etapa con el orden 1f1b"):
        parallelism.schedule(stages=2, microbatches=2, chunks=2)
    with pytest.raises(ValueError, match="orden interleaved necesita al menos 2"):
        parallelism.schedule(INTERLEAVED, stages=4, microbatches=8)
    with pytest.raises(ValueError, match="microbatches es 6 y stages es 4"):
        parallelism.schedule(INTERLEAVED, stages=4, microbatches=6, chunks=2)
    for stage in (-1, 4, True, 1.0):
        with pytest.raises(ValueError, match="va de la etapa 0 a la 3"):
            parallelism.schedule(stages=4, microbatches=4).in_flight(stage)  # type: ignore[arg-type]
