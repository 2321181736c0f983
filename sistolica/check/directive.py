"""Directives: what of one is structure, what is prose, what is neither."""

import re
from dataclasses import dataclass

from myst_parser.parsers.options import TokenizeError, options_to_items

from sistolica.lesson.source import split_lines

_OPENING = re.compile(r"\{(?P<name>[^\s{}]+)\}\s*(?P<argument>.*)$", re.DOTALL)

TEXT_OPTIONS = frozenset({"alt", "caption", "title", "header", "subtitle", "summary", "aria-label"})
"""Options whose value is prose; the value of any other must be the same in both languages."""

CODE_BODY = frozenset({"code", "code-block", "code-cell", "literalinclude", "sourcecode"})
"""Directives whose body is code."""

NO_BODY = frozenset({"bibliography", "math", "quiz", "tableofcontents", "termbase", "toctree"})
"""Directives whose body holds no prose and is compared, or placed, in another way."""

UNREADABLE = frozenset({"eval-rst", "include", "raw"})
"""Directives whose body this reader cannot follow: a gate that cannot read must not pass."""

LABEL_OPTIONS = ("name", "label")
"""Options that give a label."""

_COMPARED_APART = frozenset({"alt", "cell", "link", *LABEL_OPTIONS})
_NEUTRAL_ARGUMENT = CODE_BODY | NO_BODY | frozenset({"download", "figure", "iframe", "image"})
_TITLED = frozenset(
    {"admonition", "attention", "caution", "danger", "dropdown", "error", "hint"}
    | {"important", "note", "seealso", "tip", "topic", "warning"}
)
_NEUTRAL_WORD = re.compile(r"[a-z0-9][a-z0-9._/-]*")


@dataclass(frozen=True)
class Directive:
    """One directive as written; ``body_line`` is the line of the body's first line, ``line`` that of the fence."""

    name: str
    argument: str
    options: dict[str, str]
    body: str
    line: int
    body_line: int
    option_lines: dict[str, int]
    bad_options: bool = False

    @property
    def neutral_argument(self) -> str:
        """The argument when it names something that has no language (a file, a key); empty when it is prose."""
        if self.name in _NEUTRAL_ARGUMENT:
            return self.argument
        if self.name not in _TITLED and _NEUTRAL_WORD.fullmatch(self.argument):
            return self.argument
        return ""

    @property
    def shown_argument(self) -> str:
        """The argument when it is prose."""
        return "" if self.neutral_argument else self.argument

    @property
    def neutral_options(self) -> str:
        """The options in a form that must be equal in both languages: every key, and the values without language.

        Alternatives, labels, links and the name of a cell are left out: they are compared on their own.
        """
        return " ".join(
            f":{key}:" if key in TEXT_OPTIONS else f":{key}: {' '.join(value.split())}"
            for key, value in sorted(self.options.items())
            if key not in _COMPARED_APART
        )

    def option_line(self, key: str) -> int:
        """The line that sets this option."""
        return self.option_lines.get(key, self.line)


def read_directive(info: str, content: str, line: int) -> Directive | None:
    """The directive that a fence opens, or ``None`` when the fence is plain code."""
    opening = _OPENING.match(info.strip())
    if opening is None:
        return None
    lines = split_lines(content)
    option_texts, first, skipped = _options_block(lines)
    bad = False
    if opening["name"] == "code-cell":  # read line by line, as sistolica.lesson.prose does: a value may hold ": "
        options = {key.strip(): value.strip() for key, _, value in (text.partition(":") for text in option_texts)}
    else:
        try:
            options = dict(options_to_items("\n".join(option_texts))[0])
        except TokenizeError:
            options, bad = {}, True
    option_lines = {
        text.partition(":")[0].strip(): line + 1 + first + offset
        for offset, text in enumerate(option_texts)
        if not text.startswith(" ")
    }
    body = "\n".join(lines[skipped:])
    return Directive(
        opening["name"], opening["argument"].strip(), options, body, line, line + 1 + skipped, option_lines, bad
    )


def _options_block(lines: list[str]) -> tuple[list[str], int, int]:
    """The lines of the options, where they start in the content, and how many lines they take in all.

    Two styles exist: a block between ``---`` lines, and lines that begin ``:key:``.
    """
    if lines and lines[0].startswith("---"):
        end = next((number for number, text in enumerate(lines[1:], start=1) if text.startswith("---")), len(lines))
        return lines[1:end], 1, min(end + 1, len(lines))
    count = 0
    while count < len(lines) and lines[count].lstrip().startswith(":") and not lines[count].lstrip().startswith(":::"):
        count += 1
    return [line.lstrip()[1:] for line in lines[:count]], 0, count
