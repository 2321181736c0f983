"""Comments in the scripts: what each language's reader sees between the lines of code.

Born of translated notebooks whose comments stayed in the first language, because no check looks inside code. A line
``#es …`` has a line ``#pt …`` beside it (:func:`sistolica.lesson.read_cells` refuses one without the other); here the
two must hold the same numbers and not the same words. A plain comment in a cell is shown to both readers, so it may not
be a sentence; before the first cell, comments are for contributors and free.

It cannot see strings inside the code: what a cell prints for a reader comes from the library's message catalogue.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sistolica.check.fault import Findings
from sistolica.check.page import Page
from sistolica.check.passage import Passage, PassageWriter, plain_passage
from sistolica.check.same_text import own_words
from sistolica.check.terms import Termbase
from tpu_kernels.messages import LANGUAGES

_SPOKEN = re.compile(rf"#(?P<language>{'|'.join(LANGUAGES)})\b ?(?P<text>.*)$")
_FOR_TOOLS = re.compile(r"#+\s*(?:%%|noqa\b|type:|ruff:|mypy:|fmt:|#|BEGIN |END )")
_WORDS_OF_A_SENTENCE = 2


@dataclass(frozen=True)
class CommentGroup:
    """Neighbouring spoken lines: what they say in each language."""

    passages: dict[str, Passage]

    def page(self, path: Path, language: str) -> Page:
        """The comment as a page of its own, so that the parity gate can compare its numbers."""
        passage = self.passages.get(language)
        return Page(path, title=f"the {language} comment", passages=[passage] if passage else [])


def read_comments(path: Path, source: str, termbase: Termbase, findings: Findings) -> list[CommentGroup]:
    """The spoken comments of a script, by group; comments that reach the wrong reader become faults."""
    try:
        comments = list(_comments(source))
    except (tokenize.TokenError, SyntaxError) as error:
        findings.add(
            "comment", path, 1, got=f"a script that is not Python: {error}", expected="Python", cure="Correct it"
        )
        return []
    first_cell = next((line for line, _, text in comments if text.startswith("# %%")), 1)
    groups: list[CommentGroup] = []
    spoken: list[tuple[int, str, str]] = []
    for line, alone, text in comments:
        found = _SPOKEN.match(text)
        if found and alone:
            if spoken and line != spoken[-1][0] + 1:
                groups.append(_group(spoken))
                spoken = []
            spoken.append((line, found["language"], found["text"]))
        elif found:
            findings.add(
                "comment",
                path,
                line,
                got=f"{text!r} after code",
                expected="a spoken comment on a line of its own",
                cure="Move it to the line above, or readers of the other language see it too",
            )
        elif line > first_cell and not _FOR_TOOLS.match(text):
            _refuse_sentence(path, line, text, termbase, findings)
    return [*groups, _group(spoken)] if spoken else groups


def _comments(source: str) -> Iterator[tuple[int, bool, str]]:
    """(line, whether it stands alone on it, text) of each comment; strings that look like one are none."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], not token.line[: token.start[1]].strip(), token.string


def _group(spoken: list[tuple[int, str, str]]) -> CommentGroup:
    writers = {language: PassageWriter() for language in LANGUAGES}
    for line, language, text in spoken:
        masked = plain_passage(text, "comment", line)
        writers[language].write(f"{masked.text if masked else ''} ", line)
    passages = {language: writer.passage("comment") for language, writer in writers.items()}
    return CommentGroup({language: passage for language, passage in passages.items() if passage})


def _refuse_sentence(path: Path, line: int, text: str, termbase: Termbase, findings: Findings) -> None:
    passage = plain_passage(text.lstrip("# "), "comment", line)
    if passage and len(own_words(passage, termbase)) >= _WORDS_OF_A_SENTENCE:
        findings.add(
            "comment",
            path,
            line,
            got=f"{text!r}, which readers of both languages see",
            expected="#es and #pt lines, or no words",
            cure="Write it in both languages, or move it above the first cell",
        )
