"""Strings by key, in the language in force."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.messages import Catalogue, MessageError, UnknownLanguageError, checked, decimal

SOUND = """
[cell]
idle = { es = "inactiva", pt = "inativa" }
cycle = { es = "Ciclo {cycle} de {of}", pt = "Ciclo {cycle}, de {of}" }
braces = { es = "llaves {{}}", pt = "chaves {{}}" }
lang = { es = "{got}", pt = "{got}" }
"""
VARIABLES = ("SISTOLICA_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


def catalogue(folder: Path, text: str = SOUND) -> Catalogue:
    path = folder / "messages.toml"
    path.write_text(text, encoding="utf-8")
    return Catalogue(path)


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nobody has said which language to speak."""
    messages.use(None)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_the_language_of_the_call_comes_first(tmp_path: Path) -> None:
    say = catalogue(tmp_path)
    messages.use("es")
    assert say("cell.idle", lang="pt") == "inativa"
    assert say("cell.idle") == "inactiva"


def test_the_language_that_was_set_comes_before_the_environments(quiet: pytest.MonkeyPatch) -> None:
    quiet.setenv("SISTOLICA_LANG", "es")
    messages.use("pt")
    assert messages.language() == "pt"
    messages.use(None)
    assert messages.language() == "es"


def test_the_variables_are_asked_in_their_order(quiet: pytest.MonkeyPatch) -> None:
    for name, value, spoken in zip(
        reversed(VARIABLES), ("pt_BR.UTF-8", "es_CO", "pt_PT.UTF-8", "es"), ("pt", "es", "pt", "es"), strict=True
    ):
        quiet.setenv(name, value)
        assert messages.language() == spoken


@pytest.mark.parametrize("locale", ["", "C.UTF-8", "en_US.UTF-8", "POSIX"])
def test_a_locale_of_another_language_gives_spanish(quiet: pytest.MonkeyPatch, locale: str) -> None:
    quiet.setenv("LANG", locale)
    assert messages.language() == "es"


def test_a_locale_that_says_nothing_lets_the_next_speak(quiet: pytest.MonkeyPatch) -> None:
    quiet.setenv("LC_ALL", "C.UTF-8")
    quiet.setenv("LANG", "pt_BR.UTF-8")
    assert messages.language() == "pt"


def test_a_language_that_was_asked_for_by_name_is_never_replaced(quiet: pytest.MonkeyPatch) -> None:
    quiet.setenv("SISTOLICA_LANG", "en")
    with pytest.raises(UnknownLanguageError):
        messages.language()


@pytest.mark.parametrize("code", ["en", "pt_BR", "ES", ""])
def test_an_unknown_language_is_refused_in_every_language(code: str) -> None:
    messages.use("pt")
    for refuse in (checked, messages.use):
        with pytest.raises(UnknownLanguageError, match=r"usa es o pt.*use es ou pt") as refused:
            refuse(code)
        assert refused.value.got == code
    assert messages.language() == "pt"


def test_a_refused_call_leaves_the_language_alone(tmp_path: Path) -> None:
    messages.use("pt")
    say = catalogue(tmp_path)
    with pytest.raises(UnknownLanguageError):
        say("cell.idle", lang="en")
    assert say("cell.idle") == "inativa"


def test_values_fill_the_placeholders(tmp_path: Path) -> None:
    say = catalogue(tmp_path)
    assert say("cell.cycle", lang="es", cycle=3, of="14") == "Ciclo 3 de 14"
    assert say("cell.cycle", lang="pt", cycle=3, of="14") == "Ciclo 3, de 14"
    assert say("cell.braces", lang="es") == "llaves {}"


@pytest.fixture(scope="module")
def say(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    return catalogue(tmp_path_factory.mktemp("catalogue"))


@settings(deadline=None)  # no test depends on the clock
@given(value=st.text())
def test_a_value_is_never_read_as_a_placeholder(say: Catalogue, value: str) -> None:
    assert say("cell.lang", got=value) == value


def test_an_unknown_key_says_where_to_add_it(tmp_path: Path) -> None:
    with pytest.raises(MessageError, match=r"no message 'cell\.busy' in messages\.toml; add it in es and pt"):
        catalogue(tmp_path)("cell.busy")


def test_a_value_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(MessageError, match=r"'cell\.cycle' in es: no text or no value for 'of'"):
        catalogue(tmp_path)("cell.cycle", lang="es", cycle=3)


def test_a_language_that_is_missing_is_named(tmp_path: Path) -> None:
    say = catalogue(tmp_path, '[cell]\nidle = { es = "inactiva" }\n')
    assert say("cell.idle", lang="es") == "inactiva"
    with pytest.raises(MessageError, match="in pt: no text or no value for 'pt'"):
        say("cell.idle", lang="pt")


def test_a_sound_catalogue_has_no_faults(tmp_path: Path) -> None:
    assert catalogue(tmp_path).faults() == []


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ('{ es = "a" }', "messages.toml: cell.idle: no text in pt"),
        ('{ es = " ", pt = "a" }', "messages.toml: cell.idle: no text in es"),
        ('{ es = "{a}", pt = "{b}" }', "messages.toml: cell.idle: placeholders differ: {'es': ['a'], 'pt': ['b']}"),
        ('{ es = "{}", pt = "a" }', "messages.toml: cell.idle: placeholders differ: {'es': [''], 'pt': []}"),
        ('{ es = "{a}", pt = "a" }', "messages.toml: cell.idle: placeholders differ: {'es': ['a'], 'pt': []}"),
    ],
)
def test_the_faults_of_a_catalogue_are_found(tmp_path: Path, entry: str, fault: str) -> None:
    assert catalogue(tmp_path, f"[cell]\nidle = {entry}\n").faults() == [fault]


@pytest.mark.parametrize(("text", "written"), [("1.5", "1,5"), ("12", "12"), ("-0.25", "-0,25")])
@pytest.mark.parametrize("lang", messages.LANGUAGES)
def test_numbers_have_a_decimal_comma_in_both_languages(text: str, written: str, lang: str) -> None:
    assert decimal(text, lang) == written


def test_a_number_for_an_unknown_language_is_refused() -> None:
    with pytest.raises(UnknownLanguageError):
        decimal("1.5", "en")
