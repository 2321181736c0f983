"""The bibliography: entries of ``book/references.bib`` written for a reader of one language.

The styles that come with pybtex say "and" and "visited on" to everybody.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pybtex.database import Entry, Person, parse_file
from pybtex.exceptions import PybtexError
from pybtex.richtext import Text

from sistolica.lesson.errors import LessonError
from sistolica.phrases import phrase

_PUBLISHED_IN = ("journal", "booktitle", "institution", "publisher", "howpublished")


@dataclass(frozen=True)
class Reference:
    """What a reference says, in order: ``authors. title. where. address note``; ``title`` brings its full stop."""

    authors: str
    title: str
    where: str
    address: str | None
    note: str | None

    def markdown(self) -> str:
        """One line of plain Markdown."""
        line = f"{self.authors}. *{self.title}* {self.where}."
        return f"{line} <{self.address}> {self.note}" if self.address else line


def reference(entry: Entry, lang: str) -> Reference:
    """An entry of any kind, for a reader of ``lang``; raises :class:`LessonError` for one that lacks a part."""
    fields = entry.fields
    for part, there in (
        ("author", "author" in entry.persons),
        ("title", "title" in fields),
        ("urldate", "url" not in fields or "urldate" in fields),
    ):
        if not there:
            raise LessonError(Path("references.bib"), 1, f"reference {entry.key!r} has no {part}", f"Add its {part}")
    published = [_plain(fields[name]) for name in _PUBLISHED_IN if name in fields][:1]
    address = fields.get("url")
    return Reference(
        authors=_authors(entry.persons["author"], lang),
        title=_ended(_plain(fields["title"])),
        where=", ".join([*published, fields.get("year") or phrase("reference.undated", lang=lang)]),
        address=address,
        note=phrase("reference.read", lang=lang, date=fields["urldate"]) if address else None,
    )


@cache
def read_references(path: Path, lang: str) -> dict[str, Reference]:
    """Every entry of a BibTeX file by key."""
    try:
        entries = parse_file(str(path)).entries if path.is_file() else {}
    except PybtexError as error:
        raise LessonError(path, 1, f"not BibTeX: {error}", "Correct it") from None
    return {key: reference(entry, lang) for key, entry in entries.items()}


def _authors(people: list[Person], lang: str) -> str:
    names = [_name(person) for person in people if str(person) != "others"]
    line = ", ".join(names)
    return line + phrase("reference.others", lang=lang) if len(names) < len(people) else line


def _name(person: Person) -> str:
    parts = [*person.first_names, *person.middle_names, *person.prelast_names, *person.last_names]
    return _plain(" ".join(parts))


def _ended(title: str) -> str:
    return title if title.endswith(("?", "!", ".")) else f"{title}."


def _plain(latex: str) -> str:
    return str(Text.from_latex(latex))
