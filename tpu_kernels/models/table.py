"""A small table that reads well in a terminal, on a page and through a screen reader."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

RIGHT = ' style="text-align:right"'


class TableCell(NamedTuple):
    """What a cell says, a longer ``title`` shown on hover, and whether it is a number (aligned to the right)."""

    text: str
    title: str | None = None
    numeric: bool = False


class Table:
    """Rows under headings with a caption. The first cell of each row is its header."""

    def __init__(self, caption: str, headings: Sequence[str], rows: Sequence[Sequence[TableCell]]) -> None:
        for row in rows:
            if len(row) != len(headings):
                raise ValueError(f"table row of {len(row)} cells under {len(headings)} headings; give one cell each")
        self.caption = caption
        self.headings = tuple(headings)
        self.rows = tuple(tuple(row) for row in rows)

    def __repr__(self) -> str:
        lines = [self.headings, *(tuple(cell.text for cell in row) for row in self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.headings))]
        right = [self._numeric(column) for column in range(len(widths))]
        aligned = [
            "  ".join(t.rjust(w) if r else t.ljust(w) for t, w, r in zip(line, widths, right, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([self.caption, aligned[0], "  ".join("-" * width for width in widths), *aligned[1:]])

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th scope="col"{RIGHT if column and self._numeric(column) else ""}>{_breakable(heading)}</th>'
            for column, heading in enumerate(self.headings)
        )
        body = "".join(f"<tr>{''.join(map(_html_cell, row, range(len(row))))}</tr>" for row in self.rows)
        caption = escape(self.caption)
        # A wide table scrolls inside its own region, which the keyboard must be able to reach; its caption stays.
        return (
            f'<div role="group" tabindex="0" aria-label="{caption}" style="overflow-x:auto;container-type:inline-size">'
            f'<table class="table"><caption style="text-align:start">'
            f'<span style="display:inline-block;position:sticky;left:0;max-width:100cqw">{caption}</span></caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def _numeric(self, column: int) -> bool:
        """Whether a column holds numbers only, so that its heading stands over them."""
        return bool(self.rows) and all(row[column].numeric for row in self.rows)


def _breakable(heading: str) -> str:
    """A heading, escaped, that may go on in another line behind a slash."""
    return escape(heading).replace("/", "/<wbr>")


def _html_cell(cell: TableCell, column: int) -> str:
    title = f' title="{escape(cell.title)}"' if cell.title else ""
    if column == 0:
        return f'<th scope="row"{title}>{escape(cell.text)}</th>'
    return f"<td{title}{RIGHT if cell.numeric else ''}>{escape(cell.text)}</td>"
