"""The documents tell the truth: what they name exists, what they tell a reader to type is accepted.

They cannot be seen to lie about what a command does; the commands' own tests are for that.
"""

import ast
import importlib
import inspect
import itertools
import re
import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import typer.main
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sistolica.cli import app
from tpu_kernels.messages import LANGUAGES

ROOT = Path(__file__).resolve().parents[2]
READMES = ("README.md", "README.es.md", "README.pt.md")
GUIDES = ("ARCHITECTURE.md", "CONTRIBUTING.md")
PAGES = tuple(f"book/{language}/using-the-course.md" for language in LANGUAGES)
PACKAGES = ("tpu_kernels", "graders", "sistolica")
LONGEST_ARCHITECTURE = 150  # lines: one page


@dataclass
class Document:
    """A Markdown file: what stands in it besides running text, in order."""

    path: Path
    text: str
    headings: list[int] = field(default_factory=list)
    fences: list[str] = field(default_factory=list)
    spans: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    images: list[tuple[str, str]] = field(default_factory=list)
    table_rows: int = 0

    def commands(self, program: str) -> list[str]:
        """What a reader is told to type that calls ``program``: lines of code blocks, and code spans."""
        lines = [line.strip() for fence in self.fences for line in fence.splitlines()]
        return [line for line in [*lines, *self.spans] if line.startswith(f"{program} ")]

    def paths(self, top_folders: set[str]) -> set[str]:
        """Code spans that name one file or folder of the checkout."""
        named = re.compile(rf"(?:{'|'.join(map(re.escape, top_folders))})/[\w./-]*")
        return {span for span in self.spans if named.fullmatch(span)}


def read_document(path: Path) -> Document:
    document = Document(path, path.read_text(encoding="utf-8"))
    for token in MarkdownIt().enable("table").parse(document.text):
        _note(document, token)
    return document


def _note(document: Document, token: Token) -> None:
    match token.type:
        case "heading_open":
            document.headings.append(int(token.tag[1:]))
        case "fence":
            document.fences.append(token.content)
        case "tr_open":
            document.table_rows += 1
        case "code_inline":
            document.spans.append(token.content)
        case "link_open":
            document.links.append(str(token.attrs["href"]))
        case "image":
            document.images.append((str(token.attrs["src"]), token.content))
            return  # its children are its alternative text
    for child in token.children or []:
        _note(document, child)


def documents(*names: str) -> list[Document]:
    return [read_document(ROOT / name) for name in names]


def in_any_language(link: str) -> str:
    """The link with the reader's language left open: each README leads to its own book."""
    return re.sub(rf"^book/(?:{'|'.join(LANGUAGES)})/", "book/*/", link)


# The three READMEs are peers.


@pytest.mark.parametrize("name", READMES)
def test_each_readme_leads_to_its_peers_at_the_top(name: str) -> None:
    top = "\n".join((ROOT / name).read_text(encoding="utf-8").splitlines()[:5])
    assert {peer for peer in READMES if f"({peer})" in top} == {*READMES} - {name}


@pytest.mark.parametrize("name", READMES[1:])
def test_the_readmes_have_the_same_structure_commands_and_links(name: str) -> None:
    english, other = documents("README.md", name)
    assert other.headings == english.headings
    assert other.fences == english.fences
    assert other.table_rows == english.table_rows
    assert sorted(other.spans) == sorted(english.spans)
    assert [source for source, _ in other.images] == [source for source, _ in english.images]
    ours, theirs = ({in_any_language(link) for link in document.links} - {*READMES} for document in (english, other))
    assert theirs == ours


def test_each_readme_describes_its_images_in_its_own_words() -> None:
    alternatives = [text for document in documents(*READMES) for _, text in document.images]
    assert all(alternatives)
    assert len(set(alternatives)) == len(alternatives) == len(READMES)


@pytest.mark.parametrize("name", READMES)
def test_each_readme_lists_the_chapters_and_labs_that_exist(name: str) -> None:
    listed = {in_any_language(link) for link in documents(name)[0].links}
    chapters = {path.relative_to(ROOT / "lessons").with_suffix("") for path in (ROOT / "lessons").glob("*/*.py")}
    labs = {path.parent.name for path in (ROOT / "labs").glob("*/lab.toml")}
    assert {link for link in listed if link.startswith("book/*/")} == {f"book/*/{slug}.md" for slug in chapters}
    assert {link for link in listed if link.startswith("labs/")} == {f"labs/{lab}" for lab in labs}


@pytest.mark.parametrize("name", READMES)
def test_each_readme_asks_for_the_python_that_the_package_asks_for(name: str) -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"].removeprefix(
        ">="
    )
    assert re.findall(r"Python (3\.\d+)", documents(name)[0].text) == [needed]


@pytest.mark.parametrize("name", READMES)
def test_each_readme_names_every_folder(name: str, top_folders: set[str]) -> None:
    shown = {folder for folder in top_folders if not folder.startswith(".")}
    assert shown - {span.rstrip("/") for span in documents(name)[0].spans} == set()


# The map of the code.


def packages() -> list[str]:
    """Every package and subpackage, as a path."""
    inits = (path for package in PACKAGES for path in (ROOT / package).rglob("__init__.py"))
    return sorted(path.parent.relative_to(ROOT).as_posix() for path in inits)


def unnamed(text: str, paths: list[str]) -> list[str]:
    """Which of ``paths`` the text does not name, with slashes or with dots."""

    def pattern(path: str) -> str:
        return rf"(?<![\w./]){'[/.]'.join(map(re.escape, path.split('/')))}(?!\w)"

    return [path for path in paths if not re.search(pattern(path), text)]


def test_the_architecture_names_every_package() -> None:
    found = packages()
    assert {"tpu_kernels", "tpu_kernels/models", "graders", "sistolica/lesson", "sistolica/site"} <= {*found}
    assert unnamed((ROOT / "ARCHITECTURE.md").read_text("utf-8"), found) == []


def test_the_architecture_names_every_top_folder(top_folders: set[str]) -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    assert [name for name in sorted(top_folders) if not any(form in text for form in (f"`{name}`", f"{name}/"))] == []


def test_a_package_that_is_not_named_is_found_out() -> None:
    text = "sistolica/lesson, sistolica.site, sistolica_check"
    assert unnamed(text, ["sistolica/lesson", "sistolica/site", "sistolica/check", "lesson"]) == [
        "sistolica/check",
        "lesson",
    ]


def test_the_architecture_is_one_page() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines()) <= LONGEST_ARCHITECTURE


# What documents point at.


@pytest.mark.parametrize("name", [*READMES, *GUIDES])
def test_linked_files_exist(name: str) -> None:
    document = documents(name)[0]
    targets = [link for link in [*document.links, *(source for source, _ in document.images)] if "://" not in link]
    assert targets
    assert [target for target in targets if not (ROOT / target.partition("#")[0]).exists()] == []


@pytest.mark.parametrize("name", GUIDES)
def test_named_paths_exist(name: str, top_folders: set[str]) -> None:
    paths = documents(name)[0].paths(top_folders)
    assert paths
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", GUIDES)
def test_named_modules_and_their_members_exist(name: str) -> None:
    dotted = re.compile(rf"(?:{'|'.join(PACKAGES)})(?:\.\w+)+")
    spans = {span for span in documents(name)[0].spans if dotted.fullmatch(span)}
    assert [span for span in sorted(spans) if not _resolves(span)] == []


def _resolves(dotted: str) -> bool:
    """Whether ``a.b.c`` is a module, or a name that the module ``a.b`` defines."""
    path = ROOT.joinpath(*dotted.split("."))
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    module = path.parent.with_suffix(".py") if not path.parent.is_dir() else path.parent / "__init__.py"
    return module.is_file() and re.search(rf"\b{path.name}\b", module.read_text("utf-8")) is not None


def test_a_module_that_does_not_exist_is_found_out() -> None:
    assert _resolves("tpu_kernels.models.systolic")
    assert _resolves("tpu_kernels.models.systolic.simulate")
    assert not _resolves("tpu_kernels.models.diastolic")


# What documents tell a reader to type.


class RefusedError(Exception):
    """The command line would not accept this."""


def parse_command(line: str) -> None:
    """Let the command line's own parser read ``line`` without running it; :class:`RefusedError` when it refuses."""
    words = shlex.split(line, comments=True)
    command: Any = typer.main.get_command(app)
    context = None
    while hasattr(command, "commands"):  # a group: sistolica, sistolica labs
        name, words = words[0], words[1:]
        if not words or words[0] not in command.commands:
            raise RefusedError(f"{line}: {name} knows {', '.join(command.commands)}")
        context = command.make_context(name, [], parent=context, resilient_parsing=True)
        command = command.commands[words[0]]
    try:
        command.make_context(words[0], words[1:], parent=context)
    except Exception as error:
        raise RefusedError(f"{line}: {error}") from error


@pytest.mark.parametrize("name", [*READMES, *GUIDES, *PAGES])
def test_commands_in_documents_are_accepted(name: str) -> None:
    lines = documents(name)[0].commands("sistolica")
    assert lines
    for line in lines:
        parse_command(line)


@pytest.mark.parametrize(
    "line",
    [
        "sistolica",
        "sistolica bild",
        "sistolica build --speed",
        "sistolica notebooks",  # --out is missing
        "sistolica serve --port many",
        "sistolica labs",
        "sistolica build now",
    ],
)
def test_a_command_that_does_not_exist_is_refused(line: str) -> None:
    with pytest.raises(RefusedError):
        parse_command(line)


def make_targets(text: str) -> set[str]:
    """What a Makefile can be asked for, with the variables in the names of its targets expanded."""
    values = dict(re.findall(r"^(\w+) :?\??= (.*)$", text, re.MULTILINE))
    targets = " ".join(re.findall(r"^([^\s:=#][^:=#]*):(?!=)", text, re.MULTILINE))
    while (expanded := re.sub(r"\$\((\w+)\)", lambda found: values[found[1]], targets)) != targets:
        targets = expanded
    return {*targets.split()}


def test_targets_of_make_are_read_with_their_variables() -> None:
    text = "A := .venv\nB := $(A)/lib\n\n.PHONY: all\nall: $(B)/ready\n\techo: no\n$(B)/ready $(A)/made: x | y\n"
    assert make_targets(text) == {".PHONY", "all", ".venv/lib/ready", ".venv/made"}


@pytest.mark.parametrize("name", [*READMES, *GUIDES])
def test_documents_name_targets_that_make_has(name: str) -> None:
    targets = make_targets((ROOT / "Makefile").read_text("utf-8"))
    asked = [shlex.split(line, comments=True)[1] for line in documents(name)[0].commands("make")]
    assert asked
    assert {*asked} - targets == set()


def bind_calls(code: str) -> list[str]:
    """The functions that ``code`` imports and calls; ``TypeError`` for a call that does not fit one's signature."""
    tree = ast.parse(code)
    known = {
        each.name: getattr(importlib.import_module(node.module), each.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for each in node.names
    }
    called = []
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in known:
            keywords = {str(given.arg): given.value for given in call.keywords}
            inspect.signature(known[call.func.id]).bind(*call.args, **keywords)
            called.append(call.func.id)
    return called


def test_python_in_the_readmes_calls_what_exists_as_it_wants_to_be_called() -> None:
    blocks = [fence for fence in documents("README.md")[0].fences if fence.startswith(("import ", "from "))]
    called = [name for block in blocks for name in bind_calls(block)]
    assert sorted(called) == ["all_reduce", "compare", "matmul", "plan", "simulate_devices", "slice_mesh", "xray"]


def test_a_bad_call_is_found_out() -> None:
    with pytest.raises(TypeError, match="speed"):
        bind_calls("from tpu_kernels.kernels import plan\nplan(a, b, speed=3)")


def test_every_readme_shows_the_two_commands() -> None:
    for document, target in itertools.product(documents(*READMES), ("serve", "test")):
        assert f"make {target}" in document.commands("make")


def test_commands_of_pytest_name_tests_that_exist() -> None:
    lines = documents("CONTRIBUTING.md")[0].commands("pytest")
    targets = [word for line in lines for word in shlex.split(line) if word.startswith("tests")]
    assert targets
    for target in targets:
        path, _, test = target.partition("::")
        assert (ROOT / path).exists()
        assert not test or f"def {test}(" in (ROOT / path).read_text("utf-8")
