"""Settings that a builder accepts in silence and that break the published course.

Each rule comes from a repeated report: a plain install of jupyter-book that jumped to version 2, which ignores
``_config.yml`` and ``_toc.yml``; a Colab button that led to the default branch ``master`` and no folder, found only
after publishing; a language put under ``sphinx:`` instead of ``sphinx.config:``, ignored without a word.

It cannot see whether the published addresses answer, nor branches other than the one that is configured.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import InvalidRequirement, Requirement

from sistolica.check.fault import Findings
from sistolica.check.page import Page
from sistolica.check.spoken import read_toml
from sistolica.lesson import LessonError
from sistolica.lesson.source import read_source, split_lines
from sistolica.project import Project

_LAUNCHERS = ("binderhub_url", "jupyterhub_url", "thebe", "colab_url", "deepnote_url")
_SECTIONS = ("sphinx", "launch_buttons", "repository")
_SPHINX_KEYS = ("config", "extra_extensions", "local_extensions", "recursive_update")
_COLAB = re.compile(
    r"https://colab\.research\.google\.com/github/(?P<repository>[^/]+/[^/]+)/blob/(?P<branch>[^/]+)/(?P<path>[^?#]+)"
)
_NAMED = re.compile(r"jupyter[-_.]book(?![\w.-]*[-_.]\w)", re.IGNORECASE)


def check_builder_version(project: Project, findings: Findings) -> None:
    """Every file that asks for jupyter-book keeps version 2 out, and pyproject.toml asks for it."""
    pyproject = project.root / "pyproject.toml"
    asked = list(_asked_in_pyproject(pyproject, findings))
    if not asked:
        findings.add(
            "builder",
            pyproject,
            1,
            got="no requirement on jupyter-book",
            expected="one that keeps version 2 out",
            cure="Add jupyter-book with <2, or pinned",
        )
    for path in sorted({*project.root.glob("*requirements*.txt"), *project.root.glob("*constraints*.txt")}):
        asked += _asked_in_list(path)
    for path, line, text in asked:
        findings.count("builder requirements")
        if _lets_version_2_in(text):
            findings.add(
                "builder",
                path,
                line,
                got=text,
                expected="version 2 kept out",
                cure="Pin it (==1.…) or add <2: version 2 ignores _config.yml and _toc.yml",
            )


def _lets_version_2_in(text: str) -> bool:
    try:
        return Requirement(text).specifier.contains("2.0.0", prereleases=True)
    except InvalidRequirement:
        return True  # what cannot be read keeps nothing out


def _asked_in_pyproject(path: Path, findings: Findings) -> Iterator[tuple[Path, int, str]]:
    source, tables = read_toml(path, findings)
    project = tables.get("project", {})
    lists = [project.get("dependencies", []), tables.get("build-system", {}).get("requires", [])]
    lists += [*project.get("optional-dependencies", {}).values(), *tables.get("dependency-groups", {}).values()]
    for text in (text for requirements in lists for text in requirements if isinstance(text, str)):
        if _NAMED.match(text):
            line = next(number for number, words in enumerate(split_lines(source), start=1) if text in words)
            yield path, line, text


def _asked_in_list(path: Path) -> Iterator[tuple[Path, int, str]]:
    for number, text in enumerate(split_lines(path.read_text(encoding="utf-8")), start=1):
        if _NAMED.match(text):
            yield path, number, re.split(r"\s+(?:--|\\|#)", text)[0].strip()


def read_book_settings(project: Project, findings: Findings) -> dict[str, Any]:
    """What ``_config.yml`` says; a file that cannot be read becomes a fault and says nothing."""
    path = project.root / "_config.yml"
    try:
        found = yaml.safe_load(read_source(path, "no such file", "Create it"))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        findings.add("settings", path, line, got=f"{error.problem}", expected="YAML", cure="Correct it")
        return {}
    except LessonError as error:
        findings.add("settings", path, error.line, got=error.problem, expected="YAML in UTF-8", cure=error.cure)
        return {}
    if not isinstance(found, dict):
        return {}
    for section in _SECTIONS:
        if not isinstance(found.get(section) or {}, dict):
            got = f"{section}: {found.pop(section)!r}"
            findings.add("settings", path, 1, got=got, expected="key: value lines below it", cure="Correct it")
    return found


def check_book_settings(project: Project, settings: Mapping[str, Any], findings: Findings) -> None:
    """Launch buttons name a whole address in the repository, and settings stand where the builder reads them."""
    path = project.root / "_config.yml"
    sphinx = settings.get("sphinx") or {}
    for key in sphinx:
        if key not in _SPHINX_KEYS:
            findings.add(
                "settings",
                path,
                _key_line(path, "sphinx", key),
                got=f"{key} under sphinx:",
                expected=f"only {', '.join(_SPHINX_KEYS)}",
                cure="Move it under sphinx.config: the builder ignores it where it is",
            )
    buttons = settings.get("launch_buttons") or {}
    repository = settings.get("repository") or {}
    for button in _LAUNCHERS:
        if buttons.get(button):
            findings.count("launch buttons")
            for got, cure in _gaps(repository, project.root):
                line = _key_line(path, "launch_buttons", button)
                findings.add(
                    "launch", path, line, got=f"{button} with {got}", expected="repository complete", cure=cure
                )


def _gaps(repository: Mapping[str, Any], root: Path) -> Iterator[tuple[str, str]]:
    if not repository.get("url"):
        yield "no repository.url", "Set it, or remove the button"
    if not repository.get("branch"):
        yield "no repository.branch", "Set it: the builder's default is master"
    folder = repository.get("path_to_book")
    if folder is None:
        yield "no repository.path_to_book", "Set it to the folder of _config.yml in the repository ('' for its root)"
    elif not (root / folder).is_dir():
        yield f"path_to_book {folder!r}, which does not exist", "Name a folder of the repository"


def check_colab_links(project: Project, settings: Mapping[str, Any], pages: Iterable[Page], findings: Findings) -> None:
    """A link into Colab leads to the configured repository and branch, and to a file that is there."""
    repository = settings.get("repository") or {}
    home = re.sub(r"^https://github\.com/|(?:\.git)?/?$", "", repository.get("url") or "")
    branch = repository.get("branch") or ""
    for page in pages:
        for link in page.links:
            found = _COLAB.match(link.key)
            if found is None:
                continue
            findings.count("links into Colab")
            wrong = _wrong_in(found, home, branch, project.root)
            if wrong:
                findings.add(
                    "launch",
                    page.path,
                    link.line,
                    got=f"{link.key}, with {wrong}",
                    expected=f"a file of {home or 'repository.url'} on {branch or 'repository.branch'}",
                    cure="Correct the link, or complete repository: in _config.yml",
                )


def _wrong_in(link: re.Match[str], home: str, branch: str, root: Path) -> str:
    if link["repository"] != home:
        return f"repository {link['repository']}"
    if link["branch"] != branch:
        return f"branch {link['branch']}"
    if "*" not in link["path"] and not (root / link["path"]).is_file():
        return f"path {link['path']}, which does not exist"
    return ""


def _key_line(path: Path, section: str, key: str) -> int:
    """The line of ``section.key``."""
    root = yaml.compose(path.read_text(encoding="utf-8"))
    for name in (section, key):
        assert isinstance(root, yaml.MappingNode)
        key_node, root = next(pair for pair in root.value if pair[0].value == name)
    return int(key_node.start_mark.line) + 1
