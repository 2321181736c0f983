"""The texts that travel with the package, and the windows that models read them through."""

import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.messages import LANGUAGES, UnknownLanguageError
from tpu_kernels.training.text import FOLDER, source, split, text, windows

TEXTS = st.text(min_size=1, max_size=200)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_each_language_has_a_text_of_its_own_in_clean_utf8(lang: str) -> None:
    data = (FOLDER / f"{lang}.txt").read_bytes()
    assert 100_000 < len(data) < 300_000
    assert text(lang) == data.decode("utf-8")
    assert b"\r" not in data and b"\t" not in data and b"  " not in data and not data.startswith(b"\xef\xbb\xbf")
    assert data.endswith(b"\n")


@pytest.mark.parametrize(
    ("lang", "words", "foreign"), [("es", ("el navío", "según", "niño"), "não"), ("pt", ("não", "coração"), "navío")]
)
def test_the_text_is_in_its_language(lang: str, words: tuple[str, ...], foreign: str) -> None:
    assert all(word in text(lang) for word in words)
    assert foreign not in text(lang)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_distributors_words_are_left_in_it(lang: str) -> None:
    assert not any(
        word in text(lang).lower() for word in ("gutenberg", "license", "ebook", "copyright", "http", "www.")
    )


@pytest.mark.parametrize("lang", LANGUAGES)
def test_it_is_recorded_what_each_text_is_and_why_it_may_be_given_away(lang: str) -> None:
    entry = tomllib.loads((FOLDER / "sources.toml").read_text(encoding="utf-8"))[lang]
    assert entry["first_published"] < entry["author_died"] < 1930
    assert all(entry[field] for field in ("rights", "read_in", "read_on", "changes", "checked"))
    assert source(lang).title == entry["title"] and source(lang).author == entry["author"]


def test_another_language_has_none() -> None:
    for ask in (text, source):
        with pytest.raises(UnknownLanguageError):
            ask("en")


@settings(deadline=None, max_examples=50)
@given(TEXTS, st.floats(0.01, 0.99))
def test_a_split_loses_nothing_and_neither_part_is_empty(whole: str, validation: float) -> None:
    try:
        parts = split(whole, validation)
    except ValueError as refused:
        assert str(len(whole)) in str(refused)
        assert len(whole) * min(validation, 1 - validation) < 1
    else:
        assert "".join(parts) == whole and all(parts)


def test_a_split_falls_at_the_end_of_a_line() -> None:
    assert split("a\nbb\nccc\ndddd", 0.2) == ("a\nbb\nccc\n", "dddd")
    assert split("no line ends here", 0.5) == ("no line ", "ends here")


@pytest.mark.parametrize("validation", [0, 1, -0.1, 1.5, float("nan")])
def test_a_share_that_is_none_is_refused(validation: float) -> None:
    with pytest.raises(ValueError, match="validation"):
        split("abc", validation)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_training_and_validation_windows_share_no_byte(lang: str) -> None:
    training, validation = split(text(lang))
    assert len(validation) / len(text(lang)) == pytest.approx(0.1, abs=0.02)
    seen = windows(training, 64, stride=8)["tokens"]
    assert bytes(seen[-1]) in training.encode() and bytes(seen[-1]) not in validation.encode()
    assert training.encode() + validation.encode() == text(lang).encode()


@settings(deadline=None, max_examples=50)
@given(st.binary(min_size=1, max_size=60).map(lambda data: data.decode("latin-1")), st.integers(1, 9))
def test_each_byte_but_the_first_is_predicted_once(of: str, context: int) -> None:
    data = of.encode()
    if len(data) < context + 1:
        with pytest.raises(ValueError, match=f"{len(data)} bytes.*{context + 1}"):
            windows(of, context)
        return
    tokens = windows(of, context)["tokens"]
    assert tokens.dtype == np.uint8 and tokens.shape[1] == context + 1
    predicted = tokens[:, 1:].tobytes()
    assert predicted == data[1 : 1 + len(predicted)]
    assert len(data) - 1 - len(predicted) < context


def test_windows_with_a_stride_overlap() -> None:
    assert [bytes(row) for row in windows("abcdefgh", 3, stride=2)["tokens"]] == [b"abcd", b"cdef", b"efgh"]


def test_windows_are_of_bytes_not_of_letters() -> None:
    assert windows("ñaña", 5)["tokens"].tolist() == [list("ñaña".encode())]


@pytest.mark.parametrize(("context", "stride", "named"), [(0, None, "context = 0"), (2, 0, "stride = 0")])
def test_a_size_below_one_is_named(context: int, stride: int | None, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        windows("abcdef", context, stride)
