"""What the grader says: every key has both languages, every key that the code asks for exists, and none is idle."""

import re
from pathlib import Path

import graders
from graders import learner_error, notebook_file
from graders.phrases import phrase

FOLDERS = (Path(graders.__file__).parent, Path(graders.__file__).parents[1] / "sistolica")
SOURCES = [path for folder in FOLDERS for path in folder.rglob("*") if path.suffix in {".py", ".j2"}]
ASKED = re.compile(r"""(?:phrase|say)\(\s*["']([a-z]+\.[a-z-]+)["']""")
NOTICE = re.compile(r"""Notice\(\s*["']([a-z-]+)["']""")
CHOSEN = re.compile(r"""["']((?:bench|nursery|output|sandbox|selfcheck)\.[a-z-]+)["']""")


def asked_for() -> set[str]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    statuses = {getattr(notebook_file, name) for name in dir(notebook_file) if name.isupper() and name[0] != "_"}
    kinds = {getattr(learner_error, name) for name in dir(learner_error) if name.isupper() and name[0] != "_"}
    return (
        set(ASKED.findall(text))
        | set(CHOSEN.findall(text))
        | {f"notice.{key}" for key in [*NOTICE.findall(text), "repeated-answer", "repeated-test"]}
        | {f"status.{status}" for status in statuses if isinstance(status, str)}
        | {f"error.{kind}" for kind in kinds if isinstance(kind, str)}
        | {f"error.{kind}-at" for kind in (learner_error.RAISED, learner_error.NOT_TRACED)}
        | {f"cell.{status}" for status in ("timeout", "flood", "died", "memory", "not-run")}
        | {f"selfcheck.{title}" for title in ("result", "criterion", "points")}
    )


def test_every_message_has_both_languages_with_the_same_placeholders() -> None:
    assert phrase.faults() == []


def test_every_key_asked_for_exists_and_none_is_idle() -> None:
    ours = {key for key in asked_for() if key.partition(".")[0] in {key.partition(".")[0] for key in phrase.entries}}
    # The platform has areas of the same name in its own catalogue; what is not here must be there.
    from sistolica.phrases import phrase as platform

    assert ours - set(phrase.entries) - set(platform.entries) == set()
    assert set(phrase.entries) - ours == set()
