"""Both languages become one site, and what changes in the sources changes in it."""

import copy
import time
from unittest.mock import Mock, call

import pytest
import yaml

from sistolica.languages import LANGUAGES, PORTUGUESE, SPANISH
from sistolica.project import Project
from sistolica.site import build as builder
from sistolica.site import languages
from sistolica.site.build import BuildError, build, language_config, language_toc, pages, what_went_wrong

SLUGS = ("index", "part/cells", "words")


@pytest.fixture
def no_process(monkeypatch):
    """Nothing may be built: a language is built in a process."""

    def refuse(*args, **kwargs):
        raise AssertionError("a build was started")

    monkeypatch.setattr(builder.subprocess, "run", refuse)


class TestASite:
    @pytest.mark.parametrize("lang", LANGUAGES, ids=lambda lang: lang.code)
    def test_has_every_page_in_a_language_that_it_names(self, site, lang):
        found = site.pages(lang.code)
        assert set(found) == {f"{lang.code}/{slug}.html" for slug in (*SLUGS, "search")}
        assert {page.html["lang"] for page in found.values()} == {lang.tag}

    @pytest.mark.parametrize("lang", LANGUAGES, ids=lambda lang: lang.code)
    def test_offers_code_pages_as_notebooks(self, site, lang):
        notebooks = site.folder / lang.code / "notebooks"
        assert [path.relative_to(notebooks).as_posix() for path in notebooks.rglob("*.*")] == ["part/cells.ipynb"]
        assert site.page(f"{lang.code}/part/cells.html").select("a.notebook-link[href$='notebooks/part/cells.ipynb']")
        assert not site.page(f"{lang.code}/words.html").select("a.notebook-link")

    def test_serves_every_asset_from_its_own_origin(self, site):
        for lang in LANGUAGES:
            for name, page in site.pages(lang.code).items():
                loaded = [tag["src"] for tag in page.select("script[src], img[src]")]
                loaded += [
                    tag["href"] for tag in page.select("link[rel=stylesheet], link[rel=icon], link[rel=preload]")
                ]
                assert loaded
                for address in loaded:
                    assert "//" not in address, (name, address)
                    target = (site.folder / name).parent / address.partition("?")[0]
                    assert target.is_file(), (name, address)

    def test_holds_no_sources_and_no_leftovers_of_the_build(self, site):
        names = {path.name for path in site.folder.rglob("*")}
        assert names.isdisjoint({"_sources", ".buildinfo", "reports", ".doctrees", "environment.pickle"})

    def test_every_link_between_pages_and_places_leads_somewhere(self, site):
        for lang in LANGUAGES:
            parsed = site.pages(lang.code)
            anchors = {name: {tag["id"] for tag in page.select("[id]")} for name, page in parsed.items()}
            for name, page in parsed.items():
                for tag in page.select("a[href]"):
                    address, _, anchor = tag["href"].partition("#")
                    if "//" in address or address.endswith(".ipynb"):
                        continue
                    path = ((site.folder / name).parent / address).resolve() if address else site.folder / name
                    assert path.is_file(), (name, tag["href"])
                    target = path.relative_to(site.folder.resolve()).as_posix()
                    if anchor and target in anchors:
                        assert anchor in anchors[target], (name, tag["href"])

    def test_search_index_is_loaded_where_one_searches_only(self, site):
        for name, page in site.pages("es").items():
            loads = bool(page.select("script[src*='searchindex.js']"))
            assert loads == (name == "es/search.html"), name


class TestTheOtherLanguage:
    @pytest.mark.parametrize(
        ("name", "up"), [("index.html", "../"), ("part/cells.html", "../../"), ("search.html", "../")]
    )
    def test_is_one_link_away_on_the_same_page(self, site, name, up):
        (link,) = site.page(f"es/{name}").select("a.language-switch")
        assert (link["href"], link["lang"], link["hreflang"], link.text) == (
            f"{up}pt/{name}",
            "pt-BR",
            "pt-BR",
            "Português",
        )
        (back,) = site.page(f"pt/{name}").select("a.language-switch")
        assert (back["href"], back["lang"], back.text) == (f"{up}es/{name}", "es", "Español")

    def test_is_told_to_machines(self, site):
        for lang in LANGUAGES:
            page = site.page(f"{lang.code}/part/cells.html")
            assert [tag["href"] for tag in page.select("link[rel=canonical]")] == [f"../../{lang.code}/part/cells.html"]
            alternates = {tag["hreflang"]: tag["href"] for tag in page.select("link[rel=alternate][hreflang]")}
            assert alternates == {
                "es": "../../es/part/cells.html",
                "pt-BR": "../../pt/part/cells.html",
                "x-default": "../../",
            }

    def test_root_page_offers_both_without_scripts(self, site):
        page = site.page("index.html")
        assert [(tag["href"], tag["lang"], tag.text) for tag in page.select("main a")] == [
            ("es/index.html", "es", "Español"),
            ("pt/index.html", "pt-BR", "Português"),
        ]
        assert page.html["lang"] == "es"
        assert page.select_one("link[rel=canonical]")["href"] == "./"


def test_nothing_changed_builds_nothing(small_course, no_process):
    index = small_course.build / "site" / "es" / "index.html"
    before = index.stat().st_mtime_ns
    started = time.monotonic()

    built = build(small_course)

    assert (built.site, built.changed) == (small_course.build / "site", False)
    assert time.monotonic() - started < 5
    assert index.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "book/pt/words.md").write_text("# Outra\n"),
        lambda root: (root / "lessons/part/cells.py").unlink(),
        lambda root: (root / "lessons/part/cells.py").rename(root / "lessons/cells.py"),
        lambda root: (root / "_config.yml").write_text((root / "_config.yml").read_text() + "\n"),
        lambda root: (root / "book/es/new.md").write_text(""),
    ],
)
def test_any_changed_source_asks_for_a_build(course, no_process, change):
    assert not build(course).changed
    change(course.root)
    with pytest.raises(AssertionError, match="a build was started"):
        build(course)


def test_a_published_address_and_a_changed_platform_ask_for_a_build(course, no_process, monkeypatch):
    with pytest.raises(AssertionError, match="a build was started"):
        build(course, base_url="https://example.org/")
    with pytest.raises(AssertionError, match="a build was started"):
        build(course, fresh=True)
    digest = builder.platform_digest()
    monkeypatch.setattr(builder.sistolica, "__path__", [str(course.book)])
    assert builder.platform_digest() != digest
    with pytest.raises(AssertionError, match="a build was started"):
        build(course)


def test_a_site_follows_its_sources(course):
    """One copy lives through several changes, because each build costs seconds."""
    words = course.prose("es", "words")
    words.write_text(words.read_text("utf-8").replace("# Palabras", "# Vocablos", 1), encoding="utf-8")
    lines = []
    built = build(course, base_url="https://example.org/curso/", report=lines.append)
    site = built.site

    def text(name):
        return (site / name).read_text(encoding="utf-8")

    # a changed title shows on its page and in the side bar of every other
    assert built.changed
    assert sorted(lines) == ["Español: building", "Español: built", "Português: building", "Português: built"]
    for name in ("es/index.html", "es/words.html", "es/part/cells.html", "es/search.html"):
        assert "Vocablos" in text(name), name
        assert "Palabras" not in text(name), name
    assert "Palavras" in text("pt/index.html")

    # with an address, the links for machines are absolute, those for readers are not
    page = text("es/part/cells.html")
    for address in ("es/part/cells.html", "pt/part/cells.html", ""):
        assert f'href="https://example.org/curso/{address}"' in page
    assert 'class="language-switch btn btn-sm" href="../../pt/part/cells.html"' in page
    assert 'rel="canonical" href="https://example.org/curso/"' in text("index.html")

    # only the side bar of a page changes with another's title: an incremental build must write it again
    words.write_text(words.read_text("utf-8").replace("# Vocablos", "# Léxico", 1), encoding="utf-8")
    build(course, base_url="https://example.org/curso/")
    assert "Léxico" in text("es/part/cells.html")
    assert "Vocablos" not in text("es/part/cells.html")

    # a page that leaves the contents leaves the site, although its file stays, and so does its notebook
    toc = course.root / "_toc.yml"
    toc.write_text(toc.read_text("utf-8").replace("  - file: book/es/part/cells\n", ""), encoding="utf-8")
    for lang in ("es", "pt"):
        index = course.prose(lang, "index")
        index.write_text("\n".join(index.read_text("utf-8").split("\n")[:2]) + "\n", encoding="utf-8")
        exercises = course.prose(lang, "words")
        assert "small-cells" not in exercises.read_text("utf-8")
    course.prose("es", "words").with_name("deleted.md").touch()
    build(course)
    assert {path.name for path in site.rglob("cells*")} == set()
    assert "part/cells" not in text("es/searchindex.js")
    assert (site / "es/words.html").is_file()


BASE = {"title": "t", "html": {"baseurl": ""}, "sphinx": {"config": {"language": "es", "numfig": True}}}
TOC = {
    "format": "jb-book",
    "root": "book/es/index",
    "parts": [
        {
            "captions": {"es": "Uno", "pt": "Um"},
            "chapters": [{"file": "book/es/a.md", "sections": [{"file": "book/es/x/b"}]}, {"url": "https://e.org"}],
        },
        {"chapters": [{"file": "book/es/c"}]},
    ],
}


class TestConfiguration:
    def test_only_the_language_changes(self, tmp_path):
        before = copy.deepcopy(BASE)
        config = language_config(BASE, Project(tmp_path), PORTUGUESE, "")
        assert before == BASE
        assert config["sphinx"]["config"]["language"] == "pt_BR"
        assert config["sphinx"]["config"]["sistolica_language"] == "pt"
        assert config["sphinx"]["config"]["numfig"] is True
        assert config["html"]["baseurl"] == ""

    def test_the_messages_and_templates_of_the_platform_are_part_of_it(self, tmp_path, monkeypatch):
        """Sphinx watches none of them: by this value, which is part of its environment, it reads every page again."""
        before = language_config(BASE, Project(tmp_path), SPANISH, "")["sphinx"]["config"]["sistolica_platform"]
        (tmp_path / "messages.toml").touch()
        monkeypatch.setattr(builder.sistolica, "__path__", [str(tmp_path)])
        after = language_config(BASE, Project(tmp_path), SPANISH, "")["sphinx"]["config"]["sistolica_platform"]
        assert before != after
        app = Mock()
        languages.setup(app)
        assert call("sistolica_platform", "", "env") in app.add_config_value.mock_calls

    @pytest.mark.parametrize("given", ["https://example.org", "https://example.org/"])
    def test_an_address_gets_the_language(self, tmp_path, given):
        written = {**BASE, "html": {"baseurl": given}}
        assert language_config(written, Project(tmp_path), SPANISH, "")["html"]["baseurl"] == "https://example.org/es/"
        wins = language_config(written, Project(tmp_path), SPANISH, "https://other.org/x")
        assert wins["html"]["baseurl"] == "https://other.org/x/es/"

    @pytest.mark.parametrize("broken", [{}, {"sphinx": {"language": "es"}}, {"html": {}, "sphinx": {}}])
    def test_the_language_stands_where_sphinx_reads_it_whatever_the_author_wrote(self, tmp_path, broken):
        config = language_config(broken, Project(tmp_path), PORTUGUESE, "")
        assert config["sphinx"]["config"]["language"] == "pt_BR"

    def test_contents_are_the_same_inside_each_language(self):
        toc = language_toc(TOC, PORTUGUESE)
        assert toc["root"] == "index"
        assert [part.get("caption") for part in toc["parts"]] == ["Um", None]
        assert pages(toc) == ["index", "a", "x/b", "c"]
        assert pages(language_toc(TOC, SPANISH)) == pages(toc)


class TestBeforeBuilding:
    def test_another_jupyter_book_is_refused(self, course, no_process, monkeypatch):
        monkeypatch.setattr(builder.jupyter_book, "__version__", "2.0.1")
        with pytest.raises(BuildError, match=r"Jupyter Book 2\.0\.1 .*_config\.yml.*1\.0\.4\.post1 is needed"):
            build(course, fresh=True)

    @pytest.mark.parametrize("lang", ["es", "pt"])
    def test_a_page_missing_in_one_language_is_named(self, course, no_process, lang):
        course.prose(lang, "words").unlink()
        with pytest.raises(BuildError, match=r"missing in its language.*both languages") as caught:
            build(course)
        assert str(caught.value).startswith(str(course.prose(lang, "words")))

    def test_a_chapter_that_nobody_has_written_is_named_in_each_language(self, course, no_process):
        toc = course.root / "_toc.yml"
        toc.write_text(toc.read_text("utf-8") + "  - file: book/es/none\n", encoding="utf-8")
        with pytest.raises(BuildError) as caught:
            build(course)
        assert [line.partition(":")[0] for line in str(caught.value).split("\n")] == [
            str(course.prose(lang, "none")) for lang in ("es", "pt")
        ]

    @pytest.mark.parametrize("name", ["_toc.yml", "_config.yml"])
    @pytest.mark.parametrize(
        ("content", "said"),
        [("a: [", "while parsing"), ("- a\n", "got list"), ("", "got NoneType"), (None, "No such file")],
    )
    def test_a_broken_configuration_is_named(self, course, no_process, name, content, said):
        path = course.root / name
        path.unlink()
        if content is not None:
            path.write_text(content, encoding="utf-8")
        with pytest.raises(BuildError) as caught:
            build(course)
        assert str(path) in str(caught.value)
        assert said in str(caught.value)


def test_what_went_wrong_is_told_without_colours_banners_and_tracebacks():
    output = (
        "\x1b[91mRunning Jupyter-Book v1.0.4.post1\x1b[0m\nSource Folder: /x\nConfig Path: /y\nOutput Path: /z\n"
        "/x/a.md:3: WARNING: undefined label: 'b'\n\n"
        "\x1b[31mTraceback (most recent call last):\n  File ...\nRuntimeError\n"
    )
    assert what_went_wrong(output) == "/x/a.md:3: WARNING: undefined label: 'b'"
    assert "RuntimeError: no idea" in what_went_wrong("Traceback (most recent call last):\n  x\nRuntimeError: no idea")


def test_the_small_course_is_configured_as_the_course_is(small_course, pytestconfig):
    ours = yaml.safe_load((pytestconfig.rootpath / "_config.yml").read_text("utf-8"))
    assert yaml.safe_load((small_course.root / "_config.yml").read_text("utf-8")) == ours
