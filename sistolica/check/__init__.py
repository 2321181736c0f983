"""The checks of the text: parity of the two languages, terms, and settings that break a published book.

They read sources only, need no build and no network, and run in seconds. Every fault names file, line, what was got,
what was expected and what to do; the order is always the same. Each module's docstring says which failure gave birth to
it and what it cannot see.
"""

from rich.console import Console

from sistolica.check.fault import Fault, Outcome
from sistolica.check.report import print_outcome
from sistolica.check.run import run
from sistolica.project import Project

__all__ = ["Fault", "Outcome", "command", "print_outcome", "run"]


def command(project: Project, console: Console) -> int:
    """Run the checks and print the outcome; the exit status is 1 when there is a fault."""
    outcome = run(project)
    print_outcome(outcome, console)
    return 0 if outcome.sound else 1
