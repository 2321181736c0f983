"""Who does a product: by machine, by type and by what was asked for; and never anybody else in silence."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tpu_kernels import backend, messages
from tpu_kernels.backend import BackendError, FallbackWarning, Here
from tpu_kernels.kernels import matmul
from tpu_kernels.kernels.gemm import placement, product
from tpu_kernels.kernels.gemm import plan as planning
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.blocking import choose_block
from tpu_kernels.kernels.gemm.dtypes import accumulator_dtype, result_dtype
from tpu_kernels.kernels.gemm.placement import Placement
from tpu_kernels.kernels.gemm.plan import Choice
from tpu_kernels.kernels.gemm.problem import Problem

CPU = Here("cpu", 1, "cpu", None, None)
V4 = Here("tpu", 4, "TPU v4", "tpu_v4", None)
V5E = Here("tpu", 1, "TPU v5 lite", "tpu_v5e", None)
V6E = Here("tpu", 4, "TPU v6 lite", "tpu_v6e", None)
UNLISTED = Here("tpu", 1, "TPU v99", None, None)
H200 = Here("gpu", 1, "NVIDIA H200", "nvidia_h200_sxm", "9.0")
T4 = Here("gpu", 1, "Tesla T4", None, "7.5")


def problem(dtype: Any, m: int = 4096, k: int = 4096, n: int = 4096) -> Problem:
    dtype = jnp.dtype(dtype)
    return Problem(1, m, k, n, dtype, accumulator_dtype(dtype), result_dtype(dtype))


def choose(dtype: Any, here: Here, **asked: Any) -> Choice:
    nothing_asked = {"backend": "auto", "block": None, "interpret": None, "precision": None}
    where = Placement(here, asked.pop("traced", False), asked.pop("spread", False))
    return planning.choose(problem(dtype), where, **{**nothing_asked, **asked})


@pytest.mark.parametrize(
    ("here", "dtype", "name"),
    [
        (CPU, jnp.float32, "xla"),
        (CPU, jnp.bfloat16, "xla"),
        (CPU, jnp.int8, "xla"),
        (V5E, jnp.bfloat16, "pallas_tpu"),
        (V5E, jnp.float32, "pallas_tpu"),
        (V5E, jnp.int8, "pallas_tpu"),
        (V4, jnp.bfloat16, "pallas_tpu"),
        (UNLISTED, jnp.bfloat16, "pallas_tpu"),
        (H200, jnp.bfloat16, "pallas_gpu"),
    ],
)
def test_each_machine_uses_what_suits_it(here: Here, dtype: Any, name: str) -> None:
    choice = choose(dtype, here)
    assert (choice.implementation, choice.interpret, choice.refused) == (name, False, None)
    assert planning.notice(choice, problem(dtype), Placement(here)) is None


@pytest.mark.parametrize(
    ("here", "dtype", "wanted", "words"),
    [
        (V5E, jnp.float16, "pallas_tpu", "float16"),
        (V6E, jnp.int32, "pallas_tpu", "int32"),
        (V4, jnp.int8, "pallas_tpu", "int8 para TPU v4"),
        (V4, jnp.float8_e4m3fn, "pallas_tpu", "float8_e4m3fn para TPU v4"),
        (H200, jnp.float32, "pallas_gpu", "float32"),
        (T4, jnp.bfloat16, "pallas_gpu", "7.5"),
    ],
)
def test_xla_stands_in_where_the_kernel_does_not_do_it_and_that_is_said(
    here: Here, dtype: Any, wanted: str, words: str
) -> None:
    choice = choose(dtype, here)
    assert (choice.implementation, choice.refused, choice.interpret) == ("xla", wanted, False)
    said = planning.notice(choice, problem(dtype), Placement(here))
    assert said is not None and wanted in said and words in said
    with pytest.raises(TypeError, match=f"{wanted} no hace este producto"):
        choose(dtype, here, backend=wanted)


def test_the_notice_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_announced", set())
    monkeypatch.setattr(placement, "_here", lambda: V5E)
    a = np.ones((3, 4), np.float16)
    with pytest.warns(FallbackWarning, match="lo hace XLA en lugar de pallas_tpu") as heard:
        for _ in range(2):
            np.testing.assert_array_equal(matmul(a, a.T), a @ a.T)
    assert len(heard) == 1


def test_a_product_runs_where_its_operands_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "_here", lambda: V5E)
    on_cpu = jax.device_put(np.ones((3, 4), np.float32), jax.devices("cpu")[0])
    assert product.plan(on_cpu, on_cpu.T).implementation == "xla"
    assert product.plan(np.ones((3, 4), np.float32), np.ones((4, 3), np.float32)).implementation == "pallas_tpu"
    with jax.default_device(jax.devices("cpu")[0]):
        assert product.plan(np.ones((3, 4), np.float32), np.ones((4, 3), np.float32)).implementation == "xla"


def test_blocks_are_chosen_for_the_chip_at_hand_or_for_a_v5e() -> None:
    for here, chip in ((V4, "v4"), (V6E, "v6e"), (CPU, "v5e"), (UNLISTED, "v5e")):
        assert choose(jnp.float32, here, backend="pallas_tpu").block == choose_block(problem(jnp.float32), chip)


@pytest.mark.parametrize("here", [CPU, H200])
def test_a_kernel_away_from_home_is_interpreted_unless_that_is_forbidden(here: Here) -> None:
    assert choose(jnp.bfloat16, here, backend="pallas_tpu").interpret is True
    with pytest.raises(BackendError, match=f"interpret=False .*{here.platform}"):
        choose(jnp.bfloat16, here, backend="pallas_tpu", interpret=False)
    assert choose(jnp.bfloat16, here, backend="pallas_tpu", interpret=False, traced=True).interpret is False


def test_at_home_it_is_interpreted_only_when_asked() -> None:
    assert choose(jnp.bfloat16, V5E).interpret is False
    assert choose(jnp.bfloat16, V5E, interpret=True).interpret is True
    assert choose(jnp.bfloat16, V5E, interpret=False).interpret is False


@pytest.mark.parametrize("asked", [{"block": Block(512, 512, 512)}, {"interpret": True}])
def test_who_asks_for_what_only_kernels_have_gets_a_kernel(asked: dict[str, Any]) -> None:
    assert choose(jnp.bfloat16, CPU, **asked).implementation == "pallas_tpu"
    with pytest.raises(TypeError, match="float16"):
        choose(jnp.float16, V5E, **asked)


@pytest.mark.parametrize("name", ["reference", "xla"])
@pytest.mark.parametrize("here", [CPU, V5E, H200])
def test_what_runs_anywhere_is_not_interpreted(name: str, here: Here) -> None:
    assert choose(jnp.float16, here, backend=name) == Choice(name, None, interpret=False)


def test_plans_are_told_in_the_language_in_force() -> None:
    choice = choose(jnp.float16, V5E)
    made = [planning.explained(choice, problem(jnp.float16), Placement(V5E), "auto", None)]
    messages.use("pt")
    made.append(planning.explained(choice, problem(jnp.float16), Placement(V5E), "auto", None))
    assert "en lugar de" in made[0].why
    assert "no lugar de" in made[1].why


def test_jax_does_not_share_a_kernel_out_among_devices() -> None:
    for spread in (True, None):  # None: inside jit, where it cannot be known
        choice = choose(jnp.bfloat16, V6E, spread=spread, traced=spread is None)
        assert (choice.implementation, choice.refused) == ("xla", "pallas_tpu")
        said = planning.notice(choice, problem(jnp.bfloat16), Placement(V6E, spread=spread))
        assert said is not None and "Hay 4 dispositivos, y fuera de jax.shard_map" in said
    assert choose(jnp.bfloat16, V6E, spread=None, traced=True, backend="pallas_tpu").implementation == "pallas_tpu"
    with pytest.raises(TypeError, match=r"fuera de jax\.shard_map"):
        choose(jnp.bfloat16, V6E, spread=True, backend="pallas_tpu")
    assert choose(jnp.bfloat16, CPU, spread=True, backend="pallas_tpu").interpret is True
    assert choose(jnp.bfloat16, V6E, spread=True, backend="xla").refused is None


def test_where_operands_are_spread_is_seen_and_where_it_cannot_be_is_not_guessed() -> None:
    mesh = Mesh(np.array(jax.devices()[:2]), ("rows",))
    x = np.ones((4, 4), np.float32)
    spread = jax.device_put(x, NamedSharding(mesh, P("rows")))
    seen = {}

    def look(key: str) -> Any:
        def keep(x: Any) -> Any:
            seen[key] = placement.placement(x, x)[1:]
            return x

        return keep

    look("numpy")(x), look("one device")(jnp.asarray(x)), look("spread")(spread)
    jax.jit(look("jit"))(x)
    jax.shard_map(look("shard_map"), mesh=mesh, in_specs=P("rows"), out_specs=P("rows"))(x)
    assert seen == {
        "numpy": (False, False),
        "one device": (False, False),
        "spread": (False, True),
        "jit": (True, None),
        "shard_map": (True, False),
    }
