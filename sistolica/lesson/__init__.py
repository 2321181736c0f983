"""The lesson model: code once, prose in each language, one reader that turns both into a notebook."""

from sistolica.lesson.cells import Cell, read_cells
from sistolica.lesson.errors import LessonError
from sistolica.lesson.notebook import Lesson, read_lesson
from sistolica.lesson.prose import Markdown, Placement, Prose, parse_prose, read_prose
from sistolica.lesson.quiz import Option, Question, read_quiz

__all__ = [
    "Cell",
    "Lesson",
    "LessonError",
    "Markdown",
    "Option",
    "Placement",
    "Prose",
    "Question",
    "parse_prose",
    "read_cells",
    "read_lesson",
    "read_prose",
    "read_quiz",
]
