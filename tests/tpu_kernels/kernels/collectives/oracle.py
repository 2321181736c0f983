"""The collectives by NumPy, in float64, and a way to run those under test on simulated devices."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

REDUCE = {"sum": np.add.reduce, "max": np.maximum.reduce, "min": np.minimum.reduce}

Values = np.ndarray[Any, Any]


def all_gather(held: Values) -> Values:
    """``held`` [devices, m, ...] -> [devices, devices * m, ...]."""
    return np.stack([np.concatenate(held)] * len(held))


def reduce_scatter(held: Values, op: str = "sum") -> Values:
    """[devices, devices * m, ...] -> [devices, m, ...]."""
    return np.stack(np.split(REDUCE[op](wide(held), axis=0), len(held)))


def all_reduce(held: Values, op: str = "sum") -> Values:
    return np.stack([REDUCE[op](wide(held), axis=0)] * len(held))


def all_to_all(held: Values) -> Values:
    messages = [np.split(mine, len(held)) for mine in held]
    return np.stack([np.concatenate(came) for came in zip(*messages, strict=True)])


def broadcast(held: Values, root: int = 0) -> Values:
    return np.stack([held[root]] * len(held))


def permute(held: Values, pairs: Sequence[tuple[int, int]] = ()) -> Values:
    got = np.zeros_like(held)
    for source, target in pairs:
        got[target] = held[source]
    return got


COLLECTIVES: Mapping[str, Callable[..., Values]] = {
    "all_gather": all_gather,
    "reduce_scatter": reduce_scatter,
    "all_reduce": all_reduce,
    "all_to_all": all_to_all,
    "broadcast": broadcast,
    "permute": permute,
}


def wide(held: Values) -> Values:
    """Integers that do not wrap in a sum, or float64."""
    return held.astype(np.int64 if held.dtype.kind == "i" else np.float64)


def groups(sizes: Mapping[str, int], axes: Sequence[str]) -> Values:
    """Numbers of the devices that talk to each other, in their order: [groups, devices of a group]."""
    numbers = np.arange(prod(sizes.values())).reshape(tuple(sizes.values()))
    order = [list(sizes).index(axis) for axis in axes]
    rest = [axis for axis in range(len(sizes)) if axis not in order]
    return numbers.transpose(*rest, *order).reshape(-1, prod(sizes[axis] for axis in axes))


def expected(collective: str, held: Values, sizes: Mapping[str, int], axes: Sequence[str], **how: Any) -> Values:
    """What all devices of a mesh hold after each group has done ``collective`` along these axes."""
    found: dict[int, Values] = {}
    for members in groups(sizes, axes):
        found.update(zip(members, COLLECTIVES[collective](held[members], **how), strict=True))
    return np.stack([found[device] for device in range(len(held))])


def mesh(sizes: Mapping[str, int]) -> Mesh:
    """The first of jax's devices, or all of them."""
    return Mesh(np.array(jax.devices()[: prod(sizes.values())]).reshape(tuple(sizes.values())), tuple(sizes))


def program(of: Callable[[jax.Array], Any], sizes: Mapping[str, int]) -> Callable[[Any], Any]:
    """``of`` on each device of a mesh: from [devices, ...] to [devices, ...], a slice for each."""
    spec = P(tuple(sizes))

    def local(held: jax.Array) -> Any:
        return jax.tree.map(lambda x: x[None], of(held[0]))

    return jax.jit(jax.shard_map(local, mesh=mesh(sizes), in_specs=spec, out_specs=spec, check_vma=False))


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Values:
    """Large and small, of both signs; integers whose sums wrap."""
    if dtype == "int32":
        return rng.integers(-(2**31), 2**31, size=shape, dtype=np.int32)
    drawn = rng.standard_normal(shape) * 2.0 ** rng.integers(-8, 8, size=shape)
    return drawn.astype(jnp.dtype(dtype))


def check(got: Any, held: Values, collective: str, sizes: Mapping[str, int], axes: Sequence[str], **how: Any) -> None:
    """What is only moved, or compared, bit by bit; sums within the rounding of ``n - 1`` additions."""
    got, want = np.asarray(got), expected(collective, held, sizes, axes, **how)
    assert got.dtype == held.dtype
    assert got.shape == want.shape
    if collective in ("reduce_scatter", "all_reduce") and how.get("op", "sum") == "sum" and held.dtype.kind != "i":
        n = prod(sizes[axis] for axis in axes)
        terms = expected(collective, abs(held.astype(np.float64)), sizes, axes)
        rounding = (n - 1) * float(jnp.finfo(held.dtype).eps) / 2
        bound = rounding / (1 - rounding) * terms
        finite = np.isfinite(want)
        assert (abs(got.astype(np.float64) - want)[finite] <= bound[finite]).all()
        np.testing.assert_array_equal(got[~finite].astype(np.float64), want[~finite])
    else:
        np.testing.assert_array_equal(got.astype(want.dtype), want.astype(held.dtype).astype(want.dtype))
