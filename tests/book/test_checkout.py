"""What every file of the checkout must hold: no machine's paths, no registry's host, whole licences, one version."""

import re
import struct
import subprocess
import tomllib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

# Each word is split, so that this file does not name what it looks for.
REGISTRIES = (
    *("py" + "pi.org", "pythonhosted" + ".org", "npm" + "js.org", "npm" + "js.com", "registry.yarn" + "pkg.com"),
    *("conda" + ".anaconda.org", "static.crates" + ".io", "proxy.golang" + ".org"),
)
FOREIGN_PATH = re.compile(
    r"(?<![\w.~-])/(?:wo" + r"rk|ro" + r"ot|ho" + r"me)/\w"  # an address goes on after a letter: example.org/home/x
    r"|/tmp" + r"/w\b"
    r"|(?:\.\./|(?<![\w./-]))sha" + r"red/"
)

# creativecommons/creativecommons.org, docroot/legalcode/by_4.0.txt
LEGAL_CODE = "9ba9550ad48438d0836ddab3da480b3b69ffa0aac7b7878b5a0039e7ab429411"


def lines_that(root: Path, files: list[Path], wrong: Callable[[str], object]) -> list[str]:
    found = []
    for path in files:
        try:
            text = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:  # an image
            continue
        found += [
            f"{path}:{number}: {line.strip()[:100]}" for number, line in enumerate(text.splitlines(), 1) if wrong(line)
        ]
    return found


def names_a_registry(line: str) -> bool:
    return any(host in line.lower() for host in REGISTRIES)


def test_no_file_names_a_package_registry(root: Path, files: list[Path]) -> None:
    assert lines_that(root, files, names_a_registry) == []


def test_no_file_names_a_path_of_one_machine(root: Path, files: list[Path]) -> None:
    assert lines_that(root, files, FOREIGN_PATH.search) == []


@pytest.mark.parametrize(
    "line",
    [
        "see /wo" + "rk/main/x",
        '"/ho' + 'me/ana"',
        "cd /ro" + "ot/x",
        "/tmp" + "/w/SPEC",
        "../sha" + "red/notes",
        "`sha" + "red/facts`",
    ],
)
def test_a_path_of_one_machine_is_recognised(line: str) -> None:
    assert FOREIGN_PATH.search(line)


@pytest.mark.parametrize("line", ["https://example.org/home/x", "--tmpfs /home", "a/shared/b", "/tmp/within"])
def test_other_paths_are_left_alone(line: str) -> None:
    assert not FOREIGN_PATH.search(line)


@pytest.mark.parametrize("host", REGISTRIES)
def test_a_registry_is_recognised(host: str) -> None:
    assert names_a_registry(f"see {host.upper()}/x")


def test_the_listing_holds_the_course_and_nothing_that_was_built(files: list[Path]) -> None:
    assert {Path("README.md"), Path("sistolica/cli.py"), Path("book/terms.csv")} <= {*files}
    assert {path.parts[0] for path in files} & {".git", ".venv", "_build"} == set()


def test_without_git_the_listing_leaves_out_what_is_ignored(
    tmp_path: Path, list_files: Callable[[Path], list[Path]]
) -> None:
    for name in (".gitignore", "README.md", "a/b.py", "a/__pycache__/b.pyc", "x.egg-info/PKG", ".git/HEAD"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("__pycache__/\n# a note\n*.egg-info/\n")
    assert [path.as_posix() for path in list_files(tmp_path)] == [".gitignore", "README.md", "a/b.py"]


def test_with_git_the_listing_is_what_git_tracks(tmp_path: Path, list_files: Callable[[Path], list[Path]]) -> None:
    for name in ("deep/tracked.md", "notes.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    try:
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    except FileNotFoundError:
        pytest.skip("no git")
    subprocess.run(["git", "-C", str(tmp_path), "add", "deep"], check=True)
    assert list_files(tmp_path) == [Path("deep/tracked.md")]


def project_table(root: Path) -> dict[str, object]:
    table: dict[str, object] = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def test_the_code_is_under_mit(root: Path) -> None:
    text = (root / "LICENSE").read_text("utf-8")
    assert text.startswith("MIT License\n\nCopyright (c) 2026 Sistólica contributors\n")
    assert "WITHOUT WARRANTY OF ANY KIND" in text


def test_the_texts_are_under_the_whole_of_cc_by(root: Path) -> None:
    text = (root / "LICENSE-CC-BY-4.0").read_text("utf-8")
    assert text.startswith("Attribution 4.0 International\n")
    assert re.findall(r"^Section (\d) -- ", text, re.MULTILINE) == list("12345678")
    assert sha256(text.encode()).hexdigest() == LEGAL_CODE


def test_the_package_carries_both_licences(root: Path) -> None:
    project = project_table(root)
    assert project["license"] == "MIT AND CC-BY-4.0"
    assert project["license-files"] == ["LICENSE", "LICENSE-CC-BY-4.0"]


def test_the_citation_is_complete_and_of_this_version(root: Path) -> None:
    citation = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["message"] and citation["title"] and citation["abstract"]
    assert citation["version"] == project_table(root)["version"]
    assert citation["authors"] == [{"name": "Sistólica contributors"}]  # an entity: no person is named
    assert citation["type"] == "software"
    assert citation["license"] == "MIT"


def test_the_screenshot_is_an_image_that_a_phone_can_afford(root: Path) -> None:
    image = (root / ".github" / "screenshot.png").read_bytes()
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", image[16:24])
    assert (width, height < width) == (1200, True)
    assert len(image) < 200_000
