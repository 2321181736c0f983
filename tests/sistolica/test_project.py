"""Where the course's parts lie, and what its languages are called."""

from pathlib import Path

import pytest
import sphinx
from sphinx import locale

from sistolica.languages import LANGUAGES, language
from sistolica.project import NoProjectError, Project, find_project
from tpu_kernels import messages
from tpu_kernels.messages import UnknownLanguageError


@pytest.fixture
def course(tmp_path: Path) -> Project:
    """A course with two pages in Spanish and one in Portuguese."""
    root = tmp_path / "course"
    for page in ("es/index.md", "es/tpu/array.md", "pt/tpu/array.md", "es/notes.txt"):
        (root / "book" / page).parent.mkdir(parents=True, exist_ok=True)
        (root / "book" / page).touch()
    (root / "lessons" / "tpu").mkdir(parents=True)
    (root / "_toc.yml").touch()
    return Project(root)


@pytest.mark.parametrize("start", [".", "lessons", "lessons/tpu", "book/pt/tpu"])
def test_the_course_is_found_from_every_folder_in_it(course: Project, start: str) -> None:
    assert find_project(course.root / start) == course


def test_the_course_is_found_from_the_working_folder(course: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(course.lessons)
    assert find_project() == course


def test_the_course_is_found_through_a_link(course: Project, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").symlink_to(course.lessons)
    assert find_project(tmp_path / "elsewhere") == course


@pytest.mark.parametrize("missing", ["_toc.yml", "lessons/tpu"])
def test_half_a_course_is_none(course: Project, missing: str) -> None:
    path = course.root / missing
    if path.is_dir():
        path.rmdir()
        path.parent.rmdir()
    else:
        path.unlink()
    with pytest.raises(NoProjectError, match=r"no folder above it holds _toc\.yml and lessons/; cd there first"):
        find_project(course.book)


def test_a_folder_outside_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(NoProjectError) as refused:
        find_project(tmp_path)
    assert str(tmp_path) in str(refused.value)


def test_a_page_has_one_slug_in_every_language(course: Project) -> None:
    assert course.slugs("es") == ["index", "tpu/array"]
    assert course.slugs("pt") == ["tpu/array"]
    for code in ("es", "pt"):
        assert course.prose(code, "tpu/array").is_file()


def test_a_language_without_pages_has_no_slugs(course: Project) -> None:
    assert course.slugs("it") == []


def test_the_parts_lie_in_the_root(course: Project) -> None:
    parts = {course.book, course.lessons, course.labs, course.build}
    assert {part.name for part in parts} == {"book", "lessons", "labs", "_build"}
    assert {part.parent for part in parts} == {course.root}
    assert course.bibliography.parent == course.book


def test_this_checkout_is_a_course() -> None:
    project = find_project(Path(__file__))
    assert project.bibliography.is_file()
    assert project.slugs("es") == project.slugs("pt")
    assert "tpu/architecture" in project.slugs("es")


def test_the_platform_speaks_the_languages_of_the_library() -> None:
    assert tuple(spoken.code for spoken in LANGUAGES) == messages.LANGUAGES


@pytest.mark.parametrize("code", messages.LANGUAGES)
def test_a_language_is_found_by_its_code(code: str) -> None:
    assert language(code).code == code


@pytest.mark.parametrize("code", ["en", "pt-BR", "ES", ""])
def test_an_unknown_language_is_refused(code: str) -> None:
    with pytest.raises(UnknownLanguageError) as refused:
        language(code)
    assert refused.value.got == code


def test_html_tags_begin_with_the_code_of_the_address() -> None:
    assert [spoken.tag.partition("-")[0] for spoken in LANGUAGES] == [spoken.code for spoken in LANGUAGES]


@pytest.mark.parametrize(("code", "search"), [("es", "Búsqueda"), ("pt", "Buscar")])
def test_sphinx_has_texts_under_the_name_that_we_give_it(code: str, search: str) -> None:
    """Under ``pt`` it has a catalogue without a single text."""
    before = dict(locale.translators)
    try:
        locale.init([None, str(Path(sphinx.package_dir) / "locale")], language(code).sphinx)
        assert locale.get_translator().gettext("Search") == search
    finally:
        locale.translators.clear()
        locale.translators.update(before)
