"""A learner's process that the zygote forked: what it runs and shows, what it refuses, how it ends."""

import contextlib
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from graders.learner import KernelLearner, LearnerError, ProcessDiedError
from graders.process import Limits

PATIENT = Limits(cell_s=60, grace_s=30)  # nothing here is about speed: the machine may be busy


@contextlib.contextmanager
def started(place, lang="es", files=(), limits=PATIENT, **changes):
    process = place.nursery.runner(limits, **changes).start(lang, files)
    try:
        yield process
    finally:
        process.close()


@pytest.fixture(scope="module")
def process(place):
    with started(place) as ready:
        yield ready


def text_of(run):
    return "".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in run.outputs)


def call(process, name, *args, timeout_s=60.0, **options):
    process.checkpoint("here")
    return KernelLearner(process.ask, "here", timeout_s).call(name, *args, **options)


def test_cells_share_names_and_show_what_they_print_and_return(process):
    assert process.run_cell("x = 41\nprint('hola')").status == "ok"
    run = process.run_cell("x + 1")
    assert (run.status, text_of(run)) == ("ok", "42")


def test_outputs_come_in_the_order_they_were_made(process):
    run = process.run_cell(
        "import os, sys\nfrom IPython.display import HTML, display\n"
        "print('one')\nprint('two', file=sys.stderr)\nos.write(1, b'three\\n')\ndisplay(HTML('<b>four</b>'))\n"
        "os.system('echo five')\nprint('six', end='')\n'seven'"
    )
    shown = [
        (output.output_type, output.get("name"), output.get("text") or output.data.get("text/html") or text)
        for output in run.outputs
        for text in [output.get("data", {}).get("text/plain")]
    ]
    assert shown == [
        ("stream", "stdout", "one\n"),
        ("stream", "stderr", "two\n"),
        ("stream", "stdout", "three\n"),
        ("display_data", None, "<b>four</b>"),
        ("stream", "stdout", "five\nsix"),
        ("display_data", None, "'seven'"),
    ]


def test_an_error_ends_its_cell_only_and_shows_their_line(process):
    run = process.run_cell("y = 1\n1 / 0\ny = 2")
    assert (run.status, run.outputs[-1].ename) == ("error", "ZeroDivisionError")
    assert "----> 2 1 / 0" in run.outputs[-1].traceback[0]
    assert text_of(process.run_cell("y")) == "1"


def test_a_syntax_error_names_its_line(process):
    run = process.run_cell("ok = 1\ndef broken(:\n    pass")
    assert (run.status, "line 2" in run.outputs[-1].evalue) == ("error", True)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("!pip install -q nothing", "Omitido al calificar: !pip install -q nothing"),
        ("%pip install nothing", "Omitido al calificar: %pip install nothing"),
        ("files = !ls\nfiles", "[]"),
        ("%%bash\ntouch here", "Omitido al calificar: %%bash"),
        ("exit()", "Omitido al calificar: exit()"),
        ("%cd /content", "/content"),
        ("%%time\nz = 1", "Wall time"),
        ("import asyncio\nawait asyncio.sleep(0, 'awaited')", "awaited"),
        ("task = asyncio.create_task(asyncio.sleep(0, 'later'))\nawait task", "later"),
        ("%matplotlib inline", ""),
        ("len?", ""),
    ],
)
def test_a_notebooks_own_ways_work(process, source, said):
    run = process.run_cell(source)
    assert run.status == "ok"
    assert said in text_of(run)


@pytest.mark.parametrize("source", ["input('?')", "import getpass\ngetpass.getpass()", "%%magia_inventada\nhola"])
def test_what_nobody_can_answer_is_an_ordinary_error(process, source):
    assert process.run_cell(source).status == "error"
    assert process.run_cell("1").status == "ok"


def test_figures_become_pictures_and_a_window_is_none(process):
    run = process.run_cell(
        "import matplotlib\nmatplotlib.use('TkAgg')\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('é')"
    )
    assert "Omitido al calificar: matplotlib.use('TkAgg')" in text_of(run)
    assert any("image/png" in output.get("data", {}) for output in run.outputs)


def test_the_environment_is_empty_but_for_what_it_needs(process):
    assert "SISTOLICA_LANG" in os.environ
    assert "SISTOLICA" not in text_of(process.run_cell("import os; sorted(os.environ)"))


def test_the_judges_code_is_not_there(process):
    for module in ("judge", "sandbox.nursery", "seed"):
        assert process.run_cell(f"import graders.{module}").status == "error"
    held = text_of(process.run_cell("import sys; sorted(name for name in sys.modules if 'graders' in name)"))
    assert "zygote" not in held
    assert "judge" not in held
    run = process.run_cell("from graders.selfcheck import selfcheck\nselfcheck('matmul', globals())('blocked')")
    assert (run.status, run.outputs) == ("ok", [])


def test_a_call_takes_and_gives_arrays_and_prints_nowhere(process):
    process.run_cell("def double(a):\n    print('secret', a)\n    return 2 * a")
    got = call(process, "double", np.arange(4, dtype=np.int16))
    assert (got.tolist(), got.dtype.name) == ([0, 2, 4, 6], "int16")
    assert text_of(process.run_cell("'after'")) == "'after'"


def test_a_large_array_goes_both_ways(process):
    process.run_cell("def same(a):\n    return a")
    sent = np.arange(3 * 2**20, dtype=np.float64)
    assert np.array_equal(call(process, "same", sent), sent)


def test_data_files_stand_where_they_stood(place, tmp_path):
    data = tmp_path / "t.csv"
    data.write_bytes(b"20.5\0\xff")
    with started(place, files=[(data, Path("datos/é/t.csv"))]) as own:
        assert text_of(own.run_cell("open('datos/é/t.csv', 'rb').read()")) == repr(b"20.5\0\xff")


def test_no_learner_sees_what_another_left(place):
    with started(place) as one:
        one.run_cell("import builtins, os\nbuiltins.mark = 1\nopen('left.txt', 'w').write('x')\nhere = os.getcwd()")
    with started(place, "pt") as other:
        assert text_of(other.run_cell("import os, builtins; hasattr(builtins, 'mark'), os.listdir()")) == "(False, [])"
        assert "Ignorado na avaliação" in text_of(other.run_cell("!x"))


def test_sets_and_unseeded_numbers_are_the_same_for_everybody(place):
    source = (
        "import random\nimport numpy as np\n{'uno', 'dos', 'tres', 'um', 'dois'}, random.random(), np.random.rand()"
    )
    seen = set()
    for _ in range(2):
        with started(place) as own:
            seen.add(text_of(own.run_cell(source)))
    assert len(seen) == 1


@pytest.mark.parametrize(
    "source", ["while True: pass", "import time\ntime.sleep(60)", "import asyncio\nawait asyncio.sleep(60)"]
)
def test_an_endless_cell_is_stopped_and_the_next_one_runs(place, source):
    with started(place, limits=Limits(cell_s=1, grace_s=30)) as own:
        assert own.run_cell(f"began = True\n{source}").status == "timeout"
        assert text_of(own.run_cell("began")) == "True"


def test_an_endless_call_is_stopped_and_the_next_one_runs(process):
    process.run_cell("def endless():\n    while True: pass\ndef quick(): return 1")
    with pytest.raises(LearnerError, match="timeout"):
        call(process, "endless", timeout_s=0.5)
    assert call(process, "quick") == 1


@pytest.mark.parametrize(
    "source",
    [
        "while True: print('x' * 10_000)",
        "import os\nwhile True: os.write(2, b'y' * 10_000)",
        "from IPython.display import HTML, display\nwhile True: display(HTML('x' * 10_000))",
    ],
    ids=["prints", "writes", "displays"],
)
def test_a_cell_that_floods_is_stopped(place, source):
    with started(place, limits=Limits(cell_s=60, grace_s=30, output_bytes=2**20)) as own:
        run = own.run_cell(source)
        assert run.status == "flood"
        assert sum(len(output.get("text", "")) for output in run.outputs) < 2**17
        assert text_of(own.run_cell("'after'")) == "'after'"


@pytest.mark.parametrize(
    "fatal",
    [
        "os._exit(0)",
        "os.kill(os.getpid(), signal.SIGSEGV) or ctypes.string_at(0)",
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
        "os.closerange(3, 200)\nwhile True: pass",
    ],
    ids=["exit", "crash", "ignores the interrupt", "hangs up"],
)
def test_a_death_keeps_the_last_words_and_is_final(place, fatal):
    with started(place, limits=Limits(cell_s=2, grace_s=0.5)) as own:
        run = own.run_cell(f"import ctypes, os, signal\nprint('last words')\n{fatal}")
        assert (run.status, text_of(run)) == ("died", "last words\n")
        assert own.run_cell("1").status == "died"
        with pytest.raises(LearnerError, match="died"):
            KernelLearner(own.ask, "here", 1.0).call("f")
        with pytest.raises(ProcessDiedError):
            own.checkpoint("here")


def test_spent_memory_is_named(place):
    with started(place, memory_bytes=600 * 2**20) as own:
        run = own.run_cell("hoard = []\nwhile True: hoard.append(bytearray(2**24))")
    counted = "memory" in place.confinement.parts  # else the limit is the process's own, and gives an error
    assert run.status == ("memory" if counted else "error")


FRAMES_OF_THEIRS = {
    "a length without end": "b'\\xff\\xff\\xff\\xff\\x07'",
    "a kind that is none": "b'\\0\\0\\0\\0\\x63'",
    "an output that is none": "b'\\0\\0\\0\\x02\\x07[]'",
    "a reply that nobody asked for": "b'\\0\\0\\0\\0\\x09'",
}


@pytest.mark.parametrize("frame", FRAMES_OF_THEIRS.values(), ids=FRAMES_OF_THEIRS.keys())
def test_rubbish_on_the_wire_ends_the_process(place, frame):
    with started(place) as own:
        run = own.run_cell(
            f"import os\nfor fd in range(3, 200):\n    try: os.write(fd, {frame})\n    except OSError: pass"
        )
        assert run.status == "died"


def test_a_forged_end_of_a_cell_is_only_an_end(place):
    """Who writes to the wire can end a cell early, and nothing else: the score is never on it."""
    with started(place, limits=Limits(cell_s=5, grace_s=2)) as own:
        own.run_cell("get_ipython().outlet.done('ok')\nvalue = 1")
        with contextlib.suppress(ProcessDiedError):
            own.checkpoint("here")
        with pytest.raises(LearnerError):
            KernelLearner(own.ask, "here", 5.0).call("missing")


def test_one_that_does_not_read_is_not_waited_for(place):
    with started(place, limits=Limits(cell_s=2, grace_s=1)) as own:
        own.run_cell("def f(a): return a")
        os.kill(own._pid, signal.SIGSTOP)
        with pytest.raises(LearnerError, match="died"):
            KernelLearner(own.ask, "here", 1.0).call("f", np.zeros(2**21))


def test_what_they_started_ends_with_them(place):
    with started(place) as own:
        pid = own._pid
        own.run_cell("import os, time\nif os.fork() == 0:\n    os.setsid()\n    os.fork()\n    time.sleep(600)")
        group = {pid, *children_of(pid)}
        assert len(group) >= 2
    assert [one for one in group if Path(f"/proc/{one}").exists()] == []


def children_of(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *children_of(int(child))]
    return found


def test_another_thread_can_stop_it(place):
    runner = place.nursery.runner(PATIENT)
    process = runner.start("es")
    results = []
    waiting = threading.Thread(target=lambda: results.append(process.run_cell("import time\ntime.sleep(600)").status))
    waiting.start()
    runner.stop()
    waiting.join()
    process.close()
    assert results == ["died"]
    with pytest.raises(ProcessDiedError):
        runner.start("es")
