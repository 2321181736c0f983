"""Both languages into one site: ``_build/site/{es,pt}/`` and a root page that picks the reader's language.

Each language is an ordinary Jupyter Book build in a process of its own, over the same ``_config.yml`` and ``_toc.yml``
with only the language changed. A build with nothing changed is recognised by a digest of all that a page can depend on
and does nothing. The site that is served is replaced at the end, whole: a failed build leaves the last good one.
"""

import contextlib
import copy
import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupyter_book
import yaml
from filelock import FileLock

import sistolica
import tpu_kernels
from sistolica.languages import LANGUAGES, Language
from sistolica.project import Project
from sistolica.site.root_page import root_page
from sistolica.site.settings import BuildError, read_config, read_toc

CONTENT = ("_config.yml", "_toc.yml", "book", "lessons")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_BANNER = (
    "Running Jupyter-Book",
    "Source Folder",
    "Config Path",
    "Output Path",
    "=====",
    "Building your book, returns",
)
_TRACEBACK = "Traceback (most recent call last)"
_SKIPPED = frozenset({"__pycache__", "_labs"})


@dataclass(frozen=True)
class Built:
    """The folder of the site, and whether anything had to be done."""

    site: Path
    changed: bool


def build(
    project: Project, base_url: str = "", fresh: bool = False, report: Callable[[str], None] = lambda line: None
) -> Built:
    """Build every language; raises :class:`BuildError` when any fails. The site is then the last good one.

    ``base_url`` is the address that the site will have, for canonical links; ``fresh`` forgets earlier builds (cell
    outputs stay cached, they are keyed by all that they depend on); ``report`` is called with a line of progress.
    """
    _require_jupyter_book_1()
    project.build.mkdir(exist_ok=True)
    with FileLock(project.build / "build.lock"):  # a second build waits: they would write into each other's pages
        return _build(project, base_url, fresh, report)


def _build(project: Project, base_url: str, fresh: bool, report: Callable[[str], None]) -> Built:
    site = project.build / "site"
    stamp = project.build / "site.digest"
    digest = _digest(project, base_url)
    if not fresh and site.is_dir() and stamp.is_file() and stamp.read_bytes() == digest.encode():
        return Built(site, changed=False)
    if fresh:
        for lang in LANGUAGES:
            shutil.rmtree(project.build / "book" / lang.code, ignore_errors=True)
    config, toc = read_config(project.root / "_config.yml"), read_toc(project.root / "_toc.yml")
    tocs = {lang: language_toc(toc, lang) for lang in LANGUAGES}
    _refuse_missing_pages(project, tocs)

    def build_language(lang: Language) -> str | None:
        return _build_language(project, lang, language_config(config, project, lang, base_url), tocs[lang], report)

    with ThreadPoolExecutor(len(LANGUAGES)) as pool:  # one process each; the threads only wait for them
        failures = [failure for failure in pool.map(build_language, LANGUAGES) if failure]
    if failures:
        raise BuildError("\n\n".join(failures))
    stamp.unlink(missing_ok=True)  # it speaks for the site that is about to go
    _publish(project, site, base_url, tocs)
    stamp.write_text(digest)
    return Built(site, changed=True)


def _require_jupyter_book_1() -> None:
    if not jupyter_book.__version__.startswith("1."):
        raise BuildError(
            f"Jupyter Book {jupyter_book.__version__} is installed and reads neither _config.yml nor _toc.yml; "
            "version 1.0.4.post1 is needed: make clean, then make serve"
        )


def _refuse_missing_pages(project: Project, tocs: dict[Language, dict[str, Any]]) -> None:
    missing = [
        f"{page}: this page is missing in its language, and _toc.yml lists it; write it: both languages have the same"
        for lang, toc in tocs.items()
        for page in (project.prose(lang.code, slug) for slug in pages(toc))
        if not page.is_file()
    ]
    if missing:
        raise BuildError("\n".join(missing))


def sources(project: Project) -> list[Path]:
    """The files and folders that a page can depend on: the content, and the packages that turn it into pages."""
    packages = [Path(path) for package in (sistolica, tpu_kernels) for path in package.__path__]
    return [*(project.root / name for name in CONTENT), *packages]


def _digest(project: Project, base_url: str) -> str:
    return hashlib.sha256(f"{base_url}\0{sys.version}\0{_files_digest(sources(project))}".encode()).hexdigest()


def _files_digest(tops: list[Path]) -> str:
    digest = hashlib.sha256()
    for top in tops:
        files = [top] if top.is_file() else sorted(path for path in top.rglob("*") if path.is_file())
        for path in files:
            name = path.relative_to(top.parent)
            if _SKIPPED.isdisjoint(name.parts):
                with contextlib.suppress(FileNotFoundError):  # an editor's temporary file
                    digest.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
    return digest.hexdigest()


def platform_digest() -> str:
    """A digest of this package: its messages and templates are on every page, and Sphinx does not watch them."""
    return _files_digest([Path(path) for path in sistolica.__path__])


def language_config(base: dict[str, Any], project: Project, lang: Language, base_url: str) -> dict[str, Any]:
    """The project's ``_config.yml`` as the book of one language of the two-language site."""
    config = copy.deepcopy(base)
    html = config.setdefault("html", {})
    address = (base_url or html.get("baseurl") or "").rstrip("/")
    html["baseurl"] = f"{address}/{lang.code}/" if address else ""
    config.setdefault("sphinx", {}).setdefault("config", {}).update(
        language=lang.sphinx,
        sistolica_language=lang.code,
        sistolica_site=True,
        sistolica_platform=platform_digest(),
    )
    config["bibtex_bibfiles"] = [str(project.root / path) for path in config.get("bibtex_bibfiles", [])]
    return config


def language_toc(base: dict[str, Any], lang: Language) -> dict[str, Any]:
    """The project's ``_toc.yml`` with paths inside the folder of one language."""

    def inside(entry: Any) -> Any:
        if isinstance(entry, dict):
            return {key: inside(value) for key, value in entry.items()}
        if isinstance(entry, list):
            return [inside(value) for value in entry]
        if isinstance(entry, str):
            return entry.removeprefix(f"book/{LANGUAGES[0].code}/")
        return entry

    toc: dict[str, Any] = inside(base)
    for part in toc.get("parts", []):
        captions = part.pop("captions", None)
        if captions:
            part["caption"] = captions[lang.code]
    return toc


def pages(toc: dict[str, Any]) -> list[str]:
    """The slugs of the pages that the ``_toc.yml`` of one language lists."""
    found = [toc[key].removesuffix(".md") for key in ("root", "file") if isinstance(toc.get(key), str)]
    for value in toc.values():
        if isinstance(value, list):
            found += [slug for entry in value if isinstance(entry, dict) for slug in pages(entry)]
    return found


def _build_language(
    project: Project, lang: Language, config: dict[str, Any], toc: dict[str, Any], report: Callable[[str], None]
) -> str | None:
    folder = project.build / "book" / lang.code
    folder.mkdir(parents=True, exist_ok=True)
    # Sphinx warns of a page only when it reads it: what a failed build has read must be read again.
    unfinished = folder / "unfinished"
    if unfinished.exists():
        shutil.rmtree(folder / "_build" / ".doctrees", ignore_errors=True)
    unfinished.touch()
    _write_if_changed(folder / "_config.yml", yaml.safe_dump(config, allow_unicode=True))
    _write_if_changed(folder / "_toc.yml", yaml.safe_dump(toc, allow_unicode=True, sort_keys=False))
    command = [
        sys.executable,
        "-c",
        "from jupyter_book.cli.main import main; main()",
        "build",
        str(project.book / lang.code),
    ]
    command += [
        "--config",
        str(folder / "_config.yml"),
        "--toc",
        str(folder / "_toc.yml"),
        "--path-output",
        str(folder),
    ]
    command += ["--warningiserror", "--nitpick", "--keep-going", "--quiet"]
    report(f"{lang.name}: building")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    output = f"{done.stdout}\n{done.stderr}".strip()
    if done.returncode:
        return f"{lang.name} ({lang.code}) was not built:\n{what_went_wrong(output)}"
    unfinished.unlink()
    report(f"{lang.name}: built")
    return None


def what_went_wrong(output: str) -> str:
    """What of a failed build's output concerns the author: no colours, no banner, no traceback of Jupyter Book's."""
    lines = _ANSI.sub("", output).splitlines()
    end = next((number for number, line in enumerate(lines) if _TRACEBACK in line), len(lines))
    said = [line for line in lines[:end] if line.strip() and not line.startswith(_BANNER)]
    return "\n".join(said or lines)


def _write_if_changed(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def _publish(project: Project, site: Path, base_url: str, tocs: dict[Language, dict[str, Any]]) -> None:
    fresh = project.build / "site.new"
    shutil.rmtree(fresh, ignore_errors=True)
    for lang in LANGUAGES:
        html = project.build / "book" / lang.code / "_build" / "html"
        _remove_deleted_pages(html, set(pages(tocs[lang])))
        shutil.copytree(html, fresh / lang.code, ignore=shutil.ignore_patterns(".buildinfo*", "_sources", "reports"))
    (fresh / "index.html").write_text(root_page(base_url), "utf-8")
    old = project.build / "site.old"
    shutil.rmtree(old, ignore_errors=True)
    if site.exists():
        site.rename(old)
    fresh.rename(site)
    shutil.rmtree(old, ignore_errors=True)


def _remove_deleted_pages(html: Path, slugs: set[str]) -> None:
    """Sphinx leaves the pages of deleted chapters behind, and nobody else removes their notebooks."""
    for page in html.rglob("*.html"):
        slug = page.relative_to(html).with_suffix("").as_posix()
        if slug not in slugs and slug not in {"search", "genindex"} and not slug.startswith("_static/"):
            page.unlink()
    notebooks = html / "notebooks"
    for notebook in notebooks.rglob("*.ipynb"):
        if notebook.relative_to(notebooks).with_suffix("").as_posix() not in slugs:
            notebook.unlink()
