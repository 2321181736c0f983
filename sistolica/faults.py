"""What the command line tells in one line instead of a traceback."""


class CourseError(Exception):
    """A fault of the course's sources, or of how a command was called; its message says what to do."""
