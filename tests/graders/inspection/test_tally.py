"""What is counted in a program, against what is known of the function that it was made of."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax

from graders.inspection.answers import inspect

Spec = jax.ShapeDtypeStruct
A, B = Spec((3, 5), jnp.float32), Spec((5, 7), jnp.float32)
SQUARE = Spec((4, 4), jnp.float32)


def found(function, *specs):
    code = export.export(jax.jit(function), platforms=["cpu"])(*specs).serialize()
    return inspect(np.frombuffer(code, np.uint8))


def looped(times):
    return lambda x: lax.scan(lambda held, _: (held @ held, None), x, None, length=times)[0]


PRODUCT = 2 * 4 * 4 * 4


@pytest.mark.parametrize(
    ("function", "specs", "flops"),
    [
        (lambda a, b: a @ b, (A, B), 2 * 3 * 5 * 7),
        (lambda a, b: jnp.einsum("bij,bjk->bik", a, b), (Spec((2, 3, 5), "float32"), Spec((2, 5, 7), "float32")), 420),
        (lambda a: a + 1, (A,), 0),
        (looped(6), (SQUARE,), 6 * PRODUCT),
        (looped(0), (SQUARE,), 0),
        (lambda x: looped(3)(looped(2)(x)), (SQUARE,), 5 * PRODUCT),
        (lambda x: lax.fori_loop(2, 9, lambda i, held: looped(2)(held), x), (SQUARE,), 14 * PRODUCT),
        (lambda x: lax.while_loop(lambda held: held[0, 0] < 9, lambda held: held @ held, x), (SQUARE,), None),
        (lambda x: lax.cond(x[0, 0] > 0, lambda x: x @ x, lambda x: x, x), (SQUARE,), None),
        (lambda x: lax.while_loop(lambda held: held[0, 0] < 9, lambda held: held + 1, x), (SQUARE,), 0),
        (
            lambda x, w: lax.conv(x, w, (1, 1), "VALID"),
            (Spec((1, 3, 8, 8), "float32"), Spec((5, 3, 3, 3), "float32")),
            2 * (5 * 6 * 6) * (3 * 3 * 3),
        ),
    ],
)
def test_flop_of_products_are_counted_for_as_often_as_they_are_carried_out(function, specs, flops):
    assert found(function, *specs)["flops"] == flops


def test_a_function_called_twice_counts_twice_and_a_loop_once():
    inner = jax.jit(lambda x: x @ x)
    assert found(lambda x: inner(inner(x)), SQUARE)["operations"]["dot_general"] == 2
    assert found(looped(6), SQUARE)["operations"]["dot_general"] == 1


def test_what_no_result_depends_on_does_not_count():
    def idle(x):
        looped(3)(x @ x)
        return x + 1

    assert found(idle, SQUARE)["operations"].get("dot_general", 0) == 0
    assert found(idle, SQUARE)["flops"] == 0


def test_a_constant_counts_as_it_is_written():
    table = jnp.asarray(np.arange(1000, dtype=np.float32))
    assert found(lambda x: x + table.sum(), A)["constant"] >= 4000
    assert found(lambda x: x + jnp.full((1000,), 2.0).sum(), A)["constant"] <= 8
