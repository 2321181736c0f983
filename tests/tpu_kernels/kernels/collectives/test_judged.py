"""Wrong use is refused before anything is sent, with the names and numbers that clash, in both languages."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from tests.tpu_kernels.kernels.collectives import oracle
from tpu_kernels import messages
from tpu_kernels.backend import BackendError
from tpu_kernels.kernels.collectives import all_gather, all_reduce, all_to_all, broadcast, permute, reduce_scatter

SIZES = {"x": 2, "y": 2}
REFUSED: list[tuple[Callable[[Any], Any], str, str]] = [
    (
        lambda x: all_gather(x, "x", impl="tree"),
        "No hay una implementación 'tree'; las que hay: ring, bidirectional, torus, xla.",
        "Não existe a implementação 'tree'; as que existem: ring, bidirectional, torus, xla.",
    ),
    (
        lambda x: all_reduce(x, "x", op="mean"),
        "No hay una operación 'mean'; las que hay: sum, max, min.",
        "Não existe a operação 'mean'; as que existem: sum, max, min.",
    ),
    (lambda x: all_gather(x, ()), "varios distintos; se recibió ().", "vários diferentes; foi recebido ()."),
    (lambda x: all_gather(x, ("x", "x"), impl="torus"), "se recibió ('x', 'x').", "foi recebido ('x', 'x')."),
    (
        lambda x: all_reduce(x, ("x", "y"), impl="bidirectional"),
        'impl="bidirectional" recorre un solo eje de la malla, y se recibieron x, y. Con varios ejes usa impl="torus".',
        'impl="bidirectional" percorre um só eixo da malha, e foram recebidos x, y. Com vários eixos, use',
    ),
    (lambda x: all_gather(x, "z"), "La malla no tiene el eje z; sus ejes son: x, y.", "A malha não tem o eixo z;"),
    (lambda x: all_gather(x.astype("int8"), "x"), 'impl="ring" no mueve int8;', 'impl="ring" não move int8;'),
    (
        lambda x: all_gather(x[0], "x"),
        "all_gather corta o une el primer eje",
        "all_gather corta ou junta o primeiro eixo",
    ),
    (
        lambda x: reduce_scatter(x, "x"),
        "reduce_scatter reparte el primer eje entre 2 dispositivos (x=2); 3, de la forma (3,), no es múltiplo de 2.",
        "reduce_scatter reparte o primeiro eixo entre 2 dispositivos (x=2); 3, da forma (3,), não é múltiplo de 2.",
    ),
    (
        lambda x: all_to_all(x, ("x", "y"), impl="torus"),
        "entre 4 dispositivos (x=2 x y=2); 3, de la forma (3,)",
        "entre 4 dispositivos (x=2 x y=2); 3, da forma (3,)",
    ),
    (
        lambda x: broadcast(x, "x", root=2),
        "root: 2 no es un dispositivo de x=2; van de 0 a 1.",
        "root: 2 não é um dispositivo de x=2; eles vão de 0 a 1.",
    ),
    (
        lambda x: all_reduce(list(x), "x"),
        "Se esperaba un arreglo de jax o de NumPy y se recibió list.",
        "Esperava-se um array do jax ou do NumPy e foi recebido list.",
    ),
    (lambda x: all_gather(x, 0), "distintos; se recibió 0.", "diferentes; foi recebido 0."),
    (lambda x: all_gather(x, {"x"}), "distintos; se recibió {'x'}.", "diferentes; foi recebido {'x'}."),
    (lambda x: all_reduce(x, "x", op=["sum"]), "No hay una operación ['sum'];", "Não existe a operação ['sum'];"),
    (
        lambda x: reduce_scatter(x[:2] > 0, "x", impl="xla"),
        'Una suma de bool no es bool: usa op="max"',
        'Uma soma de bool não é bool: use op="max"',
    ),
    (
        lambda x: all_reduce(x.astype("complex64"), "x", op="min", impl="xla"),
        'op="min" compara, y entre números complex64 no hay mayor ni menor',
        'op="min" compara, e entre números complex64 não há maior nem menor',
    ),
    (lambda x: permute(x, "x", [(0, 1, 1)]), "se recibió [(0, 1, 1)].", "foi recebido [(0, 1, 1)]."),
    (lambda x: permute(x, "x", [0, 1]), "se recibió [0, 1].", "foi recebido [0, 1]."),
    (lambda x: broadcast(x, "x", root=True), "root: True no es un dispositivo", "root: True não é um dispositivo"),
    (lambda x: permute(x, "x", [(0, -1)]), "pairs: -1 no es un dispositivo", "pairs: -1 não é um dispositivo"),
    (
        lambda x: permute(x, "x", [(0, 1), (1, 1)]),
        "En [(0, 1), (1, 1)] el dispositivo 1 aparece dos veces del mismo lado",
        "Em [(0, 1), (1, 1)] o dispositivo 1 aparece duas vezes do mesmo lado",
    ),
]


@pytest.mark.parametrize(("act", "spanish", "portuguese"), REFUSED, ids=[spanish for _, spanish, _ in REFUSED])
def test_wrong_use_is_refused(act: Callable[[Any], Any], spanish: str, portuguese: str) -> None:
    for language, said in (("es", spanish), ("pt", portuguese)):
        messages.use(language)
        with pytest.raises(ValueError) as refused:
            oracle.program(act, SIZES).lower(np.zeros((4, 3), np.float32))
        assert said in str(refused.value)


@pytest.mark.parametrize("language", ["es", "pt"])
def test_outside_shard_map_there_is_no_mesh(language: str) -> None:
    messages.use(language)
    with pytest.raises(ValueError, match=r"\bx\b.*jax\.shard_map"):
        all_gather(np.zeros(3, np.float32), "x")


@pytest.mark.parametrize("language", ["es", "pt"])
def test_an_axis_of_vmap_is_no_axis_of_a_mesh(language: str) -> None:
    """XLA's collectives run over it; kernels have no device to send to."""
    messages.use(language)
    held = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(jax.vmap(lambda x: all_reduce(x, "x", impl="xla"), axis_name="x")(held)[0], [3, 5, 7])
    with pytest.raises(ValueError, match=r"\bx\b.*jax\.shard_map"):
        jax.vmap(lambda x: all_reduce(x, "x"), axis_name="x")(held)


@pytest.mark.parametrize(("language", "said"), [("es", "y faltan: y. Quita axis"), ("pt", "e faltam: y. Tire axis")])
def test_shard_map_must_leave_no_axis_to_jax(language: str, said: str) -> None:
    messages.use(language)
    some: dict[str, Any] = {"in_specs": P("x"), "out_specs": P("x"), "axis_names": {"x"}, "check_vma": False}
    run = jax.shard_map(lambda x: all_gather(x, "x"), mesh=oracle.mesh(SIZES), **some)
    with pytest.raises(ValueError, match=said):
        jax.jit(run).lower(np.zeros(4, np.float32))


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("es", r'no sabe derivar .* all_gather con impl="ring"'),
        ("pt", r'não sabe derivar .* all_gather com impl="ring"'),
    ],
)
def test_a_kernel_is_not_differentiated(language: str, said: str) -> None:
    messages.use(language)
    held = np.arange(6, dtype=np.float32).reshape(2, 3)

    def loss(held: Any, impl: str) -> Any:
        return oracle.program(lambda x: all_gather(x, "x", impl=impl), {"x": 2})(held).sum()

    np.testing.assert_array_equal(jax.grad(loss)(held, "xla"), np.full((2, 3), 2.0))
    with pytest.raises(ValueError, match=said):
        jax.grad(loss)(held, "ring")


@pytest.mark.parametrize(("language", "said"), [("es", "pasa check_vma=False"), ("pt", "passe check_vma=False")])
def test_shard_map_must_not_check_what_the_interpreter_does_not_say(language: str, said: str) -> None:
    messages.use(language)
    run = jax.shard_map(lambda x: all_gather(x, "x"), mesh=oracle.mesh({"x": 2}), in_specs=P("x"), out_specs=P("x"))
    with pytest.raises(ValueError, match=said):
        jax.jit(run).lower(np.zeros(4, np.float32))


@pytest.mark.parametrize(("language", "said"), [("es", r"aquí hay cuda\. Usa"), ("pt", r"aqui há cuda\. Use")])
def test_a_gpu_is_refused(monkeypatch: pytest.MonkeyPatch, language: str, said: str) -> None:
    messages.use(language)
    monkeypatch.setattr(jax, "default_backend", lambda: "cuda")
    with pytest.raises(BackendError, match=said):
        oracle.program(lambda x: all_gather(x, "x"), {"x": 2}).lower(np.zeros((2, 3), np.float32))


def test_a_mesh_may_leave_devices_out() -> None:
    """The last three of eight, backwards."""
    over = jax.sharding.Mesh(np.array(jax.devices()[:4:-1]), ("x",))
    run = jax.shard_map(lambda x: all_gather(x, "x"), mesh=over, in_specs=P("x"), out_specs=P("x"), check_vma=False)
    np.testing.assert_array_equal(jax.jit(run)(np.arange(6, dtype=np.int32)), np.tile(np.arange(6), 3))


def test_a_kernel_keeps_track_of_what_varies() -> None:
    """Compiled, it needs no ``check_vma=False``: here it is lowered for a TPU, which this machine has not."""
    spec = P(("x", "y"))

    def local(x: Any) -> Any:
        return all_reduce(x, ("y", "x"), impl="torus", interpret=False)

    run = jax.jit(jax.shard_map(local, mesh=oracle.mesh(SIZES), in_specs=spec, out_specs=spec))
    lowered = run.trace(np.zeros(8, np.float32)).lower(lowering_platforms=("tpu",)).as_text()
    assert lowered.count("tpu_custom_call") == 4
