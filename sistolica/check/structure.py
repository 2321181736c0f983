"""Rules that one page must keep in either language: its outline, its labels, and pointers that lead somewhere.

Born of books whose pages had two titles or skipped levels (a screen reader's outline breaks), of headings with accents
whose automatic anchors depend on the renderer, of repeated headings that became ``#id1``, and of references broken by a
renamed label. A page in Spanish and its peer share labels, so a label without language is what the language switch and
every link rely on.

It cannot see anchors that Sphinx makes by itself, targets in generated pages, or whether an outside address answers.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from sistolica.check.fault import Findings
from sistolica.check.page import Page

_LABEL = re.compile(r"[a-z0-9]+(?:[-:._][a-z0-9]+)*")
_LABELLED_LEVELS = (1, 2)
_INTERNAL_SCHEME = re.compile(r"(?:project|path):")
_PAGE_SUFFIXES = ("", ".md", ".ipynb")


def check_outline(page: Page, findings: Findings, *, labelled: bool = True) -> None:
    """One title, first; no skipped level; a label on each heading of level 1 and 2, and on repeated headings.

    ``labelled`` is false for a lab: its prose becomes a notebook, where a label would show as text.
    """

    def fault(line: int, got: str, expected: str, cure: str) -> None:
        findings.add("outline", page.path, line, got=got, expected=expected, cure=cure)

    titles = [heading for heading in page.headings if heading.level == 1]
    if not titles:
        fault(1, "a page without a heading of level 1", "one, as its title", "Give the page a title")
    for heading in titles[1:]:
        fault(heading.line, "a second heading of level 1", "one a page", "Lower it to level 2")
    times = Counter(heading.text for heading in page.headings)
    previous = 0
    for heading in page.headings:
        if heading.level > previous + 1 and (previous or titles):
            fault(
                heading.line,
                f"level {heading.level} after level {previous}" if previous else f"level {heading.level} first",
                f"level {previous + 1}" if previous else "the title first",
                "Do not skip a level: screen readers read the outline",
            )
        previous = heading.level
        wants_label = heading.level in _LABELLED_LEVELS or times[heading.text] > 1
        if labelled and wants_label and not heading.labels:
            fault(
                heading.line,
                f"heading {heading.text!r} without a label",
                "an explicit label on the line above",
                "Write (part-page-section)= there, the same in both languages",
            )


def check_labels(page: Page, findings: Findings) -> None:
    """Labels are plain ASCII in small letters, so that they fit both languages and any address."""
    for label in page.labels:
        if not _LABEL.fullmatch(label.key):
            findings.add(
                "label",
                page.path,
                label.line,
                got=f"label {label.key!r}",
                expected="small letters and digits without accents, joined by hyphens",
                cure="Rename it in both languages",
            )


def refuse_unreadable(page: Page, findings: Findings) -> None:
    """What the page reader cannot follow is a fault: a gate that cannot read must not pass."""
    for item in page.unreadable:
        findings.add(
            "unreadable",
            page.path,
            item.line,
            got=f"{item}, which this check cannot read",
            expected="MyST that it can",
            cure="Write it in plain MyST; correct the options when they are not key: value",
        )


def check_tree(pages: Sequence[Page], root: Path, findings: Findings) -> None:
    """Labels are unique among the pages of one language, and every pointer inside the course leads somewhere."""
    first: dict[str, tuple[Page, int]] = {}
    for page in pages:
        for label in page.labels:
            if label.key in first:
                other, line = first[label.key]
                findings.add(
                    "label",
                    page.path,
                    label.line,
                    got=f"label {label.key!r}, which {findings.name(other.path)}:{line} has already",
                    expected="each label once in a language",
                    cure="Rename one of the two, in both languages",
                )
            else:
                first[label.key] = (page, label.line)
    for page in pages:
        for reference in page.references:
            findings.count("references inside the course")
            if not _leads_somewhere(reference.target, page.path, root, first):
                findings.add(
                    "reference",
                    page.path,
                    reference.line,
                    got=f"a pointer to {reference.target!r}",
                    expected="a label or a file of the course",
                    cure=_nearest(reference.target, first),
                )


def _leads_somewhere(target: str, page: Path, root: Path, labels: Mapping[str, object]) -> bool:
    address, _, anchor = _INTERNAL_SCHEME.sub("", target).partition("#")
    if not address:
        return anchor in labels
    if address in labels:
        return True
    base = root / address.lstrip("/") if address.startswith("/") else page.parent / address
    return any(base.with_name(base.name + suffix).is_file() for suffix in _PAGE_SUFFIXES) and (
        not anchor or anchor in labels
    )


def _nearest(target: str, labels: Iterable[str]) -> str:
    near = get_close_matches(target.lstrip("#"), list(labels), n=1)
    return f"Did you mean {near[0]!r}?" if near else "Correct it, or add the label"
