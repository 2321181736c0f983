"""No attack gains a point, reads a secret, leaves a process or a file, or changes another's grade."""

import html
import re
import sqlite3
from html.parser import HTMLParser

import pytest

from graders.sandbox.permitted import permitted
from tests.graders.attacks.attack import PAYLOADS, Attack
from tests.graders.attacks.course import FIRST, LAST

ATTACKS = [Attack.read(path) for path in sorted(PAYLOADS.glob("*.py"))]
EACH = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)

# What acts on a page that is read: the page has none of it, whatever a learner shows.
_ACTING = {
    "script",
    "iframe",
    "form",
    "a",
    "link",
    "object",
    "embed",
    "base",
    "svg",
    "math",
    "button",
    "input",
    "video",
}


class Page(HTMLParser):
    """Tags that act, and attributes that load or run something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag in _ACTING:
            self.found.append(tag)
        for name, value in attributes:
            picture = tag == "img" and name == "src" and re.match("data:image/(png|jpeg);base64,", value or "")
            if name.startswith("on") or (name in {"src", "href", "action", "srcset", "style"} and not picture):
                self.found.append(f"{tag} {name}={value}")


def test_there_are_attacks_of_many_kinds():
    assert len(ATTACKS) >= 52


def as_asked(attack, confinement):
    """Whether all is here that the attack's outcome rests on; where it is not, the instructor is told."""
    lacking = {f"sandbox.no-{part}" for part in attack.needs if part not in confinement.parts}
    assert lacking <= {missing.key for missing in permitted().missing}
    return not lacking


@EACH
def test_it_earns_what_it_should_and_no_point_more(battle, attack, confinement):
    if not as_asked(attack, confinement):
        assert battle.grades[attack.name].score <= 4  # its right answer, and nothing else
        return
    grade, row = battle.grades[attack.name], battle.rows[attack.name]
    assert (grade.status, grade.score, float(row["score"])) == (attack.status, attack.score, attack.score), grade.remark


@EACH
def test_it_ran_into_the_wall_that_it_was_to_run_into(battle, attack, confinement):
    if not as_asked(attack, confinement):
        return
    page = html.unescape(re.sub("<[^>]+>", "", battle.page(attack.name)))
    assert [text for text in attack.shows if text not in page] == [], page


@EACH
def test_its_page_does_nothing_and_its_remark_writes_to_no_terminal(battle, attack):
    assert Page(battle.page(attack.name)).found == []
    grade = battle.grades[attack.name]
    for text in (grade.remark, grade.learner, battle.page(attack.name)):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)


def test_nobody_is_missing(battle):
    assert set(battle.grades) == set(battle.rows) == {FIRST, LAST, *(attack.name for attack in ATTACKS)}


@pytest.mark.parametrize("learner", [FIRST, LAST])
def test_the_honest_get_to_the_bit_what_they_get_alone(battle, learner):
    assert battle.grades[learner].score == 10
    assert battle.grades[learner] == battle.alone[learner]
    for part in (f"feedback/{learner}.html", f"gradebook/autograded/{learner}/matmul/matmul.ipynb"):
        assert (battle.course.out / part).read_bytes() == (battle.alone_out / part).read_bytes()


def written(battle):
    """All files of the grading, but for the salt's own and those of the learners whose notebooks hold a secret."""
    book = battle.course.out / "gradebook"
    own = {book / step / learner for step in ("submitted", "autograded") for learner in (FIRST, LAST)}
    files = [path for path in battle.course.out.rglob("*") if path.is_file() and own.isdisjoint(path.parents)]
    return [path for path in files if path != book / "salt.txt"]


def test_no_secret_is_in_anything_that_was_written(battle):
    assert len(written(battle)) > 3 * len(ATTACKS)
    for path in written(battle):
        content = path.read_bytes()
        assert [what for what, token in battle.course.tokens.items() if token.encode() in content] == [], path


def test_nothing_that_was_written_says_that_a_wall_fell_or_what_was_asked(battle):
    said = {"BREACH", *(text for attack in ATTACKS for text in attack.hides)}  # their sources hold these in pieces only
    for path in written(battle):
        assert [text for text in said if text.encode() in path.read_bytes()] == [], path


def test_nothing_is_left(battle):
    assert battle.left_running == []
    assert battle.left_files == []


def test_nothing_was_changed(battle):
    assert battle.after.programs == battle.before.programs
    assert battle.after.submissions == battle.before.submissions
    assert battle.after.labs == battle.before.labs
    assert battle.after.library == battle.before.library
    assert len(battle.before.programs) > 3


def test_nobody_got_out(battle):
    assert battle.reached == []


def test_nobody_said_when_it_was_handed_in(battle):
    assert list(battle.course.out.rglob("timestamp.txt")) == []
    with sqlite3.connect(battle.course.out / "gradebook" / "gradebook.db") as book:
        assert book.execute("select count(*) from submitted_assignment where timestamp is not null").fetchone() == (0,)
        assert book.execute("select count(*) from grade where manual_score is not null").fetchone() == (0,)
    book.close()
