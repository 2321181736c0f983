"""What of a machine is shown to a learner's process: what Python needs, and nothing that holds answers."""

import sys
from pathlib import Path

import pytest

import graders
import tpu_kernels
from graders.sandbox.folders import arrange, folders_of_this_python

from .conftest import Confine, shown_of

CHECKOUT = Path(graders.__file__).resolve().parents[1]


def made(*paths: Path) -> None:
    for path in paths:
        path.mkdir(parents=True)


def test_of_the_course_only_the_library_is_shown() -> None:
    shown = folders_of_this_python().shown
    assert str(Path(tpu_kernels.__path__[0]).resolve()) in shown
    for name in ("graders", "sistolica", "labs", "tests", ".git"):
        hidden = str(CHECKOUT / name)
        assert not any(hidden == path or hidden.startswith(f"{path}/") for path in shown)


def test_an_import_path_that_is_no_folder_of_packages_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gradebooks, packages = tmp_path / "course", tmp_path / "lib" / "site-packages"
    made(gradebooks, packages)
    monkeypatch.setattr(sys, "path", [*sys.path, str(gradebooks), str(packages)])
    shown = folders_of_this_python().shown
    assert str(packages) in shown
    assert str(gradebooks) not in shown


def test_installed_packages_of_the_course_are_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = tmp_path / "site-packages"
    made(packages / "graders", packages / "sistolica" / "_labs", packages / "numpy")
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    assert {str(packages / "graders"), str(packages / "sistolica")} <= {*folders_of_this_python().masked}


def test_an_environment_made_in_the_course_folder_shows_only_what_was_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "bin", tmp_path / "lib", tmp_path / "submissions")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    shown = folders_of_this_python().shown
    assert {str(tmp_path / "bin"), str(tmp_path / "lib")} <= {*shown}
    assert not {str(tmp_path), str(tmp_path / "submissions")} & {*shown}


def test_what_is_shown_already_is_not_shown_again(tmp_path: Path) -> None:
    made(tmp_path / "lib" / "site-packages")
    folders = arrange([f"{tmp_path}/lib/site-packages", f"{tmp_path}/lib", f"{tmp_path}/absent"], [])
    assert folders.shown == (f"{tmp_path}/lib",)


def test_a_mask_hides_what_is_around_it_and_not_what_is_asked_for_beneath(tmp_path: Path) -> None:
    made(tmp_path / "usr" / "course" / "tpu_kernels", tmp_path / "elsewhere")
    course = f"{tmp_path}/usr/course"
    folders = arrange(
        [f"{tmp_path}/usr", f"{course}/tpu_kernels"], [course, f"{tmp_path}/elsewhere", f"{tmp_path}/absent"]
    )
    assert folders.shown == (f"{tmp_path}/usr", f"{course}/tpu_kernels")
    assert folders.masked == (course,)


def test_links_on_the_way_are_kept_and_what_they_lead_to_is_shown(tmp_path: Path) -> None:
    made(tmp_path / "var" / "users" / "ana" / "venv")
    (tmp_path / "users").symlink_to(tmp_path / "var" / "users")
    (tmp_path / "var" / "users" / "ana" / "current").symlink_to("../ana/venv")
    folders = arrange([f"{tmp_path}/users/ana/current"], [])
    assert folders.shown == (f"{tmp_path}/var/users/ana/venv",)
    assert folders.links == {
        f"{tmp_path}/users": f"{tmp_path}/var/users",
        f"{tmp_path}/var/users/ana/current": "../ana/venv",
    }


def test_links_without_end_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert arrange([f"{tmp_path}/a"], []).shown == ()


@pytest.mark.parametrize("kind", ["root", "user"])
def test_an_installed_grader_is_not_to_be_seen_from_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, confine: Confine, kind: str
) -> None:
    """The wheel puts ``graders`` and ``sistolica``, with the checks of the labs, where the learner's numpy is."""
    packages = tmp_path / "site-packages"
    for name in ("graders", "sistolica", "numpy"):
        made(packages / name)
        (packages / name / "secret.py").write_text("answer = 42\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    look = f"""
        from pathlib import Path
        packages = Path({str(packages)!r})
        say(sorted(str(path.relative_to(packages)) for path in packages.rglob("*")))
        for name in ("graders", "numpy"):
            try:
                (packages / name / "planted.py").touch()
            except OSError as error:
                say(error.strerror)
        """
    seen, *refusals = confine(kind, look).said
    assert seen == ["graders", "numpy", "numpy/secret.py", "sistolica"]
    assert refusals == ["Read-only file system"] * 2


@pytest.mark.parametrize("kind", ["root", "user"])
def test_the_library_is_shown_though_its_checkout_is_hidden(confine: Confine, kind: str) -> None:
    look = f"""
        from pathlib import Path
        say(sorted(path.name for path in Path({str(CHECKOUT)!r}).iterdir()))
        """
    assert confine(kind, look, hidden=[str(CHECKOUT)]).said == [shown_of(CHECKOUT)]


@pytest.mark.parametrize("kind", ["root", "user"])
@pytest.mark.parametrize("writable", [False, True])
def test_compiled_programs_are_read_and_written_only_by_whom_it_is_said(
    tmp_path_factory: pytest.TempPathFactory, confine: Confine, kind: str, writable: bool
) -> None:
    folder = tmp_path_factory.mktemp("xla")
    folder.chmod(0o777)
    (folder / "program").write_text("compiled", encoding="utf-8")
    look = f"""
        from pathlib import Path
        say(Path({str(folder)!r}, "program").read_text())
        try:
            Path({str(folder)!r}, "new").touch()
        except OSError as error:
            say(error.strerror)
        """
    ended = confine(kind, look, cache=str(folder), cache_writable=writable)
    assert ended.said == (["compiled"] if writable else ["compiled", "Read-only file system"])
    assert (folder / "new").exists() == writable
