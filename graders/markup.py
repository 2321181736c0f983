"""Text of ours as HTML: escaped, with `code` as code."""

from html import escape


def inline(message: str) -> str:
    """``message`` escaped, what stands between backticks as code. With an odd number of them, none means anything."""
    parts = escape(message).split("`")
    if len(parts) % 2 == 0:
        return escape(message)
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))
