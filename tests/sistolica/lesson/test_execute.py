"""Running a lesson in a real kernel: outputs, quoted values, the cache, and every way a cell can go wrong."""

import base64
import threading
import time

import pytest

from sistolica.lesson import LessonError, execute
from tpu_kernels.messages import LANGUAGES

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
SHOW_IMAGE = f"""
from IPython.display import display
display({{"image/png": "{PIXEL}", "text/plain": "image"}}, raw=True)
"""


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def diary(tmp_path):
    """A file to which a cell appends a line each time it runs."""
    path = tmp_path / "diary"
    path.touch()
    return path


def write_in(diary, line="'ran'"):
    return f"with open({str(diary)!r}, 'a') as diary:\n    print({line}, file=diary)\n"


def outputs(executed, name):
    cell = next(cell for cell in executed.notebook.cells if cell.id == name)
    return "".join(output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)


def fault(lesson, cache):
    with pytest.raises(LessonError) as caught:
        execute.execute(lesson, cache)
    assert not list(cache.rglob("*.json")), "a run that failed was kept"
    return caught.value


class TestASoundRun:
    def test_cells_run_in_order_in_one_kernel_and_keep_their_outputs(self, author, cache):
        author.cells("a = 20\nprint('first')", "a + 22", prose="Sin {calc}`a`.\n")
        executed = execute.execute(author.lesson(), cache)

        assert outputs(executed, "one") == "first\n"
        assert outputs(executed, "two") == "42"
        code = [cell for cell in executed.notebook.cells if cell.cell_type == "code"]
        assert [cell.execution_count for cell in code] == [1, 2]
        assert [cell.id for cell in code] == ["one", "two"], "the cell that reads the values must not be shown"

    @pytest.mark.parametrize("lang", LANGUAGES)
    def test_the_library_speaks_the_language_of_the_page(self, author, cache, lang):
        author.cells("from tpu_kernels.messages import language\nlanguage()")
        assert outputs(execute.execute(author.lesson(lang), cache), "one") == repr(lang)

    def test_values_come_out_with_their_units_whatever_the_cells_print_or_rename(self, author, cache):
        author.cells(
            "from tpu_kernels.models.quantity import Quantity\nfrom fractions import Fraction\nimport numpy as np\n"
            "gap = Quantity(3e9, 'bytes/s'); n = 7; share = 0.5; half = Fraction(1, 2); big = np.float32(2.5)",
            "import threading, sys\n"
            "print = len = type = str = getattr = dict = display = show = None\n"
            "_stop = sys.stdout.write\n"
            "threading.Timer(0.0, lambda: [sys.stdout.write('noise\\n') for _ in range(50)]).start()",
            prose="{calc}`gap` {calc}`n` {calc}`share:.1f` {calc}`half:.1f` {calc}`big:.1f`\n",
        )
        values = execute.execute(author.lesson(), cache).values

        plain = {name: (found["value"], found["unit"]) for name, found in values.items()}
        assert plain == {
            "gap": (3e9, "bytes/s"),
            "n": (7, None),
            "share": (0.5, None),
            "half": (0.5, None),
            "big": (2.5, None),
        }
        assert type(values["n"]["value"]) is int

    def test_a_page_without_cells_runs_nothing(self, author, cache):
        author.prose("# T\n")
        executed = execute.execute(author.lesson(), cache)
        assert (executed.values, len(executed.notebook.cells)) == ({}, 1)
        assert not cache.exists()

    def test_an_image_with_a_text_is_fine(self, author, cache):
        author.script(f"# %% one\n{SHOW_IMAGE}")
        author.prose("```{code-cell}\n:cell: one\n:alt: un punto\n```\n")
        executed = execute.execute(author.lesson(), cache)
        assert executed.notebook.cells[0].outputs[0].data["image/png"] == PIXEL

    def test_cells_work_in_a_folder_that_is_gone_afterwards(self, author, cache):
        author.cells("from pathlib import Path\nPath('left').write_text('x')\nprint(Path.cwd())")
        place = outputs(execute.execute(author.lesson(), cache), "one").strip()
        assert place
        assert not execute.Path(place).exists()


class TestFaults:
    @pytest.mark.parametrize(
        ("code", "reason"),
        [
            ("x = 1\nraise ValueError('fallo en la página')", "ValueError: fallo en la página"),
            ("def f(:\n    pass", "SyntaxError: "),
            ("1 / 0", "ZeroDivisionError: division by zero"),
            ("name = input('¿Nombre? ')", "StdinNotImplementedError"),
            ("import getpass\ngetpass.getpass()", "StdinNotImplementedError"),
            ("import sys\nsys.exit(3)", "SystemExit: 3"),
            ("import os\nos._exit(1)", "the kernel died"),
        ],
        ids=["raises", "syntax", "division", "input", "getpass", "exit", "dies"],
    )
    def test_a_failing_cell_names_page_cell_line_and_last_line_of_the_traceback(self, author, cache, code, reason):
        author.cells("print('fine')", code)
        started = time.monotonic()
        error = fault(author.lesson("pt"), cache)

        assert time.monotonic() - started < 15
        assert (error.file, error.line) == (author.project.lessons / "part/page.py", 4)
        assert "page 'part/page' (pt), cell 'two' failed: " in error.problem
        assert reason in error.problem
        assert "page.py" in error.cure

    def test_an_endless_loop_stops_at_the_time_that_its_header_allows(self, author, cache):
        author.script('# %% one timeout="1"\nwhile True:\n    pass\n')
        author.prose("```{code-cell}\n:cell: one\n```\n")
        started = time.monotonic()
        error = fault(author.lesson(), cache)
        assert time.monotonic() - started < 15
        assert "cell 'one' failed: it took more than 1 s" in error.problem

    def test_a_cell_that_refuses_to_be_interrupted_stops_too(self, author, cache):
        author.script(
            '# %% one timeout="1"\nimport signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n'
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True:\n    pass\n"
        )
        author.prose("```{code-cell}\n:cell: one\n```\n")
        started = time.monotonic()
        assert "more than 1 s" in fault(author.lesson(), cache).problem
        assert time.monotonic() - started < 20

    def test_an_image_without_a_text_names_its_place_on_the_page(self, author, cache):
        author.cells("1", SHOW_IMAGE, prose="# T\n")
        for _ in range(2):  # from the run, then from the cache
            with pytest.raises(LessonError) as caught:
                execute.execute(author.lesson(), cache)
            assert (caught.value.file, caught.value.line) == (author.project.prose("es", author.slug), 7)
            assert "cell 'two' shows an image" in caught.value.problem
            assert ":alt:" in caught.value.cure

    @pytest.mark.parametrize(
        ("code", "problem"),
        [
            ("other = 1", "quotes 'gap', which no cell defines"),
            ("gap = 'much'", "quotes 'gap', which is not a number: 'much'"),
        ],
    )
    def test_a_quoted_variable_that_is_no_number_names_the_line_that_quotes_it(self, author, cache, code, problem):
        author.cells(code, prose="# T\n\nUno.\nSon {calc}`gap:.1f`.\n")
        error = fault(author.lesson(), cache)
        assert (error.file, error.line, error.problem) == (author.project.prose("es", author.slug), 4, problem)

    def test_a_page_that_quotes_and_runs_nothing(self, author, cache):
        author.prose("# T\n\nSon {calc}`gap`.\n")
        error = fault(author.lesson(), cache)
        assert (error.line, "quotes 'gap' but runs no cell" in error.problem) == (3, True)


class TestCache:
    def test_an_equal_page_runs_once_and_shows_the_same(self, author, cache, diary):
        author.cells(write_in(diary) + "a = 5\na", prose="{calc}`a`\n")
        first = execute.execute(author.lesson(), cache)
        again = execute.execute(author.lesson(), cache)

        assert diary.read_text() == "ran\n"
        assert again == first
        assert outputs(again, "one") == "5"

    def test_changed_prose_runs_nothing_and_changed_code_or_language_runs(self, author, cache, diary):
        author.cells(write_in(diary))
        execute.execute(author.lesson(), cache)
        author.cells(write_in(diary), prose="# Otra\n")
        execute.execute(author.lesson(), cache)
        assert diary.read_text().count("ran") == 1
        execute.execute(author.lesson("pt"), cache)
        assert diary.read_text().count("ran") == 2
        author.cells(write_in(diary) + "# changed")
        execute.execute(author.lesson(), cache)
        assert diary.read_text().count("ran") == 3

    def test_a_newly_quoted_variable_runs_again(self, author, cache):
        author.cells("a = 1; b = 2", prose="{calc}`a`\n")
        execute.execute(author.lesson(), cache)
        author.cells("a = 1; b = 2", prose="{calc}`a` {calc}`b`\n")
        assert execute.execute(author.lesson(), cache).values["b"]["value"] == 2

    def test_a_comment_of_the_other_language_runs_nothing(self, author, cache, diary):
        author.cells(write_in(diary) + "#es uno\n#pt um\n1")
        execute.execute(author.lesson(), cache)
        author.cells(write_in(diary) + "#es uno\n#pt um só\n1")
        execute.execute(author.lesson(), cache)
        assert diary.read_text().count("ran") == 1

    def test_a_changed_library_runs_every_page_again(self, author, cache, diary, tmp_path, monkeypatch):
        library = tmp_path / "library"
        (library / "data").mkdir(parents=True)
        number = library / "data" / "chips.toml"
        number.write_text("hbm = 1")
        monkeypatch.setattr(execute, "_LIBRARY", library)
        author.cells(write_in(diary))

        def run():
            execute.library_digest.cache_clear()
            execute.execute(author.lesson(), cache)
            return diary.read_text().count("ran")

        try:
            assert [run(), run()] == [1, 1]
            number.write_text("hbm = 2")
            assert [run(), run()] == [2, 2]
            number.rename(library / "chips.toml")  # the same bytes somewhere else
            assert run() == 3
            (library / "notes.txt").write_text("no code")
            assert run() == 3
        finally:
            execute.library_digest.cache_clear()

    @pytest.mark.parametrize("kept", [0, 1, 100, -2])
    def test_a_record_cut_short_is_run_again(self, author, cache, diary, kept):
        author.cells(write_in(diary) + "1")
        first = execute.execute(author.lesson(), cache)
        (record,) = cache.rglob("*.json")
        whole = record.read_bytes()
        record.write_bytes(whole[:kept])

        assert execute.execute(author.lesson(), cache) == first
        assert diary.read_text().count("ran") == 2
        assert record.read_bytes() == whole

    def test_each_page_keeps_its_last_run_only_and_leaves_those_of_its_neighbours(self, author, cache):
        slugs = ("part/page", "part/page-two", "part", "part/page/inner")
        for slug in slugs:
            author.slug = slug
            author.cells("1")
            execute.execute(author.lesson(), cache)
        author.slug = "part/page"
        author.cells("2")
        execute.execute(author.lesson(), cache)

        kept = sorted(record.parent.relative_to(cache / "es").as_posix() for record in cache.rglob("*.json"))
        assert kept == sorted(slugs)
        assert [path for path in cache.rglob("*") if path.is_file() and path.suffix != ".json"] == []


def test_a_cell_that_shows_more_than_a_page_can_take_is_refused(author, cache):
    author.cells("1", f"print('x' * {execute.MOST_SHOWN})")
    told = fault(author.lesson("pt"), cache)
    assert told.problem == "page 'part/page' (pt), cell 'two' shows 2.0 MiB"
    assert (told.file.name, told.line) == ("page.py", 4)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"outputs": {}}', "null"])
def test_a_record_that_is_none_is_made_again(author, cache, content):
    author.cells("6 * 7")
    execute.execute(author.lesson(), cache)
    (record,) = cache.rglob("*.json")
    record.write_text(content)
    assert outputs(execute.execute(author.lesson(), cache), "one") == "42"


def test_two_runs_at_once_do_not_disturb_each_other(author, cache):
    """Each language waits until the other has started, then says who it is."""
    meeting = author.project.root / "meeting"
    meeting.mkdir()
    author.cells(
        "import os, time\nfrom pathlib import Path\nfrom tpu_kernels.messages import language\n"
        f"meeting = Path({str(meeting)!r})\nbefore = language()\n(meeting / before).touch()\n"
        "until = time.monotonic() + 15\n"
        "while len(list(meeting.iterdir())) < 2 and time.monotonic() < until:\n    time.sleep(0.02)\n"
        "[before, os.environ['SISTOLICA_LANG'], len(list(meeting.iterdir())), Path.cwd().name]"
    )
    seen = {}

    def run(lang):
        seen[lang] = eval(outputs(execute.execute(author.lesson(lang), cache), "one"))

    threads = [threading.Thread(target=run, args=(lang,)) for lang in LANGUAGES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert {lang: found[:3] for lang, found in seen.items()} == {lang: [lang, lang, 2] for lang in LANGUAGES}
    assert seen["es"][3] != seen["pt"][3], "they shared a working folder"
