"""The notebook that runs: the master with the learner's answer cells put in, and nothing of theirs in place of a test.

Each cell handed in is one of: an *answer* (its ``grade_id`` is that of one of the master's answer cells), a *copy* of
another cell of the master (the master's own is used), or an *extra* of the learner's, which runs where they put it. Of
several answers the last stands and those before it run as extras, as running top to bottom would have it: an editor
that splits a cell gives both halves the same ``grade_id``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import nbformat
from nbformat import NotebookNode, v4

from graders.intake import Notice
from graders.notebook_file import UNRECOGNISED, SubmittedCell, SubmittedNotebook, UnreadableNotebookError
from tpu_kernels.messages import LANGUAGES

# Where a cell comes from, in its metadata ["sistolica"]["from"].
MASTER = "master"
ANSWER = "answer"
EXTRA = "extra"

_DEFINITION = re.compile(r"^(?:async\s+)?def\s+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Rebuilt:
    """The notebook to run, the language it speaks, and what was decided on the way."""

    notebook: NotebookNode
    lang: str
    notices: tuple[Notice, ...]


def rebuild(masters: Mapping[str, NotebookNode], submitted: SubmittedNotebook, default_lang: str) -> Rebuilt:
    """Put the answers of ``submitted`` into the master of its language.

    ``masters``: the release notebook in each language; their ``grade_id`` are the same. Raises
    :class:`UnreadableNotebookError` with ``UNRECOGNISED`` when no answer cell can be told apart.
    """
    lang = detect_language(masters, submitted, default_lang)
    master = masters[lang]
    notices: list[Notice] = []
    cells = submitted.cells
    if not any(cell.grade_id in _answer_ids(master) for cell in cells):
        cells = _recognised_by_definitions(master, cells)
        notices.append(Notice("by-definition"))
    sorting = _Sorting(masters, master, cells)
    notices += sorting.notices()
    notebook = nbformat.from_dict(master)
    notebook.cells = []
    notebook.cells += _extra_cells(sorting.extras_after(None))
    for cell in master.cells:
        placed = nbformat.from_dict(cell)
        placed.metadata.setdefault("sistolica", {})["from"] = MASTER
        grade_id = _grade_id(cell)
        if _is_answer(cell):
            placed.metadata.sistolica["from"] = ANSWER
            placed.source = sorting.answers[grade_id].source if grade_id in sorting.answers else ""
        notebook.cells.append(placed)
        notebook.cells += _extra_cells(sorting.extras_after(cell.id))
    notebook.metadata.setdefault("sistolica", {})["lang"] = lang
    nbformat.validate(notebook)
    return Rebuilt(notebook, lang, tuple(notices))


def detect_language(masters: Mapping[str, NotebookNode], submitted: SubmittedNotebook, default_lang: str) -> str:
    """The language of the release that the learner had: from the metadata, else from the prose, else the default."""
    if submitted.lang in LANGUAGES:
        return submitted.lang
    theirs = {_squeezed(cell.source) for cell in submitted.cells if cell.type == "markdown"}
    shared = {
        lang: sum(_squeezed(cell.source) in theirs for cell in master.cells if cell.cell_type == "markdown")
        for lang, master in masters.items()
    }
    best = max(shared, key=lambda lang: (shared[lang], lang == default_lang))
    return best if shared[best] else default_lang


class _Sorting:
    """Every handed-in code cell put in its class."""

    def __init__(
        self, masters: Mapping[str, NotebookNode], master: NotebookNode, cells: Sequence[SubmittedCell]
    ) -> None:
        self._master = master
        self._by_id = {_grade_id(cell): cell for cell in master.cells if _grade_id(cell)}
        self._by_name = {_name(cell): cell for cell in master.cells if _name(cell)}
        # What a cell of the master looks like in any language, to know a copy whose metadata is gone.
        self._by_text = {
            _squeezed(cell.source): cell.id
            for spoken in masters.values()
            for cell in spoken.cells
            if cell.cell_type == "code" and not _is_answer(cell)
        }
        self.answers: dict[str, SubmittedCell] = {}
        self._stands_after: dict[str, str | None] = {}
        self._extras: dict[str | None, list[SubmittedCell]] = {}
        self._copies: dict[str, list[int]] = {}
        self._changed: list[str] = []
        self._retyped: list[str] = []
        anchor: str | None = None
        for cell in cells:
            anchor = self._sort(cell, anchor)

    def _sort(self, cell: SubmittedCell, anchor: str | None) -> str | None:
        known = self._by_id.get(cell.grade_id or "") or self._by_name.get(cell.name or "")
        if known is not None and _is_answer(known):
            return self._sort_answer(cell, known, anchor)
        if known is not None and known.cell_type == "code":
            self._sort_copy(cell, known)
            return str(known.id)
        if cell.type != "code":
            return anchor
        text = _squeezed(cell.source)
        if text in self._by_text:
            return str(self._by_text[text])
        if text:
            self._extras.setdefault(anchor, []).append(cell)
        return anchor

    def _sort_answer(self, cell: SubmittedCell, known: NotebookNode, anchor: str | None) -> str:
        key = _grade_id(known)
        if key in self.answers:
            # Not after itself: the one that stands is the last, and this one came before it.
            self._extras.setdefault(self._stands_after[key], []).append(self.answers[key])
        else:
            self._stands_after[key] = anchor
        self.answers[key] = cell
        self._copies.setdefault(key, []).append(cell.number)
        if cell.type != "code":
            self._retyped.append(key)
        return str(known.id)

    def extras_after(self, anchor: str | None) -> list[SubmittedCell]:
        """The learner's own cells that run after the master's cell ``anchor`` (``None``: before any), in order."""
        return sorted(self._extras.get(anchor, []), key=lambda cell: cell.number)

    def _sort_copy(self, cell: SubmittedCell, known: NotebookNode) -> None:
        key = _grade_id(known) or _name(known)
        self._copies.setdefault(key, []).append(cell.number)
        if _squeezed(cell.source) in self._by_text or not cell.source.strip():
            return
        self._changed.append(key)
        if not _is_test(known) and cell.type == "code":  # say, an import added to the set-up cell: it runs after it
            self._extras.setdefault(str(known.id), []).append(cell)

    def notices(self) -> list[Notice]:
        found = []
        for key, numbers in self._copies.items():
            if len(numbers) > 1:
                cells = ", ".join(map(str, numbers))
                kind = "repeated-answer" if key in self.answers else "repeated-test"
                found.append(Notice(kind, {"cell": key, "numbers": cells}))
        found += [Notice("changed", {"cell": key}) for key in dict.fromkeys(self._changed)]
        found += [Notice("retyped", {"cell": key}) for key in dict.fromkeys(self._retyped)]
        found += [Notice("missing", {"cell": key}) for key in _answer_ids(self._master) if key not in self.answers]
        return found


def _recognised_by_definitions(master: NotebookNode, cells: Sequence[SubmittedCell]) -> tuple[SubmittedCell, ...]:
    """The cells with ``grade_id`` given back to those that define what an answer cell of the master defines."""
    defined = {
        name: _grade_id(cell) for cell in master.cells if _is_answer(cell) for name in _DEFINITION.findall(cell.source)
    }
    found = []
    for cell in cells:
        ids = [defined[name] for name in _DEFINITION.findall(cell.source) if name in defined]
        if ids and cell.type == "code":
            # One cell may answer several exercises; it stands, whole, where the first of them stands.
            found.append(SubmittedCell(cell.number, cell.type, cell.source, ids[0], None))
        else:
            found.append(cell)
    if not any(cell.grade_id in set(defined.values()) for cell in found):
        raise UnreadableNotebookError(UNRECOGNISED)
    return tuple(found)


def _extra_cells(cells: Sequence[SubmittedCell]) -> list[NotebookNode]:
    about = {"sistolica": {"from": EXTRA}}
    return [v4.new_code_cell(cell.source, id=f"extra-{cell.number}", metadata=about) for cell in cells]


def _answer_ids(master: NotebookNode) -> list[str]:
    return [_grade_id(cell) for cell in master.cells if _is_answer(cell)]


def _grade_id(cell: NotebookNode) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def _name(cell: NotebookNode) -> str:
    return str(cell.metadata.get("sistolica", {}).get("cell", ""))


def _is_answer(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution", False))


def _is_test(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("grade", False))


def _squeezed(source: str) -> str:
    """Text without what editors change on their own: blank lines and space at line ends."""
    return "\n".join(line.rstrip() for line in source.splitlines() if line.strip())
