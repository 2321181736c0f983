"""Whole runs: what they reach, that they resume, and that neither devices nor precision keep them from it."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from tpu_kernels.training.baselines import ngram_bits_per_byte
from tpu_kernels.training.checkpoint import MismatchError
from tpu_kernels.training.precision import Policy
from tpu_kernels.training.recipes import DIGITS, TEXT, Options, train_digits, train_text
from tpu_kernels.training.recipes import text as recipe
from tpu_kernels.training.state import Params
from tpu_kernels.training.text import split, text
from tpu_kernels.training.transformer import Config, shapes

SMALL = Config(context=16, width=16, layers=1, heads=2)
SHORT = replace(TEXT, steps=8, batch_size=8, every=2, validate_every=None, progress=False)


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of a size at which a run is over at once."""
    monkeypatch.setattr(recipe, "text", lambda lang: text(lang)[:4000])


def numbers(params: Params) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(params)]


@pytest.mark.parametrize(
    "options",
    [DIGITS, replace(DIGITS, devices=4, policy=Policy("bfloat16"), seed=1)],
    ids=["one device", "four devices, bfloat16"],
)
def test_digits_it_never_saw_are_right_in_more_than_95_of_100(options: Options) -> None:
    run = train_digits(replace(options, progress=False))
    assert run.accuracy > 0.95
    assert run.reports[-1].validation == {"accuracy": run.accuracy}
    assert run.reports[-1].loss < run.reports[0].loss / 5


def test_a_text_is_learned_and_the_result_says_against_what() -> None:
    run = train_text("pt", replace(SHORT, steps=60, learning_rate=2e-2), SMALL)
    assert run.bits < run.reports[0].loss / math.log(2) - 1  # it began at 8
    assert run.reports[-1].validation["bits_per_byte"] == run.bits
    parts = split(text("pt")[:4000])
    assert (run.unigram, run.bigram) == tuple(ngram_bits_per_byte(*parts, order) for order in (1, 2))
    assert run.sample.startswith(parts[1][:20]) and len(run.sample.encode()) > recipe.PROMPT_BYTES


def test_the_text_model_has_the_size_that_is_promised() -> None:
    parameters = sum(int(np.prod(shape)) for shape in shapes(recipe.CONFIG).values())
    assert 2e6 < parameters < 5e6


def test_a_run_that_goes_on_ends_as_one_that_never_stopped(tmp_path: Path) -> None:
    options = replace(DIGITS, steps=8, every=2, checkpoints=tmp_path, save_every=3, progress=False)
    whole = train_digits(options)
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [2, 3, 4, 6, 8]
    for later in ("6", "8"):  # as if it had been killed before it saved these
        shutil.rmtree(tmp_path / later)
    again = train_digits(options)
    assert [report.step for report in again.reports] == [4, 6, 8]
    assert numbers(again.params) == numbers(whole.params)
    assert again.accuracy == whole.accuracy


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    options = replace(SHORT, steps=2, checkpoints=tmp_path)
    train_text("es", options, SMALL)
    for lang, other, config, named in (
        ("pt", options, SMALL, 'lang era "es" y aquí es "pt"'),
        ("es", replace(options, steps=90), SMALL, "steps era 2 y aquí es 90"),
        ("es", replace(options, policy=Policy("bfloat16")), SMALL, 'precision era "float32"'),
        ("es", options, replace(SMALL, width=32), r"float32\[1, 16, 16\] y aquí float32\[1, 32, 32\]"),
        ("es", options, replace(SMALL, dropout=0.2), "model era .*0.0.*0.2"),
    ):
        with pytest.raises(MismatchError, match=named):
            train_text(lang, other, config)
