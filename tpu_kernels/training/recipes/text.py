"""A transformer that writes like the text of its language, byte by byte: minutes on two cores of a CPU."""

from dataclasses import asdict
from functools import partial
from typing import NamedTuple

import jax

from tpu_kernels.training import transformer
from tpu_kernels.training.baselines import ngram_bits_per_byte
from tpu_kernels.training.evaluation import bits_per_byte
from tpu_kernels.training.generation import sample
from tpu_kernels.training.metrics import Work
from tpu_kernels.training.recipes.options import Options
from tpu_kernels.training.recipes.run import placed, train
from tpu_kernels.training.report import Report
from tpu_kernels.training.state import Params
from tpu_kernels.training.text import split, text, windows

TEXT = Options(steps=800, batch_size=8, learning_rate=2e-3, validate_every=200)
CONFIG = transformer.Config(context=128, width=256, layers=3, heads=4, dropout=0.1)

SAMPLE_BYTES = 300
TEMPERATURE = 0.8
PROMPT_BYTES = 40


class TextRun(NamedTuple):
    """The trained ``params``, the ``reports`` of this call, and what they are worth on the validation text.

    ``bits`` of the model, and of counts of bytes (``unigram``) and of pairs of bytes (``bigram``), all per byte;
    ``sample`` is what the model writes after the first words of the validation text.
    """

    params: Params
    reports: list[Report]
    bits: float
    unigram: float
    bigram: float
    sample: str


def train_text(lang: str, options: Options = TEXT, config: transformer.Config = CONFIG) -> TextRun:
    """Trains on the first nine tenths of the text in ``lang``, ``"es"`` or ``"pt"``; validates on the rest.

    Raises ``UnknownLanguageError``, ``MissingExtraError`` without optax or orbax-checkpoint, and what ``fit`` raises.
    """
    training, validation = split(text(lang))
    measure = bits_per_byte(windows(validation, config.context), config, **placed(options))
    flops = float(config.context * transformer.training_flops_per_token(config))
    run = train(
        partial(transformer.losses, config=config),
        transformer.init(config, options.seed),
        # Overlapping, so that no byte is always the first of its window, with nothing to go by.
        windows(training, config.context, stride=max(1, config.context // 8)),
        lambda params: {"bits_per_byte": measure(params)},
        options,
        {"recipe": "text", "lang": lang, "model": asdict(config)},
        Work(tokens=config.context, flops=flops),
    )
    prompt = validation.encode()[:PROMPT_BYTES].decode(errors="ignore")
    key = jax.random.key(options.seed)
    return TextRun(
        run.state.params,
        run.reports,
        measure(run.state.params),
        ngram_bits_per_byte(training, validation, 1),
        ngram_bits_per_byte(training, validation, 2),
        sample(run.state.params, config, prompt, SAMPLE_BYTES, key, TEMPERATURE),
    )
