"""Text that a model writes, against the same written byte by byte in a plain loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tpu_kernels.training import transformer
from tpu_kernels.training.generation import sample
from tpu_kernels.training.transformer import Config

CONFIG = Config(context=4, width=16, layers=1, heads=2)
PROMPTS = ["a", "ñandú", "1234", "a prompt that is longer than the window"]


@pytest.fixture(scope="module")
def params() -> dict[str, np.ndarray]:
    """Far from their first values, where all bytes are nearly alike."""
    return {name: 8 * array for name, array in transformer.init(CONFIG, 3).items()}


scores_after = jax.jit(transformer.logits, static_argnames="config")


def plain(params: dict, prompt: str, length: int, key: jax.Array, temperature: float) -> str:
    data = bytearray(prompt.encode())
    for draw in jax.random.split(key, length):
        window = jnp.asarray(list(data[-CONFIG.context :]))[None]
        scores = scores_after(params, window, config=CONFIG)[0, -1]
        chosen = jax.random.categorical(draw, scores / temperature) if temperature else jnp.argmax(scores)
        data.append(int(chosen))
    return data.decode(errors="replace")


@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_it_writes_what_a_plain_loop_over_the_last_bytes_writes(params: dict, prompt: str, temperature: float) -> None:
    key = jax.random.key(1)
    written = sample(params, CONFIG, prompt, 10, key, temperature)
    assert written == plain(params, prompt, 10, key, temperature)
    assert written.startswith(prompt)


def test_keys_decide_unless_the_likeliest_is_asked_for(params: dict) -> None:
    keys = [jax.random.key(seed) for seed in range(4)]
    assert len({sample(params, CONFIG, "a", 10, key) for key in keys}) == 4
    assert len({sample(params, CONFIG, "a", 10, key, 0) for key in keys}) == 1
    assert sample(params, CONFIG, "a", 10, keys[0]) == sample(params, CONFIG, "a", 10, keys[0])


def test_a_lower_temperature_keeps_to_what_is_likely(params: dict) -> None:
    likeliest = sample(params, CONFIG, "ab", 1, jax.random.key(0), 0)
    for temperature, expected in ((1e-4, {likeliest}), (5.0, None)):
        written = {sample(params, CONFIG, "ab", 1, jax.random.key(n), temperature) for n in range(20)}
        assert written == expected if expected else len(written) > 5  # many bytes show alike


def test_no_length_gives_the_prompt(params: dict) -> None:
    assert sample(params, CONFIG, "hola", 0, jax.random.key(0)) == "hola"


@pytest.mark.parametrize(
    ("config", "prompt", "length", "temperature", "words"),
    [
        (Config(vocabulary=100, context=4, width=16, heads=2), "a", 1, 1.0, "vocabulario de 100"),
        (CONFIG, "", 1, 1.0, "vacío"),
        (CONFIG, "a", -1, 1.0, "length = -1"),
        (CONFIG, "a", 1, -0.5, "temperature = -0.5"),
    ],
)
def test_what_cannot_be_written_is_refused(
    params: dict, config: Config, prompt: str, length: int, temperature: float, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        sample(params, config, prompt, length, jax.random.key(0), temperature)
