"""A small transformer and a small classifier, in arrays, and batches for them: what several tests train."""

import numpy as np

from tpu_kernels.training.transformer_config import Config, init

CONFIG = Config(vocabulary=256, context=12, width=16, layers=2, heads=2)


def transformer_arrays():
    """First parameters, far enough from the start of training for every gradient to be worth comparing."""
    return {name: 5 * array for name, array in init(CONFIG, seed=3).items()}


def token_batch(rows, seed=0):
    """``rows`` examples with uneven weights."""
    rng = np.random.default_rng(seed)
    tokens = rng.integers(0, CONFIG.vocabulary, (rows, CONFIG.context + 1)).astype(np.uint8)
    return {"tokens": tokens, "weight": rng.uniform(0.5, 2, rows).astype(np.float32)}


def classifier_arrays(pixels=6, hidden=5, classes=3):
    rng = np.random.default_rng(4)
    return {
        "hidden": rng.normal(size=(pixels, hidden)).astype(np.float32),
        "hidden_bias": rng.normal(size=hidden).astype(np.float32),
        "out": rng.normal(size=(hidden, classes)).astype(np.float32),
        "out_bias": rng.normal(size=classes).astype(np.float32),
    }


def pixel_batch(rows, pixels=6, classes=3, seed=0):
    """``rows`` examples with uneven weights."""
    rng = np.random.default_rng(seed)
    return {
        "pixels": rng.normal(size=(rows, pixels)).astype(np.float32),
        "label": rng.integers(0, classes, rows).astype(np.int32),
        "weight": rng.uniform(0.5, 2, rows).astype(np.float32),
    }
