"""Reads a MyST page into a :class:`~sistolica.check.page.Page`, from the same token stream that the build parses.

The parser is MyST's own, with the extensions that ``_config.yml`` turns on, so the gate reads a page as the build does.
"""

import re
from collections.abc import Iterator, Mapping, MutableMapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from sistolica.check.address import peer_address
from sistolica.check.directive import CODE_BODY, LABEL_OPTIONS, NO_BODY, UNREADABLE, Directive, read_directive
from sistolica.check.inline_reader import InlineReader, add_alt, add_link, read_html
from sistolica.check.page import Heading, Item, Page
from sistolica.check.passage import plain_passage

# What Jupyter Book 1.0.4 turns on when _config.yml says nothing (jupyter_book/default_config.yml).
DEFAULT_EXTENSIONS = ("colon_fence", "dollarmath", "linkify", "substitution", "tasklist")
_IMAGES = frozenset({"figure", "image"})
_HASH_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))#(?=\s).*$")
_SPOKEN_FRONT_MATTER = frozenset({"title", "description", "keywords"})


def parser_for(settings: Mapping[str, Any]) -> MarkdownIt:
    """The MyST parser with the extensions that these settings of Jupyter Book turn on."""
    extensions = (settings.get("parse") or {}).get("myst_enable_extensions", DEFAULT_EXTENSIONS)
    return create_md_parser(MdParserConfig(enable_extensions=set(extensions)), RendererHTML)


def read_page(parser: MarkdownIt, path: Path, text: str, first_line: int = 1) -> Page:
    """Read MyST ``text`` that starts at ``first_line`` of ``path``."""
    page = Page(path)
    _Reader(parser, page).read(text, first_line, ())
    for found in (page.skeleton, page.labels, page.headings):
        found.sort(key=lambda thing: thing.line)
    return page


class _Reader:
    def __init__(self, parser: MarkdownIt, page: Page) -> None:
        self.parser = parser
        self.page = page
        self.environment: MutableMapping[str, Any] = {}

    def read(self, text: str, first_line: int, outside: tuple[str, ...]) -> None:
        """Read a stretch of text; ``outside`` names the directives around it."""
        tokens = self.parser.parse(text, self.environment)
        for before, token in pairwise([Token("start", "", 0), *tokens]):
            line = first_line + token.map[0] if token.map else first_line
            if token.type == "inline":
                where = "heading" if before.type == "heading_open" else "text"
                InlineReader(self.page, token, line).read(token.children or [], where)
            else:
                self._block(token, line, outside)
        self._headings(tokens, first_line)
        self._tables(tokens, first_line)

    def _block(self, token: Token, line: int, outside: tuple[str, ...]) -> None:
        skeleton = self.page.skeleton
        if token.type in ("fence", "colon_fence"):
            directive = read_directive(token.info, token.content, line)
            if directive is None:
                self._code(token.info, token.content, line)
            else:
                self._directive(directive, outside)
        elif token.type == "code_block":
            self._code("", token.content, line)
        elif token.type == "heading_open":
            skeleton.append(Item("heading", f"of level {token.tag[1]}", line))
        elif token.type == "myst_target":
            self._label(token.content, line)
        elif token.type in ("math_block", "math_block_label", "amsmath"):
            skeleton.append(Item("equation", token.content.strip("\n"), line))
            if token.type == "math_block_label":
                self._label(token.info, line)
        elif token.type == "html_block":
            read_html(self.page, token.content, line)
        elif token.type == "myst_block_break":
            skeleton.append(Item("break", f"+++ {token.content}".strip(), line))
        elif token.type == "footnote_reference_open":
            self.page.inline.append(Item("footnote", f"{token.meta['label']} (its text)", line))
        elif token.type == "front_matter":
            self._front_matter(token.content, line)

    def _directive(self, directive: Directive, outside: tuple[str, ...]) -> None:
        if directive.name == "code-cell":
            self._cell(directive)
            return
        if directive.name == "quiz":
            self.page.skeleton.append(Item("quiz", directive.argument, directive.line))
            return
        self.page.skeleton.append(_skeleton_item(directive, outside))
        if directive.bad_options or directive.name in UNREADABLE:
            self.page.unreadable.append(Item("directive", f"{{{directive.name}}}", directive.line))
            return
        self._words_around(directive)
        if directive.name in CODE_BODY:
            self._code(directive.argument, directive.body, directive.body_line)
        elif directive.name == "math":
            self.page.skeleton.append(Item("equation", directive.body.strip("\n"), directive.body_line))
        elif directive.name not in NO_BODY:
            self.read(directive.body, directive.body_line, (*outside, directive.name))

    def _words_around(self, directive: Directive) -> None:
        """The labels, links and words that stand in a directive's first line and options."""
        for option in LABEL_OPTIONS:
            if option in directive.options:
                self._label(directive.options[option], directive.option_line(option))
        if "link" in directive.options:
            add_link(self.page, directive.options["link"], directive.option_line("link"))
        for option, value in directive.options.items():
            if option in ("caption", "title", "header", "subtitle", "summary"):
                self.read(value, directive.option_line(option), ())
            elif option in ("alt", "aria-label"):
                add_alt(self.page, value, directive.option_line(option))
        if directive.shown_argument:
            self.read(directive.shown_argument, directive.line, ())

    def _cell(self, directive: Directive) -> None:
        name, alt = directive.options.get("cell", ""), directive.options.get("alt")
        self.page.skeleton.append(Item("cell", name, directive.line, alt, options=directive.neutral_options))
        add_alt(self.page, alt, directive.option_line("alt"))

    def _code(self, language: str, content: str, line: int) -> None:
        # a block of plain text may be a drawing with words in it; a block of code is the same but for its comments
        code = "" if language in ("", "text", "none") else _HASH_COMMENT.sub("", content)
        kept = [text.rstrip() for text in code.split("\n") if text.strip()]
        self.page.skeleton.append(Item("code", "\n".join([language, *kept]).strip(), line))

    def _label(self, name: str, line: int) -> None:
        self.page.labels.append(Item("label", name, line))
        self.page.skeleton.append(Item("label", name, line))

    def _front_matter(self, content: str, line: int) -> None:
        try:
            found = yaml.safe_load(content)
        except yaml.YAMLError:
            self.page.unreadable.append(Item("front matter", "that is not YAML", line))
            return
        for key, value in _leaves(found):
            self.page.skeleton.append(Item("front matter", key, line))
            if key.rpartition(".")[2].split(" ")[0] in _SPOKEN_FRONT_MATTER:
                passage = plain_passage(str(value), "title", line)
                self.page.passages += [passage] if passage else []

    def _headings(self, tokens: list[Token], first_line: int) -> None:
        labels: list[str] = []
        for token, following in pairwise([*tokens, Token("end", "", 0)]):
            if token.type == "myst_target":
                labels.append(token.content)
                continue
            if token.type == "heading_open" and token.map:
                line = first_line + token.map[0]
                self.page.headings.append(Heading(int(token.tag[1]), following.content, line, tuple(labels)))
            labels = []

    def _tables(self, tokens: list[Token], first_line: int) -> None:
        line = rows = columns = 0
        for token in tokens:
            if token.type == "table_open" and token.map:
                line, rows, columns = first_line + token.map[0], 0, 0
            rows += token.type == "tr_open"
            columns += token.type == "th_open"
            if token.type == "table_close":
                self.page.skeleton.append(Item("table", f"of {columns} columns and {rows} rows", line))


def _skeleton_item(directive: Directive, outside: tuple[str, ...]) -> Item:
    inside = f" inside {' > '.join(outside)}" if outside else ""
    argument = peer_address(directive.neutral_argument)
    return Item(
        "directive",
        f"{{{directive.name}}} {argument}".rstrip() + inside,
        directive.line,
        alt=directive.options.get("alt"),
        needs_alt=directive.name in _IMAGES,
        options=directive.neutral_options,
    )


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{key}.{name}" if key else str(name))
    else:
        yield key, value
