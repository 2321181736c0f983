"""Text of theirs, safe to show in a terminal and to write to a file."""

import re

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain_text(written: str) -> str:
    """Text without terminal escapes, other control characters or lone surrogates."""
    visible = _ANSI.sub("", written).encode("utf-8", "replace").decode("utf-8")
    return _CONTROL.sub("", visible)
