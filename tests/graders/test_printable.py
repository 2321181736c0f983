"""Text of theirs that goes to a terminal, a file or a page: what is not text is gone, and what is stays."""

import pytest

from graders.printable import plain_text


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x1b\\text", "text"),
        ("a\0b\x08\x7f\x9b31m", "ab31m"),
        ("over\u202ewritten\u202c", "overwritten"),
        ("\u2066isolated\u2069 \u202aembedded\u202b\u202d\u2067\u2068", "isolated embedded"),
        ("lone \ud800 surrogate", "lone ? surrogate"),
        ("tab\tline\nacción ção عربي 漢字 😀", "tab\tline\nacción ção عربي 漢字 😀"),
    ],
)
def test_only_text_is_left(written, shown):
    assert plain_text(written) == shown
