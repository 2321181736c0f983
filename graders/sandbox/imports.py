"""What a lab's own cells import: a zygote may import it for all learners."""

import ast
from collections.abc import Iterable

from nbformat import NotebookNode


def imported(notebooks: Iterable[NotebookNode]) -> list[str]:
    """Modules that the cells of released notebooks import at top level, in order, each once; never of ``graders``."""
    found: dict[str, None] = {}
    for notebook in notebooks:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                found.update(dict.fromkeys(_of(cell.source)))
    return [name for name in found if name.partition(".")[0] != "graders"]


def _of(source: str) -> Iterable[str]:
    try:
        statements = ast.parse(source).body
    except SyntaxError:  # a magic, say: the learner's process imports what the cell needs
        return
    for statement in statements:
        match statement:
            case ast.Import():
                yield from (alias.name for alias in statement.names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
                # The name may be a module too; the zygote does without what it cannot import.
                yield from (f"{module}.{alias.name}" for alias in statement.names)
