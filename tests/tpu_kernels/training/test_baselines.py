"""What counting predicts, against sums written out, and against entropies that are known."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.training.baselines import ngram_bits_per_byte
from tpu_kernels.training.text import split, text

WORDS = st.text(st.sampled_from("abñ "), min_size=2, max_size=40)


def plain(train: str, validation: str, order: int) -> float:
    """The same by dictionaries, one byte after another."""
    seen, new = train.encode(), validation.encode()
    grams = Counter(seen[i : i + order] for i in range(len(seen) - order + 1))
    before = Counter(seen[i : i + order - 1] for i in range(len(seen) - order + 1))
    bits = []
    for i in range(1, len(new)):
        gram = new[i - order + 1 : i + 1]
        bits.append(-math.log2((grams[gram] + 1) / (before[gram[:-1]] + 256)))
    return sum(bits) / len(bits)


@settings(deadline=None, max_examples=50)
@given(WORDS, WORDS, st.sampled_from([1, 2]))
def test_it_agrees_with_the_sum_written_out(train: str, validation: str, order: int) -> None:
    assert ngram_bits_per_byte(train, validation, order) == pytest.approx(plain(train, validation, order))


def test_a_text_of_two_letters_in_turn_is_free_for_who_knows_the_letter_before() -> None:
    train, validation = "ab" * 50_000, "ab" * 500
    assert ngram_bits_per_byte(train, validation, 1) == pytest.approx(1, abs=0.01)
    assert ngram_bits_per_byte(train, validation, 2) == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("lang", ["es", "pt"])
def test_on_the_courses_texts_the_letter_before_helps(lang: str) -> None:
    parts = split(text(lang))
    assert 8 > ngram_bits_per_byte(*parts, 1) > 4 > ngram_bits_per_byte(*parts, 2) > 3


@pytest.mark.parametrize("order", [0, 3])
def test_another_order_is_refused(order: int) -> None:
    with pytest.raises(ValueError, match=f"order = {order}"):
        ngram_bits_per_byte("ab", "ab", order)
