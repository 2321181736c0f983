"""What the machine permits is found by trying, and what is missing is said with its reason and what to do."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graders.phrases import phrase
from graders.sandbox import permitted as module
from graders.sandbox.attempt import attempt
from graders.sandbox.confinement import LEARNER_UID, PARTS, Confinement, ConfinementError
from graders.sandbox.permitted import Permitted, permitted

Refuse = Callable[[Confinement], ConfinementError | None]


@pytest.fixture
def on_a_machine_that() -> Iterator[Callable[[Refuse], Permitted]]:
    """``on_a_machine_that(refuses)``: what is permitted where an attempt fails as ``refuses`` says."""
    with pytest.MonkeyPatch.context() as patch:

        def found(refuse: Refuse) -> Permitted:
            def attempt(confinement: Confinement) -> None:
                error = refuse(confinement)
                if error is not None:
                    raise error

            patch.setattr(module, "attempt", attempt)
            permitted.cache_clear()
            return permitted()

        yield found
    permitted.cache_clear()


def keys(found: Permitted) -> list[str]:
    return [missing.key for missing in found.missing]


def test_what_this_machine_permits_can_be_done_and_what_it_lacks_is_said(tmp_path: Path) -> None:
    found = permitted()
    attempt(found.confinement(**({"home": str(tmp_path)} if found.kind == "limits" else {})))
    lacks = set(PARTS) - {*found.parts} if found.kind != "limits" else {"namespaces"}
    assert {f"sandbox.no-{part}" for part in lacks} <= {*keys(found)}
    assert found.missing or (found.kind in ("root", "user") and found.parts == PARTS)


def test_everything_permitted_leaves_nothing_to_say(on_a_machine_that: Callable[[Refuse], Permitted]) -> None:
    found = on_a_machine_that(lambda confinement: None)
    assert found == Permitted("root", PARTS, LEARNER_UID, ())


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_fails_is_left_out_and_said(on_a_machine_that: Callable[[Refuse], Permitted], part: str) -> None:
    found = on_a_machine_that(lambda c: ConfinementError(part, "not here") if part in c.parts else None)
    assert (found.kind, keys(found)) == ("root", [f"sandbox.no-{part}"])
    assert found.parts == tuple(name for name in PARTS if name != part)
    assert "not here" in found.missing[0].text("es")
    assert found.missing[0].text("es") != found.missing[0].text("pt")


def test_an_ordinary_user_has_namespaces_of_their_own(on_a_machine_that: Callable[[Refuse], Permitted]) -> None:
    found = on_a_machine_that(lambda c: ConfinementError("namespaces", "not root") if c.kind == "root" else None)
    assert (found.kind, found.missing) == ("user", ())


def test_without_namespaces_there_are_limits_and_another_user(on_a_machine_that: Callable[[Refuse], Permitted]) -> None:
    found = on_a_machine_that(lambda c: ConfinementError("namespaces", "no") if c.kind != "limits" else None)
    assert (found.kind, found.uid, keys(found)) == ("limits", LEARNER_UID, ["sandbox.no-namespaces"])
    assert not {"network", "proc"} & {*found.parts}


def test_a_user_that_cannot_be_another_is_told_what_that_means(
    on_a_machine_that: Callable[[Refuse], Permitted],
) -> None:
    def refuse(confinement: Confinement) -> ConfinementError | None:
        if confinement.kind != "limits":
            return ConfinementError("namespaces", "no")
        return ConfinementError("limits", "not permitted") if confinement.uid is not None else None

    found = on_a_machine_that(refuse)
    assert (found.kind, found.uid, keys(found)) == ("limits", None, ["sandbox.no-namespaces", "sandbox.same-user"])


def test_a_machine_that_permits_nothing_is_refused(on_a_machine_that: Callable[[Refuse], Permitted]) -> None:
    with pytest.raises(ConfinementError, match="no such thing"):
        on_a_machine_that(lambda confinement: ConfinementError("limits", "no such thing"))


def test_a_confinement_is_made_of_what_is_permitted() -> None:
    found = Permitted("limits", ("seccomp",), None, ())
    confinement = found.confinement(home="/tmp/x", memory_bytes=2**20)
    assert (confinement.kind, confinement.parts, confinement.uid, confinement.home) == (
        "limits",
        ("seccomp",),
        None,
        "/tmp/x",
    )
    assert confinement.memory_bytes == 2**20


@pytest.mark.parametrize("key", ["no-namespaces", "same-user", *(f"no-{part}" for part in PARTS)])
def test_every_lack_has_its_words(key: str) -> None:
    for lang in ("es", "pt"):
        assert "EPERM" in phrase(f"sandbox.{key}", lang=lang, reason="EPERM")
