"""What counting alone predicts: the number that a trained model must beat before anybody calls it one."""

import numpy as np

from tpu_kernels.phrases import phrase


def ngram_bits_per_byte(train: str, validation: str, order: int) -> float:
    """Bits for a byte of ``validation`` from the counts of ``order`` bytes in a row in ``train``.

    ``order`` 1 knows how frequent each byte is, 2 also which byte came before. Each of the 256 bytes counts once more
    than it was seen (Laplace), so that one never seen has a finite price. Raises ``ValueError`` for an order other
    than 1 or 2: the table of 3 has 16 million entries, most of them never seen here.
    """
    if order not in (1, 2):
        raise ValueError(phrase("baselines.order", got=order))
    seen, new = (np.frombuffer(part.encode("utf-8"), np.uint8).astype(np.intp) for part in (train, validation))
    if order == 1:
        counts = np.bincount(seen, minlength=256) + 1
        chances = (counts / counts.sum())[new[1:]]
    else:
        counts = np.bincount(256 * seen[:-1] + seen[1:], minlength=256**2).reshape(256, 256) + 1
        chances = (counts / counts.sum(axis=1, keepdims=True))[new[:-1], new[1:]]
    return float(-np.log2(chances).mean())
