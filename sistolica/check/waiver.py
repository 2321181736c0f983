"""Waivers: one line of source that allows one thing, with a reason that a reviewer can weigh.

    % terms: allow interferencia -- two signals on one wire do interfere
    % parity: same text -- the title of a paper

In a page a waiver covers the lines below it up to the next blank one. In a TOML file it starts with ``#`` and covers
the key below it. One without a reason, one that nothing needed and one that cannot be read are faults themselves: an
exception that outlives its cause hides the next slip.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from sistolica.check.fault import Findings
from sistolica.lesson.source import split_lines

SAME_TEXT = "parity: same text"
_CLAIM = re.compile(r"\s*(?P<mark>[%#])\s*(?P<claim>(?:terms|parity)\s*:.*)$")
_SOUND = re.compile(r"(?P<subject>terms: allow \S.*?|parity: same text)(?:\s+--\s*(?P<reason>.*?))?\s*$")
_LONG_QUOTES = '"""'
_TERMS_PREFIX = "terms: allow "


@dataclass
class Waiver:
    """One waiver: what it allows, why, its ``line`` and the ``last`` line that it covers."""

    subject: str
    reason: str
    line: int
    last: int
    used: bool = field(default=False)


class Waivers:
    """The waivers of one file; asking for one marks it as needed."""

    def __init__(self, path: Path, source: str) -> None:
        self.path = path
        self.unread: list[tuple[int, str]] = []
        self.waivers: list[Waiver] = []
        lines = split_lines(source)
        mark = "%" if path.suffix == ".md" else "#"
        for number, text in enumerate(lines, start=1):
            claim = _CLAIM.match(text)
            if claim is None or claim["mark"] != mark:
                continue
            sound = _SOUND.match(claim["claim"])
            if sound is None:
                self.unread.append((number, text.strip()))
                continue
            last = _end_of_block(lines, number) if mark == "%" else _end_of_key(lines, number)
            self.waivers.append(Waiver(sound["subject"], sound["reason"] or "", number, last))

    def allow_form(self, form: str, line: int) -> bool:
        """Whether a word or phrase is allowed on ``line``."""
        return self._allow(_TERMS_PREFIX + form, line)

    def allow_same_text(self, line: int) -> bool:
        """Whether a text may be the same in both languages on ``line``."""
        return self._allow(SAME_TEXT, line)

    def _allow(self, subject: str, line: int) -> bool:
        allowed = False
        for waiver in self.waivers:
            if waiver.subject.casefold() == subject.casefold() and waiver.line < line <= waiver.last:
                waiver.used = True
                allowed = True
        return allowed

    def report(self, findings: Findings) -> None:
        """Write the faults of the waivers themselves; call it when every check has asked."""
        findings.count("waivers", len(self.waivers))
        for line, text in self.unread:
            findings.add(
                "waiver",
                self.path,
                line,
                got=repr(text),
                expected="'terms: allow FORM -- reason' or 'parity: same text -- reason'",
                cure="Write it in that form",
            )
        for waiver in self.waivers:
            if not waiver.reason:
                findings.add(
                    "waiver",
                    self.path,
                    waiver.line,
                    got=f"'{waiver.subject}' without a reason",
                    expected="a reason after --",
                    cure="Say why the exception is right here",
                )
            elif not waiver.used:
                findings.add(
                    "waiver",
                    self.path,
                    waiver.line,
                    got=f"'{waiver.subject}', which nothing below it needs",
                    expected="only waivers in use",
                    cure="Remove it, or move it to the line above the text that it is for",
                )


def _end_of_block(lines: list[str], line: int) -> int:
    """The last line before the next blank one."""
    return next((number for number in range(line, len(lines)) if not lines[number].strip()), len(lines))


def _end_of_key(lines: list[str], line: int) -> int:
    """The last line of the key that follows, below any more comments; a long string runs to its closing quotes."""
    number = line
    while number < len(lines) and lines[number].lstrip().startswith("#"):
        number += 1
    if number < len(lines) and lines[number].count(_LONG_QUOTES) == 1:
        number += 1
        while number < len(lines) and _LONG_QUOTES not in lines[number]:
            number += 1
    return number + 1
