"""From (prose, cells, language) to a notebook: the one reader that the site, the downloads and the labs share."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode, v4

from sistolica.lesson.cells import Cell, read_cells
from sistolica.lesson.errors import LessonError
from sistolica.lesson.prose import Markdown, Placement, Prose, find_roles, parse_prose, read_prose
from sistolica.lesson.quiz import Question, read_quiz
from sistolica.project import Project

KERNELSPEC = {"name": "python3", "display_name": "Python 3", "language": "python"}


@dataclass(frozen=True)
class Lesson:
    """One page in one language with all that it places."""

    slug: str
    lang: str
    prose: Prose
    cells: Mapping[str, Cell]
    questions: Mapping[str, Question]

    @property
    def shows_code(self) -> bool:
        """Whether the page has code that a reader sees, and would want as a notebook."""
        hidden = {"remove-input", "remove-cell"}
        return any(hidden.isdisjoint(placement.tags) for placement in self.prose.placements)

    def notebook(self) -> NotebookNode:
        """The page as a notebook, not run: code cells carry their name as id, alt texts and tags as metadata."""
        notebook: NotebookNode = v4.new_notebook()
        notebook.metadata = nbformat.from_dict(
            {
                **self.prose.front_matter,
                "kernelspec": dict(KERNELSPEC),
                "language_info": {"name": "python"},
                # MyST-NB reports warnings from these lines on; it counts from 0 and then adds 1 twice
                "source_map": [segment.line - 2 for segment in self.prose.segments],
            }
        )
        for index, segment in enumerate(self.prose.segments):
            notebook.cells.append(self._cell(index, segment))
        try:
            nbformat.validate(notebook)
        except nbformat.ValidationError as error:
            problem = f"front matter that no notebook can carry: {error.message}"
            raise LessonError(self.prose.path, 1, problem, "Correct it") from None
        return notebook

    def quoted(self) -> set[str]:
        """The names of the variables whose values the prose or a question quotes with ``{calc}``."""
        texts = [text for text, _ in self.prose.roles("calc")]
        for question in self.questions.values():
            spoken = [question.text, *(option.text for option in question.options)]
            spoken += [option.feedback for option in question.options]
            texts += [text for by_language in spoken for text in find_roles(by_language[self.lang], "calc")]
        return {text.split(":")[0] for text in texts}

    def _cell(self, index: int, segment: Markdown | Placement) -> NotebookNode:
        cell: NotebookNode
        if isinstance(segment, Markdown):
            cell = v4.new_markdown_cell(segment.text, id=f"prose-{index}")
            return cell
        cell = v4.new_code_cell(self.cells[segment.cell].for_language(self.lang), id=segment.cell)
        if segment.tags:
            cell.metadata["tags"] = list(segment.tags)
        if segment.alt:
            cell.metadata["mystnb"] = {"image": {"alt": segment.alt}}
        return cell


def read_lesson(project: Project, slug: str, lang: str, text: str | None = None) -> Lesson:
    """The page ``slug`` in ``lang``; ``text`` stands for the prose file when it is already in hand.

    Raises :class:`LessonError` when the prose and the script disagree: an unknown cell, a cell never used, one placed
    twice, a language missing; the same for quiz questions.
    """
    path = project.prose(lang, slug)
    prose = read_prose(path) if text is None else parse_prose(path, text)
    script = project.lessons / f"{slug}.py"
    cells = read_cells(script) if script.is_file() else {}
    quiz = project.lessons / f"{slug}.quiz.toml"
    questions = read_quiz(quiz)
    match_cells(prose, cells, script)
    _match(
        path,
        [(key, line) for key, line in prose.quiz_keys],
        {key: (quiz, question.line) for key, question in questions.items()},
        "question",
        quiz,
    )
    return Lesson(slug, lang, prose, cells, questions)


def match_cells(prose: Prose, cells: Mapping[str, Cell], script: Path) -> None:
    """Check that ``prose`` places each of ``cells`` exactly once; raises :class:`LessonError`."""
    _match(
        prose.path,
        [(placement.cell, placement.line) for placement in prose.placements],
        {name: (cell.path, cell.line) for name, cell in cells.items()},
        "cell",
        script,
    )


def _match(
    page: Path,
    placed: Iterable[tuple[str, int]],
    defined: Mapping[str, tuple[Path, int]],
    kind: str,
    source: Path,
) -> None:
    seen: dict[str, int] = {}
    for name, line in placed:
        if name not in defined:
            near = difflib.get_close_matches(name, defined, n=1)
            cure = f"Did you mean {near[0]!r}?" if near else f"Define it in {source.name} or place one that is there"
            raise LessonError(page, line, f"unknown {kind} {name!r}: {source.name} does not define it", cure)
        if name in seen:
            raise LessonError(
                page, line, f"{kind} {name!r} placed twice: line {seen[name]} has it already", "Keep one of the two"
            )
        seen[name] = line
    for name, (path, line) in defined.items():
        if name not in seen:
            raise LessonError(
                path,
                line,
                f"{kind} {name!r} is never used: {page} does not place it",
                f"Place it there or remove the {kind}",
            )
