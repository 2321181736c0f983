"""The one error of the lesson model: where it is, what is wrong, what to do."""

from pathlib import Path

from sistolica.faults import CourseError


class LessonError(CourseError):
    """A fault in a lesson's source.

    Attributes: ``file``, ``line`` (1-based), ``problem`` (what was got and what was expected), ``cure`` (what to do).
    """

    def __init__(self, file: Path, line: int, problem: str, cure: str) -> None:
        super().__init__(f"{file}:{line}: {problem}. {cure}")
        self.file = file
        self.line = line
        self.problem = problem
        self.cure = cure
