"""Named cells: what is read, what each language sees, and every fault with its place and its cure."""

import ast
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sistolica.lesson import Cell, LessonError, read_cells
from tpu_kernels.messages import LANGUAGES


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "page.py"

    def write(text):
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return path

    return write


def fault(path):
    with pytest.raises(LessonError) as caught:
        read_cells(path)
    return caught.value


def test_cells_are_read_in_order_with_their_lines_and_options(script):
    path = script('# for contributors\n\n# %% one\na = 1\n\n# %% two timeout="60"\n\nb = 2\n\n\n')

    cells = read_cells(path)

    assert list(cells) == ["one", "two"]
    assert cells["one"] == Cell("one", path, 3, {}, "a = 1")
    assert cells["two"] == Cell("two", path, 6, {"timeout": "60"}, "b = 2")


def test_a_lab_says_which_exercise_a_cell_checks(script):
    assert read_cells(script('# %% a check="blocked" timeout="9"\nx\n'))["a"].options == {
        "check": "blocked",
        "timeout": "9",
    }


def test_each_language_sees_its_own_comments_as_ordinary_ones(script):
    source = "# %% a\n#es hola\n#pt olá\nif x:\n    #es sí\n    #pt sim\n    # both\n    y = 1  # noqa\n"
    cell = read_cells(script(source))["a"]

    assert cell.for_language("es") == "# hola\nif x:\n    # sí\n    # both\n    y = 1  # noqa"
    assert cell.for_language("pt") == "# olá\nif x:\n    # sim\n    # both\n    y = 1  # noqa"


@pytest.mark.parametrize("text", ["#es\n#pt\nx", "#es \n#pt \nx"])
def test_a_spoken_line_may_be_empty(script, text):
    cell = read_cells(script(f"# %% a\n{text}"))["a"]
    assert cell.for_language("es") == cell.for_language("pt") == "#\nx"


def test_a_tab_may_follow_the_language(script):
    cell = read_cells(script("# %% a\n#es\thola\n#pt\tolá\nx"))["a"]
    assert cell.for_language("pt") == "# olá\nx"


@pytest.mark.parametrize("word", ["#esto es código", "#ptr", "#español", "# es hola", "#es_x"])
def test_a_comment_that_only_begins_like_a_language_belongs_to_everybody(script, word):
    cell = read_cells(script(f"# %% a\n{word}\nx"))["a"]
    assert cell.for_language("es") == cell.for_language("pt") == f"{word}\nx"


class TestBytesOnDisk:
    PLAIN = "# %% one\na = 'ñ'\n#es x\n#pt y\nb\n\n# %% two\nc\n"

    @pytest.mark.parametrize(
        "written",
        [
            PLAIN.replace("\n", "\r\n").encode(),
            PLAIN.replace("\n", "\r").encode(),
            b"\xef\xbb\xbf" + PLAIN.encode(),
            b"\xef\xbb\xbf" + PLAIN.replace("\n", "\r\n").encode(),
            PLAIN.rstrip("\n").encode(),
            PLAIN.replace("# %% two", "# %% two  \t").encode(),
        ],
        ids=["crlf", "cr", "bom", "bom-crlf", "no-final-newline", "blanks-after-the-name"],
    )
    def test_the_same_cells_come_out(self, script, written):
        def read(source):
            return [(c.name, c.line, c.source, c.for_language("es")) for c in read_cells(script(source)).values()]

        assert read(written) == read(self.PLAIN)

    @pytest.mark.parametrize(
        "empty", [b"", b"\n\n", b"\xef\xbb\xbf", b"# only a comment", b'"""Only a docstring."""\n']
    )
    def test_a_file_without_cells_has_none(self, script, empty):
        assert read_cells(script(empty)) == {}

    @pytest.mark.parametrize("mark", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028", "\u2029"])
    def test_marks_that_are_not_line_ends_stay_inside_their_line(self, script, mark):
        cells = read_cells(script(f"# %% a\nx = '{mark}'\n\n# %% b\ny\n"))
        assert cells["a"].for_language("es") == f"x = '{mark}'"
        assert cells["b"].line == 4

    def test_tabs_of_the_code_stay(self, script):
        cell = read_cells(script("# %%\ta\nif x:\n\t#es uno\n\t#pt um\n\ty\n"))["a"]
        assert cell.for_language("pt") == "if x:\n\t# um\n\ty"


class TestFaults:
    @pytest.mark.parametrize(
        ("text", "line", "problem", "cure"),
        [
            ("# %%\nx\n", 1, "without a name", "# %% some-name"),
            ("# %% Name\nx\n", 1, "without a name", "lower case"),
            ("\n# %% [markdown]\nx\n", 2, "without a name", "lower case"),
            ("# %% naMe\nx\n", 1, "not understood after 'na': 'Me'", 'key="value"'),
            ("# %% a_b\nx\n", 1, "not understood after 'a': '_b'", 'key="value"'),
            ("# %% a-\nx\n", 1, "not understood after 'a': '-'", 'key="value"'),
            ("# %% a timeout=60\nx\n", 1, "timeout=60", 'key="value"'),
            ('# %% a timeuot="60"\nx\n', 1, "unknown option 'timeuot'", "timeout"),
            ('# %% a timeout="soon"\nx\n', 1, "timeout 'soon'", 'timeout="60"'),
            ('# %% a timeout="0"\nx\n', 1, "timeout '0'", "whole seconds"),
            ('# %% a timeout="-1"\nx\n', 1, "timeout '-1'", "whole seconds"),
            ('# %% a timeout="²"\nx\n', 1, "timeout '²'", "whole seconds"),
            ("# %% a\nx\n# %% b\n\n# %% a\ny\n", 3, "cell 'b' is empty", "remove the header"),
            ("# %% a\nx\n\n# %% a\ny\n", 4, "duplicate cell name 'a': line 1", "another name"),
            ("# %% a\n\n\n", 1, "cell 'a' is empty", "Write its code"),
            ("# hi\nimport os\n\n# %% a\nx\n", 2, "code before the first cell: 'import os'", "Put it in a cell"),
            ('"""Doc."""\nx = 1\n# %% a\nx\n', 2, "code before the first cell: 'x = 1'", "Put it in a cell"),
            ("1\n# %% a\nx\n", 1, "code before the first cell: '1'", "Put it in a cell"),
            ("a = (\n# %% a\nx\n", 1, "code before the first cell", "Put it in a cell"),
            ("import os\n", 1, "code before the first cell", "Put it in a cell"),
            ("# %% a\nx\n#%% b\ny\n", 3, "not understood: '#%% b'", "# %% name"),
            ("# %% a\nx\n # %% b\ny\n", 3, "not understood: '# %% b'", "# %% name"),
            ("# %% a\n#es hola\nx\n", 2, "comment in es with none in pt", "#pt"),
            ("# %% a\nx\n\n#pt olá", 4, "comment in pt with none in es", "#es"),
            ("# %% a\n#es hola\n\n#pt olá\nx\n", 2, "comment in es with none in pt", "#pt right after"),
            ("# %% prose-3\nx\n", 1, "'prose-3' is reserved", "what the cell does"),
            (f"# %% {'a' * 65}\nx\n", 1, "name of 65 characters", "at most 64"),
        ],
    )
    def test_each_names_its_line_and_what_to_do(self, script, text, line, problem, cure):
        path = script(text)
        error = fault(path)
        assert (error.file, error.line) == (path, line)
        assert problem in error.problem
        assert cure in error.cure
        assert str(error) == f"{path}:{line}: {error.problem}. {error.cure}"

    def test_a_missing_file(self, tmp_path):
        error = fault(tmp_path / "none.py")
        assert (error.line, error.problem) == (1, "no such lesson script")

    def test_bytes_that_are_not_utf_8_name_their_line(self, script):
        error = fault(script(b"# %% a\nx = 1\ny = '\xf1'\n"))
        assert error.line == 3
        assert "UTF-8" in error.problem
        assert "UTF-8" in error.cure


codes = st.lists(
    st.one_of(
        st.sampled_from(["x = 1", "if x:", "    y = 2", "", "\tz", "# both", "s = '#es no'", "'''", "# not %% one"]),
        st.text(string.printable.replace("\r", "").replace("\n", "").replace("\x0b", "") + "áñç\u2028", max_size=12),
    ),
    min_size=1,
    max_size=8,
).filter(lambda lines: not any(line.replace(" ", "").replace("\t", "").lstrip().startswith("#%%") for line in lines))
said = st.text(string.ascii_letters + " áé#'\"", max_size=10)


@st.composite
def spoken_code(draw):
    """Code, and the same with pairs of comments between its lines."""
    code = draw(codes.filter(lambda lines: any(line.strip() for line in lines)))
    code = [line for line in code if not any(line.strip().startswith(f"#{lang}") for lang in LANGUAGES)] or ["x"]
    mixed = []
    for line in code:
        if draw(st.booleans()):
            indent = draw(st.sampled_from(["", "    ", "\t"]))
            mixed += [f"{indent}#{lang} {draw(said)}" for lang in LANGUAGES]
        mixed.append(line)
    return code, mixed


@given(spoken_code(), st.sampled_from(LANGUAGES))
def test_a_language_keeps_all_the_code_and_nothing_of_the_other(tmp_path_factory, drawn, lang):
    code, mixed = drawn
    cell = Cell("a", tmp_path_factory.getbasetemp() / "a.py", 1, {}, "\n".join(mixed))

    seen = cell.for_language(lang).split("\n")

    comments = [line for line in mixed if line.lstrip().startswith(f"#{lang}")]
    assert len(seen) == len(code) + len(comments)
    remaining = iter(seen)
    assert all(line in remaining for line in code), "a line of code is missing or out of order"
    others = [line for line in seen if any(line.lstrip().startswith(f"#{other} ") for other in LANGUAGES)]
    assert others == []


names = st.from_regex(r"[a-z0-9]+(-[a-z0-9]+){0,3}", fullmatch=True).filter(lambda name: not name.startswith("prose-"))


@given(st.dictionaries(names, spoken_code().map(lambda drawn: drawn[1]), min_size=1, max_size=4))
def test_cells_written_one_after_another_come_back(tmp_path_factory, written):
    written = {name: code for name, code in written.items() if "".join(code).strip()}
    path = tmp_path_factory.getbasetemp() / "joined.py"
    path.write_bytes("".join(f"# %% {name}\n" + "\n".join(code) + "\n" for name, code in written.items()).encode())

    cells = read_cells(path)

    assert {name: cell.source for name, cell in cells.items()} == {
        name: "\n".join(code).strip("\n") for name, code in written.items()
    }
    lines = path.read_text(encoding="utf-8").split("\n")
    assert all(lines[cell.line - 1].startswith(f"# %% {name}") for name, cell in cells.items())


def test_the_lessons_of_the_course_are_python_in_every_language(pytestconfig):
    scripts = sorted((pytestconfig.rootpath / "lessons").rglob("*.py"))
    assert scripts
    for path in scripts:
        for cell in read_cells(path).values():
            for lang in LANGUAGES:
                ast.parse(cell.for_language(lang), filename=f"{path.name}:{cell.name}")
