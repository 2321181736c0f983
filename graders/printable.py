"""Text of theirs, safe to show in a terminal and to write to a file."""

import re

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")  # shows what follows, also ours, in another order


def plain_text(written: str) -> str:
    """Text without terminal escapes, other control characters, reordering marks or lone surrogates."""
    visible = _ANSI.sub("", written).encode("utf-8", "replace").decode("utf-8")
    return _REORDERING.sub("", _CONTROL.sub("", visible))
