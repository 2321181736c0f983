"""Reads the inline tokens of one block (text, emphasis, links, roles, mathematics, images) with true line numbers."""

import re
from collections.abc import Sequence
from html.parser import HTMLParser

from markdown_it.token import Token

from sistolica.check.address import is_external, peer_address
from sistolica.check.page import Item, Page, Reference
from sistolica.check.passage import OPAQUE, PassageWriter, plain_passage

_VALUE_ROLES = frozenset({"spec", "calc"})
_LABEL_ROLES = frozenset({"ref", "numref", "eq"})
_FILE_ROLES = frozenset({"doc", "download"})
_OPAQUE_ROLES = frozenset({"code", "kbd", "math"})
_TITLED = re.compile(r"(?P<title>.*?)\s*<(?P<target>[^<>]+)>\s*", re.DOTALL)
_FOREIGN_TAGS = frozenset({"em", "i", "cite"})
_VOID_TAGS = frozenset({"br", "hr", "img", "input", "wbr"})
_BREAKS = frozenset({"softbreak", "hardbreak"})


class InlineReader:
    """Reads one inline token into ``page``; its prose becomes one passage."""

    def __init__(self, page: Page, token: Token, first_line: int) -> None:
        self.page = page
        self.writer = PassageWriter()
        self._source = token.content
        self._cursor = 0
        self._first = first_line
        self._spans: list[bool] = []
        self._bare_address = False

    @property
    def line(self) -> int:
        return self._first + self._source.count("\n", 0, self._cursor)

    def read(self, tokens: Sequence[Token], where: str) -> None:
        """Read every token and close the passage."""
        for token in tokens:
            self._token(token)
        passage = self.writer.passage(where)
        if passage is not None:
            self.page.passages.append(passage)

    def _token(self, token: Token) -> None:
        if token.type == "text":
            self.writer.write(OPAQUE if self._bare_address else token.content, self.line)
        elif token.type in _BREAKS:
            self.writer.write(" ", self.line)
            self._cursor = self._source.find("\n", self._cursor) + 1 or self._cursor
        elif token.type in ("em_open", "span_open"):
            self._open(foreign=token.type == "em_open" or "lang" in token.attrs)
        elif token.type == "link_open":
            self._link(str(token.attrs.get("href", "")))
            self._bare_address = token.info == "auto"
        elif token.type in ("em_close", "span_close", "link_close"):
            self._close()
            self._bare_address = False
        elif token.type == "html_inline":
            self._html(token)
        elif token.type == "image":
            self._image(token)
        else:
            self._opaque(token)

    def _open(self, *, foreign: bool) -> None:
        self._spans.append(foreign)
        if foreign:
            self.writer.open_foreign()

    def _close(self) -> None:
        if self._spans and self._spans.pop():
            self.writer.close_foreign()

    def _link(self, target: str) -> None:
        add_link(self.page, target, self.line)
        self._open(foreign=is_external(target))  # the title of an outside page stays in its own language

    def _html(self, token: Token) -> None:
        line = self._advance(token.content)
        if token.content.startswith('<input class="task-list-item-checkbox"'):
            return  # put there by the task list plug-in, not by the author
        if token.content.startswith("</"):
            self._close()
        for tag, attributes in read_html(self.page, token.content, line):
            if tag not in _VOID_TAGS:
                self._open(foreign=tag in _FOREIGN_TAGS or "lang" in attributes)

    def _image(self, token: Token) -> None:
        alt = " ".join(token.content.split())
        source = str(token.attrs.get("src", ""))
        self.page.skeleton.append(Item("image", peer_address(source), self.line, alt, needs_alt=True))
        add_alt(self.page, alt, self.line)
        self._advance(token.content)
        self.writer.write(OPAQUE, self.line)

    def _opaque(self, token: Token) -> None:
        line = self._advance(token.content)
        if token.type == "myst_role":
            self._role(str(token.meta["name"]), token.content, line)
            return
        if token.type.startswith("math_inline"):
            self.page.inline.append(Item("equation", token.content, line))
        elif token.type == "footnote_ref":
            self.page.inline.append(Item("footnote", str(token.meta["label"]), line))
        elif token.type == "substitution_inline":
            self.page.inline.append(Item("role", f"{{{{{token.content}}}}}", line))
        self.writer.write(OPAQUE, self.line)

    def _role(self, name: str, content: str, line: int) -> None:
        titled = _TITLED.fullmatch(content)
        title, target = (titled["title"], titled["target"]) if titled else ("", content)
        shown = title or OPAQUE
        if name in _VALUE_ROLES:
            self.page.inline.append(Item("role", f"{{{name}}}`{content}`", line))
        elif "cite" in name:
            self.page.inline += [Item("citation", key.strip(), line) for key in content.split(",")]
        elif name in _LABEL_ROLES or name in _FILE_ROLES:
            add_link(self.page, f"#{target}" if name in _LABEL_ROLES else target, line)
        elif name in _OPAQUE_ROLES:
            self.page.inline.append(Item("equation" if name == "math" else "role", content, line))
        else:  # a role around words, such as {abbr}: the words are prose, the role is structure
            self.page.inline.append(Item("role", f"{{{name}}}", line))
            shown = content
        self.writer.write(shown, self.line)

    def _advance(self, content: str) -> int:
        """Step over ``content`` in the source, which may break lines where the token has spaces; its first line."""
        words = content.split()
        if not words:
            return self.line
        found = re.compile(r"\s+".join(map(re.escape, words))).search(self._source, self._cursor)
        if found is None:
            return self.line
        self._cursor = found.start()
        line = self.line
        self._cursor = found.end()
        return line


def add_link(page: Page, target: str, line: int) -> None:
    """Record a link, and where it points when that is inside the course."""
    page.links.append(Item("link", peer_address(target), line))
    if not is_external(target):
        page.references.append(Reference(target, line))


def add_alt(page: Page, alt: str | None, line: int) -> None:
    """The text alternative is prose too."""
    passage = plain_passage(alt, "alt", line) if alt else None
    if passage is not None:
        page.passages.append(passage)


class _TagReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str], int]] = []
        self.texts: list[tuple[str, int]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}, self.getpos()[0]))

    def handle_data(self, data: str) -> None:
        self.texts.append((data, self.getpos()[0]))


def read_html(page: Page, source: str, line: int) -> list[tuple[str, dict[str, str]]]:
    """Record the tags, links, images and words of raw HTML that starts at ``line``; the opening tags."""
    reader = _TagReader()
    reader.feed(source)
    reader.close()
    for tag, attributes, row in reader.tags:
        at = line + row - 1
        if tag == "img":
            alt = attributes.get("alt")
            page.skeleton.append(Item("image", peer_address(attributes.get("src", "")), at, alt, needs_alt=True))
            add_alt(page, alt, at)
        else:
            page.skeleton.append(Item("html", f"<{tag}>", at))
        if "href" in attributes:
            add_link(page, attributes["href"], at)
        for name in ("aria-label", "title"):
            add_alt(page, attributes.get(name), at)
    for text, row in reader.texts:
        passage = plain_passage(text, "text", line + row - 1)
        if passage is not None:
            page.passages.append(passage)
    return [(tag, attributes) for tag, attributes, _ in reader.tags]
