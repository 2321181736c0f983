"""Quizzes: questions by key in every language, and every fault with its place and its cure."""

import pytest

from sistolica.lesson import LessonError, Option, Question, read_quiz

QUIZ = """\
# two questions
[weights-stay]
kind = "single"
es.text = "¿Cuánto da {spec}`v5e.hbm_bandwidth`?"
pt.text = "Quanto dá {spec}`v5e.hbm_bandwidth`?"
[[weights-stay.options]]
key = "input"
correct = false
es.text = "Más"
pt.text = "Mais"
es.feedback = "No: {calc}`a`."
pt.feedback = "Não: {calc}`a`."
[[weights-stay.options]]
key = "weight"
correct = true
es.text = "Eso"
pt.text = "Isso"
es.feedback = "Sí."
pt.feedback = "Sim."

[both]
kind = "multiple"
es.text = "a"
pt.text = "b"
options = [
  { key = "x", correct = true, es = { text = "x", feedback = "f" }, pt = { text = "x", feedback = "f" } },
  { key = "y", correct = true, es = { text = "y", feedback = "f" }, pt = { text = "y", feedback = "f" } },
]
"""


@pytest.fixture
def quiz(tmp_path):
    path = tmp_path / "page.quiz.toml"

    def write(text):
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return path

    return write


def test_questions_are_read_in_order_with_every_language(quiz):
    questions = read_quiz(quiz(QUIZ))

    assert list(questions) == ["weights-stay", "both"]
    assert questions["weights-stay"] == Question(
        "weights-stay",
        2,
        "single",
        {"es": "¿Cuánto da {spec}`v5e.hbm_bandwidth`?", "pt": "Quanto dá {spec}`v5e.hbm_bandwidth`?"},
        (
            Option("input", False, {"es": "Más", "pt": "Mais"}, {"es": "No: {calc}`a`.", "pt": "Não: {calc}`a`."}),
            Option("weight", True, {"es": "Eso", "pt": "Isso"}, {"es": "Sí.", "pt": "Sim."}),
        ),
    )
    assert [option.correct for option in questions["both"].options] == [True, True]
    assert questions["both"].line == 21


def test_a_chapter_without_a_quiz_file_has_no_questions(tmp_path):
    assert read_quiz(tmp_path / "none.quiz.toml") == {}


@pytest.mark.parametrize("empty", [b"", b"\xef\xbb\xbf", b"# nothing yet\n"])
def test_an_empty_file_has_no_questions(quiz, empty):
    assert read_quiz(quiz(empty)) == {}


@pytest.mark.parametrize(
    "written",
    [QUIZ.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + QUIZ.encode(), QUIZ.rstrip("\n").encode()],
    ids=["crlf", "bom", "no-final-newline"],
)
def test_the_bytes_of_an_editor_do_not_matter(quiz, written):
    plain = read_quiz(quiz(QUIZ))
    assert read_quiz(quiz(written)) == plain


@pytest.mark.parametrize(
    ("before", "after", "line", "problem", "cure"),
    [
        ('kind = "single"', 'kind = "open"', 2, "'weights-stay': kind 'open'", "single, multiple"),
        ('kind = "single"\n', "", 2, "'weights-stay': kind None", "single, multiple"),
        ('es.text = "Más"\n', "", 2, "option 'input': no text in es", "Add es.text"),
        ('pt.text = "Isso"\n', "", 2, "option 'weight': no text in pt", "Add pt.text"),
        ('pt.feedback = "Sim."\n', "", 2, "option 'weight': no feedback in pt", "Add pt.feedback"),
        ('es.feedback = "Sí."', 'es.feedback = "  "', 2, "option 'weight': no feedback in es", "Add es.feedback"),
        ('es.text = "¿Cuánto da {spec}`v5e.hbm_bandwidth`?"\n', "", 2, "'weights-stay': no text in es", "Add es.text"),
        ('es.text = "a"', "es.text = 3", 21, "question 'both': no text in es", "Add es.text"),
        ('es.text = "a"', 'es = "a"', 21, "question 'both': no text in es", "Add es.text"),
        ("correct = true\nes", "correct = false\nes", 2, "0 right options for kind 'single'", "exactly one"),
        ("correct = false", "correct = true", 2, "2 right options for kind 'single'", "exactly one"),
        ("correct = false", 'correct = "no"', 2, "option 'input': no key or no correct", "true or false"),
        ('key = "input"\n', "", 2, "option None: no key or no correct", 'key = "name"'),
        ('key = "input"', 'key = "weight"', 2, "repeated option keys weight", "its own key"),
        ("[both]", '["a b"]', 1, "question 'a b': not a name", "lower case"),
        ("[both]", "[weights-stay]", 21, "not TOML", "Correct"),
        ('kind = "single"', "kind = ", 3, "not TOML", "Correct"),
        ("correct = true, es", "correct = false, es", 21, "0 right options for kind 'multiple'", "one or more"),
    ],
)
def test_each_fault_names_its_line_and_what_to_do(quiz, before, after, line, problem, cure):
    assert before in QUIZ
    path = quiz(QUIZ.replace(before, after))
    with pytest.raises(LessonError) as caught:
        read_quiz(path)
    assert (caught.value.file, caught.value.line) == (path, line)
    assert problem in caught.value.problem
    assert cure in caught.value.cure


TEXTS = 'es.text = "a"\npt.text = "b"\n'


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('title = "Quiz"\n', 1, "question 'title': kind 'Quiz'"),
        (f'[q]\nkind = "single"\n{TEXTS}', 1, "question 'q': 0 options"),
        (f'[q]\nkind = "single"\n{TEXTS}options = []\n', 1, "question 'q': 0 options"),
        (f'\n[q]\nkind = "single"\n{TEXTS}options = 3\n', 2, "options that are not tables"),
        (f'[q]\nkind = "single"\n{TEXTS}options = "ab"\n', 1, "options that are not tables"),
        (f'[q]\nkind = "single"\n{TEXTS}options = ["a", "b"]\n', 1, "options that are not tables"),
        (f'[q]\nkind = "single"\n{TEXTS}[q.options]\nkey = "a"\n', 1, "options that are not tables"),
    ],
)
def test_a_file_of_the_wrong_shape(quiz, text, line, problem):
    with pytest.raises(LessonError) as caught:
        read_quiz(quiz(text))
    assert caught.value.line == line
    assert problem in caught.value.problem


def test_one_option_is_not_a_choice(quiz):
    one = QUIZ.split("[[weights-stay.options]]")
    with pytest.raises(LessonError, match=r"question 'weights-stay': 1 options. A question has two or more"):
        read_quiz(quiz("[[weights-stay.options]]".join(one[:2])))


def test_bytes_that_are_not_utf_8(quiz):
    with pytest.raises(LessonError, match="UTF-8"):
        read_quiz(quiz("[q]\nes.text = 'señal'".encode("latin-1")))
