"""Every implementation of every collective gives what NumPy gives, without a race, whatever the mesh and the array."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.tpu_kernels.kernels.collectives import oracle
from tpu_kernels.kernels import collectives

CUT = ("reduce_scatter", "all_to_all")  # the first axis falls into a part for each device
REDUCING = ("reduce_scatter", "all_reduce")


@dataclass(frozen=True)
class Case:
    """``shape`` of each device; of each part, where the first axis is cut."""

    collective: str
    impl: str
    sizes: Mapping[str, int]
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    how: Mapping[str, Any] = field(default_factory=dict)

    @property
    def devices(self) -> int:
        return prod(self.sizes[axis] for axis in self.axes)

    @property
    def local(self) -> tuple[int, ...]:
        first, *rest = self.shape or (None,)
        if self.collective in CUT:
            return (self.devices * first, *rest)
        return self.shape

    def __str__(self) -> str:
        over = "x".join(f"{axis}{size}" for axis, size in self.sizes.items())
        how = " ".join(f"{name}={value}" for name, value in self.how.items() if name != "pairs")
        return f"{self.collective} {self.impl} {over} on {''.join(self.axes)} {self.local} {self.dtype} {how}".strip()


MESHES = (("ring", {"x": 3}), ("bidirectional", {"x": 4}), ("bidirectional", {"x": 5}), ("torus", {"x": 2, "y": 2}))
SHAPES = ((5,), (3, 7), (1, 2, 3), (130, 9), (2048,), (4100,))
DTYPES = ("float32", "bfloat16", "int32")


def drawn() -> Iterator[Case]:
    """Each collective on small rings and tori; what else there is to choose is drawn, the same in every run."""
    rng = np.random.default_rng(6)
    for collective in oracle.COLLECTIVES:
        for impl, sizes in MESHES:
            shape = SHAPES[rng.integers(len(SHAPES))]
            dtype = DTYPES[rng.integers(len(DTYPES))]
            yield Case(
                collective, impl, sizes, tuple(sizes), shape, dtype, chosen(rng, collective, prod(sizes.values()))
            )


def chosen(rng: np.random.Generator, collective: str, devices: int) -> dict[str, Any]:
    if collective in REDUCING:
        return {"op": ("sum", "sum", "max", "min")[rng.integers(4)]}
    if collective == "broadcast":
        return {"root": int(rng.integers(devices))}
    if collective == "permute":  # of half of the devices: the others get nothing
        from_, to = (rng.permutation(devices)[: -(-devices // 2)].tolist() for _ in range(2))
        return {"pairs": list(zip(from_, to, strict=True))}
    return {}


CASES = [
    *drawn(),
    # the most devices, and primes
    Case("all_gather", "bidirectional", {"x": 8}, ("x",), (300,), "bfloat16"),
    Case("reduce_scatter", "ring", {"x": 5}, ("x",), (40,), "float32"),
    Case("all_reduce", "bidirectional", {"x": 8}, ("x",), (5000,), "float32"),
    Case("all_to_all", "bidirectional", {"x": 7}, ("x",), (3, 5), "int32"),
    Case("broadcast", "bidirectional", {"x": 8}, ("x",), (60000,), "float32", {"root": 5}),
    Case("all_gather", "torus", {"x": 2, "y": 2, "z": 2}, ("x", "y", "z"), (77,), "int32"),
    Case("all_reduce", "bidirectional", {"x": 2}, ("x",), (3000,), "bfloat16"),
    # several pieces to add, several chunks to send on
    Case("reduce_scatter", "bidirectional", {"x": 2}, ("x",), (600_001,), "float32"),
    Case("broadcast", "torus", {"x": 2, "y": 2}, ("x", "y"), (150_001,), "float32", {"root": 2}),
    # along some axes of the mesh, in another order, one of them with one device
    Case("all_gather", "ring", {"x": 2, "y": 3}, ("y",), (9,), "float32"),
    Case("all_reduce", "bidirectional", {"x": 3, "y": 2}, ("x",), (9,), "bfloat16"),
    Case("all_to_all", "torus", {"x": 2, "y": 1, "z": 3}, ("z", "y", "x"), (2,), "float32"),
    Case("broadcast", "torus", {"x": 2, "y": 2, "z": 2}, ("z", "x"), (9,), "int32", {"root": 1}),
    Case("permute", "torus", {"x": 2, "y": 2, "z": 2}, ("z", "x"), (9,), "int32", {"pairs": [(0, 3), (3, 0)]}),
    # a scalar; nothing to send; nobody to send it to
    Case("all_reduce", "ring", {"x": 3}, ("x",), (), "float32"),
    Case("broadcast", "ring", {"x": 3}, ("x",), (), "bfloat16", {"root": 2}),
    Case("permute", "bidirectional", {"x": 3}, ("x",), (), "int32", {"pairs": [(2, 1)]}),
    *(
        Case(
            collective, impl, {"x": n}, ("x",), shape, "float32", {"pairs": [(0, 0)]} if collective == "permute" else {}
        )
        for collective in oracle.COLLECTIVES
        for impl, n, shape in (("ring", 1, (6, 2)), ("torus", 4, (4, 0)))
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_kernel_gives_what_numpy_gives(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    run = kernel(case)
    for seed in (1, 2):
        held = oracle.numbers(np.random.default_rng(seed), (prod(case.sizes.values()), *case.local), case.dtype)
        got = np.asarray(run(held))
        oracle.check(got, held, case.collective, case.sizes, case.axes, **case.how)
        if case.collective == "all_reduce":  # the same on all devices, to the bit
            for members in oracle.groups(case.sizes, case.axes):
                assert len({got[device].tobytes() for device in members}) == 1
    assert capsys.readouterr().out == ""  # the interpreter prints each race, and each semaphore that is left signalled


@pytest.mark.parametrize("collective", list(oracle.COLLECTIVES))
def test_xla_gives_what_numpy_gives(collective: str) -> None:
    rng = np.random.default_rng(3)
    for dtype in DTYPES:
        case = Case(collective, "xla", {"x": 2, "y": 3}, ("x", "y"), (5, 3), dtype, chosen(rng, collective, 6))
        held = oracle.numbers(rng, (6, *case.local), dtype)
        oracle.check(kernel(case)(held), held, collective, case.sizes, case.axes, **case.how)


@pytest.mark.parametrize(
    ("op", "impl", "dtype"),
    [
        *((op, "ring", "float32") for op in ("sum", "max", "min")),
        *((op, "xla", dtype) for op in ("sum", "max", "min") for dtype in ("float32", "bfloat16")),
    ],
)
def test_reductions_keep_what_is_no_number(op: str, impl: str, dtype: str) -> None:
    """NaN, infinities and the infinity minus itself come out where NumPy has them."""
    case = Case("all_reduce", impl, {"x": 3}, ("x",), (16,), dtype, {"op": op})
    held = oracle.numbers(np.random.default_rng(4), (3, 16), dtype)
    held[1, 0], held[2, 1], held[0, 2] = np.nan, np.inf, -np.inf
    held[0, 3], held[2, 3] = np.inf, -np.inf
    with np.errstate(invalid="ignore"):  # NumPy says so of the last
        got = np.asarray(kernel(case)(held))
        oracle.check(got, held, "all_reduce", case.sizes, case.axes, op=op)
    assert np.isnan(got[0, 0])


@pytest.mark.parametrize("impl", ["ring", "xla"])
def test_moves_keep_every_bit(impl: str) -> None:
    """Also of a NaN's payload, of numbers too small to be normal, and of minus zero."""
    bits = (
        np.array([[0x7FC00001, 0xFFA00002, 0x00000001, 0x80000000]] * 3, np.uint32)
        + np.arange(3, dtype=np.uint32)[:, None]
    )
    bits[1, 3] = 0x80000000
    for collective in ("all_gather", "broadcast", "permute"):
        how: dict[str, Any] = {"broadcast": {"root": 1}, "permute": {"pairs": [(0, 1), (1, 2), (2, 0)]}}.get(
            collective, {}
        )
        case = Case(collective, impl, {"x": 3}, ("x",), (4,), "float32", how)
        got = np.asarray(kernel(case)(bits.view(np.float32))).view(np.uint32)
        np.testing.assert_array_equal(got, oracle.expected(collective, bits, case.sizes, case.axes, **how))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "complex64"])
def test_xla_moves_other_dtypes_too(dtype: str) -> None:
    held = np.random.default_rng(5).integers(0, 2, (3, 6)).astype(dtype)
    for collective in ("all_gather", "all_to_all", "broadcast", "permute"):
        how: dict[str, Any] = {"broadcast": {"root": 2}, "permute": {"pairs": [(2, 0)]}}.get(collective, {})
        case = Case(collective, "xla", {"x": 3}, ("x",), (6,), dtype, how)
        got = np.asarray(kernel(case)(held))
        assert got.dtype == held.dtype
        np.testing.assert_array_equal(got, oracle.expected(collective, held, case.sizes, case.axes, **how))


def test_a_broadcast_by_xla_has_a_gradient() -> None:
    """All that devices make of it flows back to the root."""
    held = np.arange(6, dtype=np.float32).reshape(3, 2)
    case = Case("broadcast", "xla", {"x": 3}, ("x",), (2,), "float32", {"root": 1})
    weights = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    got = jax.grad(lambda x: (kernel(case)(x) * weights).sum())(held)
    np.testing.assert_array_equal(got, [[0, 0], [9, 12], [0, 0]])


def test_devices_may_be_named_by_numpy_and_pairs_come_from_anywhere() -> None:
    held = np.arange(6, dtype=np.float32).reshape(3, 2)
    turned = [(0, 1), (1, 2), (2, 0)]
    want = oracle.permute(held, turned)
    for pairs in (np.array(turned), "generator", dict(turned).items()):

        def act(x: Any, pairs: Any = pairs) -> Any:
            found = (pair for pair in turned) if isinstance(pairs, str) else pairs
            return collectives.permute(x, "x", found)

        np.testing.assert_array_equal(oracle.program(act, {"x": 3})(held), want)
    for impl in ("ring", "xla"):
        run = oracle.program(lambda x, impl=impl: collectives.broadcast(x, "x", root=np.int64(2), impl=impl), {"x": 3})
        np.testing.assert_array_equal(run(held), oracle.broadcast(held, 2))


def test_collectives_follow_one_another_in_one_program(capsys: pytest.CaptureFixture[str]) -> None:
    """A scatter, a gather of its result, and the scatter again: no kernel takes another's signals for its own."""

    def local(x: Any) -> Any:
        shard = collectives.reduce_scatter(x, "x", op="max", impl="bidirectional")
        whole = collectives.all_gather(shard, "x", impl="ring")
        return collectives.reduce_scatter(jnp.roll(whole, 1), "x", op="max", impl="bidirectional")

    held = oracle.numbers(np.random.default_rng(8), (4, 16), "int32")
    once = oracle.all_reduce(held, "max").astype(np.int32)
    want = np.roll(once, 1, axis=1)[0].reshape(4, 4)
    np.testing.assert_array_equal(oracle.program(local, {"x": 4})(held), want)
    assert capsys.readouterr().out == ""


def kernel(case: Case) -> Any:
    act = getattr(collectives, case.collective)
    return oracle.program(lambda x: act(x, case.axes, impl=case.impl, **case.how), case.sizes)
