"""A page as a notebook for JupyterLab, VS Code, Colab or Kaggle: MyST turned into the Markdown that they all read.

Outputs are left out: a notebook shows what the machine that runs it computed, or nothing.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import nbformat
from nbformat import NotebookNode, v4

from sistolica.lesson.errors import LessonError
from sistolica.lesson.notebook import Lesson
from sistolica.lesson.prose import fence_end, find_fence
from sistolica.lesson.quiz import Question
from sistolica.lesson.quote import QuoteError, format_calc, format_spec
from sistolica.lesson.references import Reference, read_references
from sistolica.phrases import phrase
from sistolica.project import Project

_LABEL = re.compile(r"\((?P<label>[\w.-]+)\)=\s*$")
_ROLE = re.compile(r"\{(?P<role>[a-z]+)\}`(?P<text>[^`]+)`")
_TARGET = re.compile(r"(?P<title>.*?)\s*<(?P<label>[^<>]+)>$")
_COMMENT = re.compile(r"%(?: |$)")
_DIRECTIVE = re.compile(r"\{(?P<name>[\w:-]+)\}\s*(?P<argument>.*)$")
_ADMONITIONS = frozenset({"note", "tip", "important", "warning"})


@dataclass(frozen=True)
class Heading:
    """Where a label leads: the page it is on and the title that follows it."""

    slug: str
    title: str


@dataclass
class _Writer:
    lesson: Lesson
    values: Mapping[str, Mapping[str, Any]]
    headings: Mapping[str, Heading]
    references: Mapping[str, Reference]
    cited: list[str] = field(default_factory=list)
    line: int = 1  # of the page, for faults

    def markdown(self, text: str, first_line: int) -> str:
        lines = text.splitlines()
        written: list[str] = []
        number = 0
        while number < len(lines):
            self.line = first_line + number
            opening = find_fence(lines[number])
            if opening is None:
                written += self._prose_line(lines[number])
                number += 1
                continue
            end = fence_end(self.lesson.prose.path, lines, number, first_line)
            written += self._block(opening["info"], lines[number : end + 1], first_line + number)
            number = end + 1
        return "\n".join(written).strip("\n")

    def _prose_line(self, line: str) -> list[str]:
        if _COMMENT.match(line):
            return []
        if label := _LABEL.match(line):
            return [f'<a id="{label["label"]}"></a>', ""]
        return [self.inline(line)]

    def inline(self, text: str) -> str:
        return _ROLE.sub(self._role, text)

    def _role(self, role: re.Match[str]) -> str:
        lang = self.lesson.lang
        writers: dict[str, Callable[[str], str]] = {
            "spec": lambda path: format_spec(path, lang),
            "calc": lambda name: format_calc(name, self.values, lang),
            "ref": self._link,
            "cite": self._citation,
            "math": lambda formula: f"${formula}$",
        }
        writer = writers.get(role["role"])
        if writer is None:
            raise LessonError(
                self.lesson.prose.path,
                self.line,
                f"role {{{role['role']}}} has no plain form for the downloadable notebook",
                f"Use one of {', '.join(sorted(writers))}, or give it one in sistolica.lesson.portable",
            )
        try:
            return writer(role["text"])
        except QuoteError as error:
            raise LessonError(self.lesson.prose.path, self.line, str(error), "Quote a number that exists") from None

    def _link(self, text: str) -> str:
        target = _TARGET.match(text)
        label = target["label"] if target else text
        heading = self.headings.get(label)
        if heading is None:
            raise LessonError(
                self.lesson.prose.path, self.line, f"link to unknown label {label!r}", "Correct it or write the label"
            )
        title = target["title"] if target else heading.title
        return f"[{title}](#{label})" if heading.slug == self.lesson.slug else f"*{title}*"

    def _citation(self, keys: str) -> str:
        numbers = []
        for key in (key.strip() for key in keys.split(",")):
            if key not in self.references:
                raise LessonError(
                    self.lesson.prose.path, self.line, f"citation of unknown {key!r}", "Add it to book/references.bib"
                )
            if key not in self.cited:
                self.cited.append(key)
            numbers.append(f"[{self.cited.index(key) + 1}]")
        return ", ".join(numbers)

    def _block(self, info: str, block: list[str], line: int) -> list[str]:
        directive = _DIRECTIVE.match(info)
        if directive is None:
            return block
        name, argument, body = directive["name"], directive["argument"], block[1:-1]
        if name == "quiz":
            return self._quiz(self.lesson.questions[argument])
        if name == "bibliography":
            return [f"{number}. {self.references[key].markdown()}" for number, key in enumerate(self.cited, start=1)]
        if name == "math":
            return ["$$", *body, "$$"]
        text = self.markdown("\n".join(body), line + 1).splitlines()
        if name == "solution":
            return _disclosure(phrase("page.solution", lang=self.lesson.lang), text)
        if name in _ADMONITIONS or name == "admonition":
            title = argument if name == "admonition" else phrase(f"admonition.{name}", lang=self.lesson.lang)
            return [f"> **{self.inline(title)}**", ">", *(f"> {part}".rstrip() for part in text)]
        raise LessonError(
            self.lesson.prose.path,
            line,
            f"directive {{{name}}} has no plain form for the downloadable notebook",
            "Use one that has, or give it one in sistolica.lesson.portable",
        )

    def _quiz(self, question: Question) -> list[str]:
        lang = self.lesson.lang
        kind = phrase(f"quiz.{question.kind}", lang=lang)
        options = [f"- {self.inline(option.text[lang])}" for option in question.options]
        answers = []
        for option in question.options:
            verdict = phrase("quiz.right" if option.correct else "quiz.wrong", lang=lang)
            answers.append(f"- {self.inline(option.text[lang])} **{verdict}** {self.inline(option.feedback[lang])}")
        asked = f"**{self.inline(question.text[lang])}** ({kind})"
        return [asked, "", *options, "", *_disclosure(phrase("quiz.answers", lang=lang), answers)]


def _disclosure(summary: str, text: list[str]) -> list[str]:
    return ["<details>", f"<summary>{summary}</summary>", "", *text, "", "</details>"]


def page_notebook(project: Project, lesson: Lesson, values: Mapping[str, Mapping[str, Any]]) -> NotebookNode:
    """:func:`portable_notebook` with the headings and references of the project."""
    lang = lesson.lang
    pages = {slug: project.prose(lang, slug).read_text(encoding="utf-8") for slug in project.slugs(lang)}
    return portable_notebook(lesson, values, read_headings(pages), read_references(project.bibliography, lang))


def portable_notebook(
    lesson: Lesson,
    values: Mapping[str, Mapping[str, Any]],
    headings: Mapping[str, Heading],
    references: Mapping[str, Reference],
) -> NotebookNode:
    """The page as a plain notebook, with a first cell that sets its language.

    ``values`` are those that the page quotes, see :func:`~sistolica.lesson.execute.execute`; ``headings`` are the
    labels of every page in the language. Raises :class:`LessonError` for a role or directive that has no plain form.
    """
    writer = _Writer(lesson, values, headings, references)
    source = lesson.notebook()
    notebook: NotebookNode = v4.new_notebook(
        metadata={
            "kernelspec": source.metadata.kernelspec,
            "language_info": source.metadata.language_info,
            "sistolica": {"page": lesson.slug, "lang": lesson.lang},
        }
    )
    for segment, cell in zip(lesson.prose.segments, source.cells, strict=True):
        if cell.cell_type == "markdown":
            cell.source = writer.markdown(cell.source, segment.line)
        else:
            cell.metadata.pop("mystnb", None)
        notebook.cells.append(cell)
    if lesson.cells:
        notebook.cells.insert(_after_title(notebook), _language_cell(lesson.lang))
    nbformat.validate(notebook)
    return notebook


def _after_title(notebook: NotebookNode) -> int:
    """The set-up comes before the first code, after the prose that opens the page."""
    return next(index for index, cell in enumerate(notebook.cells) if cell.cell_type == "code")


def _language_cell(lang: str) -> NotebookNode:
    comment = phrase("notebook.setup", lang=lang)
    source = f'# {comment}\nfrom tpu_kernels import messages\n\nmessages.use("{lang}")'
    cell: NotebookNode = v4.new_code_cell(source, id="set_up")  # no cell of a lesson has an underscore
    return cell


def read_headings(pages: Mapping[str, str]) -> dict[str, Heading]:
    """Every label that stands before a heading, from the text of every page by slug."""
    found = {}
    for slug, text in pages.items():
        label = None
        for line in text.splitlines():
            if at := _LABEL.match(line):
                label = at["label"]
            elif line.startswith("#") and label:
                found[label] = Heading(slug, line.lstrip("#").strip())
                label = None
            elif line.strip():
                label = None
    return found
