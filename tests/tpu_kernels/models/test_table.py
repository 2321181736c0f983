from html.parser import HTMLParser

import pytest

from tpu_kernels.models.table import Table, TableCell

TABLE = Table(
    'Costs & "speeds"',
    ["Chip", "Rate"],
    [
        [TableCell("<b>v5e</b>"), TableCell("1,5", 'from "a" & <b>', numeric=True)],
        [TableCell("v5p"), TableCell("22,25", numeric=True)],
    ],
)


class Reader(HTMLParser):
    """Collects tags with their attributes, and the text."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_text_is_aligned_numbers_to_the_right() -> None:
    assert repr(TABLE).splitlines() == [
        'Costs & "speeds"',
        "Chip         Rate",
        "----------  -----",
        "<b>v5e</b>    1,5",
        "v5p         22,25",
    ]


def test_the_markup_names_headers_and_caption() -> None:
    page = Reader(TABLE._repr_html_())
    tags = [tag for tag, _ in page.tags]
    assert tags.count("caption") == tags.count("table") == 1
    assert [attributes["scope"] for tag, attributes in page.tags if tag == "th"] == ["col", "col", "row", "row"]
    assert page.tags[0][1]["tabindex"] == "0"  # a scrolling region must be reachable by keyboard


def test_the_caption_stays_while_its_table_scrolls() -> None:
    tags = Reader(TABLE._repr_html_()).tags
    inside = tags[[tag for tag, _ in tags].index("caption") + 1]
    assert inside[0] == "span"
    assert {"position:sticky", "left:0", "max-width:100cqw"} <= set((inside[1]["style"] or "").split(";"))
    assert "container-type:inline-size" in (tags[0][1]["style"] or "")


def test_a_heading_breaks_behind_a_slash_and_nothing_is_added_to_it() -> None:
    table = Table("", ["a", "<b>/c"], [])
    page = Reader(table._repr_html_())
    assert [tag for tag, _ in page.tags].count("wbr") == 1
    assert "".join(page.texts) == "a<b>/c"
    assert "<b>/c" in repr(table)


def test_the_heading_of_numbers_stands_over_them() -> None:
    page = Reader(TABLE._repr_html_())
    assert [attributes.get("style") for tag, attributes in page.tags if tag == "th"][:2] == [None, "text-align:right"]
    mixed = Table("", ["a", "b"], [[TableCell("x"), TableCell("1", numeric=True)], [TableCell("y"), TableCell("z")]])
    assert "style" not in [attributes for tag, attributes in Reader(mixed._repr_html_()).tags if tag == "th"][1]


def test_everything_is_escaped() -> None:
    markup = TABLE._repr_html_()
    page = Reader(markup)
    assert "b" not in [tag for tag, _ in page.tags]
    assert "<b>v5e</b>" in page.texts
    assert 'from "a" & <b>' in [attributes.get("title") for _, attributes in page.tags]
    assert page.tags[0][1]["aria-label"] == 'Costs & "speeds"'


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="1 cells under 2 headings"):
        Table("", ["a", "b"], [[TableCell("x")]])


def test_a_table_may_have_no_rows() -> None:
    assert repr(Table("Empty", ["a"], [])).splitlines()[1:] == ["a", "-"]
