"""Source files as text: UTF-8 with or without a byte order mark, any line ends, a named error when they are not."""

from pathlib import Path

from sistolica.lesson.errors import LessonError


def read_source(path: Path, absent: str, cure: str) -> str:
    """The text of a file; a missing one is a :class:`LessonError` that says ``absent`` and ``cure``."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise LessonError(path, 1, absent, cure) from None
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise LessonError(path, line, f"not UTF-8 text: {error.reason}", "Save the file as UTF-8") from None


def split_lines(text: str) -> list[str]:
    """The lines as an editor counts them; ``str.splitlines`` also breaks at a form feed or a U+2028 inside one."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
