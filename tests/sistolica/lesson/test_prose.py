"""Prose: split at its cells with nothing lost, and every fault with its place and its cure."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sistolica.lesson import LessonError, Markdown, Placement, parse_prose, read_prose


@pytest.fixture
def page(tmp_path):
    return tmp_path / "page.md"


def fault(path, text):
    with pytest.raises(LessonError) as caught:
        parse_prose(path, text)
    return caught.value


PAGE = """\
---
myst:
  html_meta:
    description: Hola
---
(label)=
# Título

```{code-cell}
:cell: first
:alt: un gráfico: sube
:tags: hide-cell, full-width
```
Al final {calc}`gap:.1f` y {spec}`v5e.clock`.

```{quiz} weights-stay
```

:::{solution}
Texto con {calc}`time`.
:::
"""


def test_a_page_is_split_at_its_cells(page):
    prose = parse_prose(page, PAGE)

    opening, cell, rest = prose.segments
    assert prose.front_matter == {"myst": {"html_meta": {"description": "Hola"}}}
    assert opening == Markdown("(label)=\n# Título", 6)
    assert cell == Placement("first", 9, "un gráfico: sube", ("hide-cell", "full-width"))
    assert isinstance(rest, Markdown)
    assert (rest.line, rest.text.split("\n")[-1]) == (14, ":::")
    assert prose.placements == [cell]
    assert prose.quiz_keys == (("weights-stay", 16),)


def test_roles_are_found_with_their_lines(page):
    prose = parse_prose(page, PAGE)
    assert prose.roles("calc") == [("gap:.1f", 14), ("time", 20)]
    assert prose.roles("spec") == [("v5e.clock", 14)]
    assert prose.roles("ref") == []


def test_cells_may_follow_each_other_and_open_and_close_a_page(page):
    place = "```{code-cell}\n:cell: %s\n```\n"
    prose = parse_prose(page, place % "a" + place % "b" + "\n" + place % "c")
    assert prose.segments == (
        Placement("a", 1, None, ()),
        Placement("b", 4, None, ()),
        Placement("c", 8, None, ()),
    )


@pytest.mark.parametrize("text", ["", "\n", "\n \n\t\n", "---\n---\n", "---\n\n---"])
def test_a_page_with_nothing_to_say_has_no_segments(page, text):
    prose = parse_prose(page, text)
    assert (prose.segments, dict(prose.front_matter)) == ((), {})


class TestBlocks:
    @pytest.mark.parametrize(
        "text",
        [
            "```python\n```{code-cell}\n```",  # inside a plain block it is an example
            "~~~\n```{code-cell}\n:cell: a\n```\n~~~",
            "````markdown\n```{code-cell}\n:cell: a\n```\n````",
            "```x``` is code inside a sentence\n\nand this goes on",
            "    ```{code-cell}",  # four spaces make a code block of it
            "a line with ``` inside",
            "::: nothing\ntext\n:::",
            "::::{admonition} A\n:::{note}\nx\n:::\n::::",
            "```\n````",  # a longer one closes
            "```text\n   ```   ",
        ],
    )
    def test_what_is_not_a_placement_stays_as_it_is(self, page, text):
        assert parse_prose(page, text).segments == (Markdown(text.rstrip(), 1),)

    @pytest.mark.parametrize("fence", ["```", "````", "~~~", ":::", "::::"])
    @pytest.mark.parametrize("indent", ["", " ", "   "])
    def test_every_fence_of_myst_places_a_cell(self, page, fence, indent):
        prose = parse_prose(page, f"{indent}{fence}{{code-cell}}\n:cell: a\n{indent}{fence}\n")
        assert prose.placements == [Placement("a", 1, None, ())]

    def test_a_shorter_fence_does_not_close_a_longer_one(self, page):
        prose = parse_prose(page, "````\n```\n```{code-cell}\n:cell: a\n```\n````\n")
        assert prose.placements == []


class TestFaults:
    @pytest.mark.parametrize(
        ("text", "line", "problem", "cure"),
        [
            ("x\n\n```{code-cell}\n```", 3, "names no cell", ":cell:"),
            ("```{code-cell}\n:cell:\n```", 1, "names no cell", ":cell:"),
            ("```{code-cell} python\n:cell: a\n```", 1, "with an argument: '{code-cell} python'", ":cell:"),
            ("```{code-cell}\n:cell: a\n\nprint(1)\n```", 4, "code in the prose: 'print(1)'", "script"),
            ("```{code-cell}\n:cell: a\n:colour: red\n```", 3, "unknown option 'colour'", "alt, cell, tags"),
            ("```{code-cell}\n:cell: a\n:cell: b\n```", 3, "option 'cell' given twice", "one of the two"),
            ("```{code-cell}\n:cell: a\n:alt:\n```", 1, "empty :alt:", "what the image shows"),
            ("```{code-cell}\n:cell: a\n:tags: hide-cel\n```", 1, "unknown tag 'hide-cel'", "hide-cell"),
            ("```{code-cell}\n:cell: a\n:tags: raises-exception\n```", 1, "unknown tag", "hide-cell"),
            ("```{code-cell}\n:cell: a\n:tags: skip-execution\n```", 1, "unknown tag", "hide-cell"),
            ("x\n```{code-cell}\n:cell: a\n", 2, "opened with ``` is never closed", "line ```"),
            ("````\n```\n", 1, "opened with ```` is never closed", "line ````"),
            (":::{note}\nx\n```\n", 1, "opened with ::: is never closed", "line :::"),
            ("```{quiz}\n```", 1, "without a question key", "{quiz}"),
            ("\n```{quiz} a\n¿Cuánto?\n```", 2, "quiz 'a' has text here", "quiz file"),
            (":::{note}\n```{code-cell}\n:cell: a\n```\n:::", 2, "{code-cell} inside another block", "top level"),
            (":::{note}\ntext\n\n```{quiz} a\n```\n:::", 4, "{quiz} inside another block", "top level"),
            ("::::{a}\n:::{b}\n~~~{code-cell}\n~~~\n:::\n::::", 3, "inside another block", "top level"),
            ("---\ntitle: x\n", 1, "never closed", "---"),
            ("---\na: b: c\n---\n", 1, "not YAML", "Correct"),
            ("---\n- a\n---\n", 1, "not a table", "Correct"),
        ],
    )
    def test_each_names_its_line_and_what_to_do(self, page, text, line, problem, cure):
        error = fault(page, text)
        assert (error.file, error.line) == (page, line)
        assert problem in error.problem
        assert cure in error.cure

    def test_a_missing_page_is_a_missing_language(self, page):
        with pytest.raises(LessonError, match=r"missing in its language.*both languages") as caught:
            read_prose(page)
        assert (caught.value.file, caught.value.line) == (page, 1)

    def test_bytes_that_are_not_utf_8(self, page):
        page.write_bytes("a\nseñal".encode("latin-1"))
        with pytest.raises(LessonError, match="UTF-8") as caught:
            read_prose(page)
        assert caught.value.line == 2


class TestBytesOnDisk:
    @pytest.mark.parametrize(
        "written",
        [
            PAGE.replace("\n", "\r\n").encode(),
            PAGE.replace("\n", "\r").encode(),
            b"\xef\xbb\xbf" + PAGE.encode(),
            PAGE.rstrip("\n").encode(),
        ],
        ids=["crlf", "cr", "bom", "no-final-newline"],
    )
    def test_the_same_page_comes_out(self, page, written):
        page.write_bytes(written)
        assert read_prose(page) == parse_prose(page, PAGE)

    def test_text_in_hand_may_have_any_line_ends(self, page):
        assert parse_prose(page, PAGE.replace("\n", "\r\n")) == parse_prose(page, PAGE)

    @pytest.mark.parametrize("mark", ["\x0c", "\x85", "\u2028"])
    def test_marks_that_are_not_line_ends_move_no_line_number(self, page, mark):
        prose = parse_prose(page, f"a{mark}b\n```{{code-cell}}\n:cell: a\n```\n")
        assert prose.segments == (Markdown(f"a{mark}b", 1), Placement("a", 2, None, ()))


def test_dates_in_the_front_matter_become_text(page):
    prose = parse_prose(page, "---\ndate: 2026-11-30\n---\n# T\n")
    assert json.loads(json.dumps(prose.front_matter)) == {"date": "2026-11-30"}


words = st.text(string.ascii_letters + " áñç#*$%\u2028\x0c", max_size=20)
plain_lines = st.one_of(
    words,
    st.sampled_from(
        ["", "# Título", "- punto", "> cita", "1. uno", "$$", "`code`", "```x``` y", "\\frac", "| a | b |"]
    ),
)
names = st.from_regex(r"[a-z][a-z0-9]{0,5}(-[a-z0-9]{1,4})?", fullmatch=True)
directives = st.builds("```{{note}}\n{}\n```".format, st.lists(words, max_size=3).map("\n".join))
placements = st.builds(
    lambda name, alt, tags: Placement(name, 0, alt, tuple(tags)),
    names,
    st.none() | words.map(str.strip).filter(bool),
    st.lists(st.sampled_from(["hide-cell", "full-width"]), unique=True),
)
blocks = st.lists(st.one_of(plain_lines, directives, placements), max_size=12)


def written(placement):
    options = [f":cell: {placement.cell}"]
    if placement.alt is not None:
        options.append(f":alt: {placement.alt}")
    if placement.tags:
        options.append(f":tags: {', '.join(placement.tags)}")
    return "\n".join(["```{code-cell}", *options, "```"])


def text_of(parts):
    return "\n".join(written(part) if isinstance(part, Placement) else part for part in parts)


def opens_front_matter(parts):
    return text_of(parts).split("\n")[0].rstrip() == "---"


@given(blocks.filter(lambda parts: not opens_front_matter(parts)))
def test_no_text_is_lost_and_every_line_is_where_it_says(tmp_path_factory, parts):
    text = text_of(parts)
    lines = text.split("\n")

    prose = parse_prose(tmp_path_factory.getbasetemp() / "p.md", text)

    found = []
    for segment in prose.segments:
        if isinstance(segment, Markdown):
            first = segment.text.split("\n")
            assert lines[segment.line - 1 : segment.line - 1 + len(first)][:-1] == first[:-1]
            assert lines[segment.line - 2 + len(first)].rstrip() == first[-1]
            found += first
        else:
            assert lines[segment.line - 1] == "```{code-cell}"
            found += written(segment).split("\n")
    wanted = [line.rstrip() for line in lines if line.strip()]
    assert [line.rstrip() for line in found if line.strip()] == wanted


@given(blocks)
def test_the_cells_of_a_page_come_out_in_order(tmp_path_factory, parts):
    prose = parse_prose(tmp_path_factory.getbasetemp() / "p.md", "# T\n" + text_of(parts))
    wanted = [part for part in parts if isinstance(part, Placement)]
    assert [(p.cell, p.alt, p.tags) for p in prose.placements] == [(p.cell, p.alt, p.tags) for p in wanted]


@given(blocks.filter(lambda parts: not opens_front_matter(parts)))
def test_a_page_written_again_from_its_segments_reads_the_same(tmp_path_factory, parts):
    path = tmp_path_factory.getbasetemp() / "p.md"
    once = parse_prose(path, text_of(parts))
    joined = "\n\n".join(s.text if isinstance(s, Markdown) else written(s) for s in once.segments)
    if joined.split("\n")[0].rstrip() == "---":
        return

    again = parse_prose(path, joined)

    def content(prose):
        return [s.text if isinstance(s, Markdown) else (s.cell, s.alt, s.tags) for s in prose.segments]

    assert content(again) == content(once)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_by_name(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "p.md"
    try:
        parse_prose(path, text)
    except LessonError as error:
        assert error.file == path
        assert 1 <= error.line <= text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
