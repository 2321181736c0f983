"""The digits that scikit-learn carries, and what is said where it is not installed."""

import sys

import numpy as np
import pytest

from tpu_kernels.training.digits import digits
from tpu_kernels.training.extra import MissingExtraError, extra


def test_the_split_is_fixed_and_covers_every_digit_once() -> None:
    from sklearn.datasets import load_digits

    training, validation = digits()
    assert training["pixels"].shape == (1437, 64) and validation["pixels"].shape == (360, 64)
    assert training["pixels"].dtype == np.float32 and training["label"].dtype == np.int32
    assert training["pixels"].min() == 0 and training["pixels"].max() == 1
    both = np.concatenate([training["pixels"], validation["pixels"]])
    pixels, labels = load_digits(return_X_y=True)
    assert sorted(map(bytes, both)) == sorted(map(bytes, (pixels / 16).astype(np.float32)))
    assert (
        np.bincount(np.concatenate([training["label"], validation["label"]])).tolist() == np.bincount(labels).tolist()
    )
    assert np.bincount(validation["label"]).min() > 20
    # The same ones for ever, or accuracies could not be compared.
    assert validation["label"][:12].tolist() == FIRST_LABELS


FIRST_LABELS = [0, 4, 6, 9, 2, 0, 3, 5, 7, 1, 1, 5]


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingExtraError, match=r"scikit-learn.*pip install 'sistolica\[train\]'"):
        digits()


def test_a_module_that_is_no_library_of_the_extra_is_not_blamed_on_it() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), extra():
        import no_such_module  # noqa: F401
