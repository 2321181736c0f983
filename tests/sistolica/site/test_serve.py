"""The local server: headers, kinds of file, what it refuses, and rebuilding when a source changes."""

import http.client
import threading
from contextlib import closing, contextmanager

import pytest
from rich.console import Console

from sistolica.commands import site as commands
from sistolica.languages import LANGUAGES
from sistolica.project import Project
from sistolica.site import serve
from sistolica.site.build import BuildError, Built
from sistolica.site.serve import HEADERS, rebuild_on_change, start_server


@pytest.fixture
def folder(tmp_path):
    site = tmp_path / "site"
    (site / "es" / "_static").mkdir(parents=True)
    for name in ("index.html", "es/index.html", "es/a.wasm", "es/a.mjs", "es/a.ipynb", "es/a.woff2", "es/a.svg"):
        (site / name).write_bytes(b"hello")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "site-other").mkdir()
    (tmp_path / "site-other" / "secret.txt").write_text("secret")
    return site


@contextmanager
def serving(site, **where):
    server = start_server(site, **where)
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def get(port, path, method="GET"):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def test_every_answer_carries_the_headers(folder):
    with serving(folder) as port:
        for path in ("/", "/es/a.wasm", "/none"):
            _, headers, _ = get(port, path)
            assert {name: headers[name] for name in HEADERS} == HEADERS, path


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/es/", "text/html"),
        ("/es/a.wasm", "application/wasm"),
        ("/es/a.mjs", "text/javascript"),
        ("/es/a.ipynb", "application/x-ipynb+json"),
        ("/es/a.woff2", "font/woff2"),
        ("/es/a.svg", "image/svg+xml"),
    ],
)
def test_files_come_with_their_kind(folder, path, kind):
    with serving(folder) as port:
        status, headers, body = get(port, path)
        assert (status, headers.get_content_type(), body) == (200, kind, b"hello")
        assert get(port, path, "HEAD")[::2] == (200, b"")


@pytest.mark.parametrize("path", ["/none", "/none.html", "/es/none/", "/es/_static/", "/%00", "/es/a.svg/"])
def test_what_is_not_there_is_404_in_both_languages_and_lists_no_folder(folder, path):
    with serving(folder) as port:
        status, headers, body = get(port, path)
    assert (status, headers.get_content_type()) == (404, "text/html")
    text = body.decode("utf-8")
    for lang in LANGUAGES:
        assert f'lang="{lang.tag}"' in text
    assert "Directory listing" not in text
    assert "Error" not in text


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/es/../../secret.txt",
        "/es/..%2f..%2fsecret.txt",
        "/..%5csecret.txt",
        "//../secret.txt",
        "/../site-other/secret.txt",
        "/....//secret.txt",
    ],
)
def test_nothing_outside_the_site_is_served(folder, path):
    with serving(folder) as port:
        status, _, body = get(port, path)
    assert status == 404
    assert b"secret" not in body


def test_a_replaced_site_is_served_at_once(folder, tmp_path):
    with serving(folder) as port:
        folder.rename(tmp_path / "old")
        folder.mkdir()
        (folder / "index.html").write_bytes(b"new")
        assert get(port, "/")[2] == b"new"


def test_a_taken_port_is_an_error(folder):
    with serving(folder) as port, pytest.raises(OSError, match="in use"):
        start_server(folder, port=port)


class TestServeCommand:
    """What a person at a terminal sees; the build is not made, and the loop that waits for changes ends at once."""

    @pytest.fixture
    def project(self, folder, tmp_path, monkeypatch):
        monkeypatch.setattr(commands, "build", lambda project, **options: Built(folder, changed=True))
        monkeypatch.setattr(Project, "build", tmp_path)
        return Project(tmp_path)

    @pytest.fixture
    def consoles(self):
        return Console(record=True, width=200, quiet=False), Console(record=True, width=200, stderr=True)

    def test_says_where_and_ends_well_when_interrupted(self, project, consoles, monkeypatch):
        def interrupt(project, rebuild):
            raise KeyboardInterrupt

        monkeypatch.setattr(commands, "rebuild_on_change", interrupt)
        assert commands.serve_site(project, *consoles, host="127.0.0.1", port=0) == 0
        assert "serving at http://127.0.0.1:" in consoles[0].export_text()

    def test_names_a_taken_port_and_another_to_try(self, project, consoles, folder):
        with serving(folder) as port:
            assert commands.serve_site(project, *consoles, host="127.0.0.1", port=port) == 1
        said = consoles[1].export_text()
        assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in said
        assert f"sistolica serve --port {port + 1}" in said

    @pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 70000), ("no.such.host.invalid", 0)])
    def test_an_impossible_address_is_one_clear_line(self, project, consoles, host, port):
        assert commands.serve_site(project, *consoles, host=host, port=port) == 1
        assert f"cannot listen on {host}:{port}: " in consoles[1].export_text()

    def test_a_site_that_was_not_built_is_not_served(self, project, consoles, monkeypatch):
        def fail(project, **options):
            raise BuildError("book/es/a.md:3: [bold]broken[/nope]")

        monkeypatch.setattr(commands, "build", fail)
        assert commands.serve_site(project, *consoles, host="127.0.0.1", port=0) == 1
        assert "book/es/a.md:3: [bold]broken[/nope]" in consoles[1].export_text()


def test_a_changed_source_is_built_again_until_told_to_stop(tmp_path, monkeypatch):
    watched = tmp_path / "book"
    watched.mkdir()
    monkeypatch.setattr(serve, "sources", lambda project: [watched])
    rebuilt, stop = threading.Event(), threading.Event()
    watcher = threading.Thread(target=rebuild_on_change, args=(Project(tmp_path), rebuilt.set, stop))
    watcher.start()
    try:
        for round_ in range(2):
            rebuilt.clear()
            for attempt in range(40):  # the watcher may not have begun to look
                (watched / "page.md").write_text(f"{round_}.{attempt}")
                if rebuilt.wait(0.25):
                    break
            assert rebuilt.is_set(), f"change {round_} was not noticed"
    finally:
        stop.set()
        watcher.join(20)
    assert not watcher.is_alive()


def test_a_browser_that_leaves_is_no_news_and_a_fault_of_ours_is(folder, capsys):
    server = start_server(folder)
    try:
        for error in (BrokenPipeError(32, "Broken pipe"), ConnectionResetError()):
            try:
                raise error
            except ConnectionError:
                server.handle_error(None, ("127.0.0.1", 1))
        assert capsys.readouterr().err == ""
        try:
            raise ValueError("ours")
        except ValueError:
            server.handle_error(None, ("127.0.0.1", 1))
        assert "ValueError: ours" in capsys.readouterr().err
    finally:
        server.shutdown()
        server.server_close()
