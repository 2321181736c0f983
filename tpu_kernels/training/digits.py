"""1,797 handwritten digits of 8 x 8 pixels, which scikit-learn carries: no download, a model in seconds.

E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998.
"""

import numpy as np
import numpy.typing as npt

from tpu_kernels.training.extra import extra
from tpu_kernels.training.order import shuffled

BRIGHTEST = 16  # a pixel counts the dark dots, 0 to 16, of a 4 x 4 square of the scan
VALIDATION = 360  # examples, a fifth
SPLIT_SEED = 0  # fixed for all time, so that accuracies can be compared

Examples = dict[str, npt.NDArray[np.float32] | npt.NDArray[np.int32]]


def digits() -> tuple[Examples, Examples]:
    """Training (1,437) and validation (360) examples, the same ones on every machine.

    Each is ``{"pixels": [N, 64] float32 in 0 to 1, "label": [N] int32}``. Raises ``MissingExtraError`` without
    scikit-learn.
    """
    with extra():
        from sklearn.datasets import load_digits
    pixels, labels = load_digits(return_X_y=True)
    # Nothing promises that the order of the file is a random one, so a cut at its end would not be a fair one.
    order = shuffled(len(labels), SPLIT_SEED, 0)

    def chosen(rows: npt.NDArray[np.intp]) -> Examples:
        return {"pixels": (pixels[rows] / BRIGHTEST).astype(np.float32), "label": labels[rows].astype(np.int32)}

    return chosen(order[VALIDATION:]), chosen(order[:VALIDATION])
