"""The command line's own voice: one line and a status for what can be named, and nobody's text made into pictures."""

import io
import sys

import pytest
from rich.markup import escape

from graders.lab import LabError
from sistolica import cli


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied", "/x/_build"), "error /x/_build: Permission denied\n"),
        (LabError("labs/x/lab.toml: not TOML: [bold]"), "error labs/x/lab.toml: not TOML: [bold]\n"),
    ],
)
def test_what_can_be_named_is_one_line(monkeypatch, error, said):
    def fail():
        raise error

    monkeypatch.setattr(cli, "app", fail)
    with cli.complaints.capture() as captured, pytest.raises(SystemExit) as end:
        cli.main()
    assert (captured.get(), end.value.code) == (said, 2)


def test_an_error_without_a_file_is_not_hidden(monkeypatch):
    def fail():
        raise OSError("who knows")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(OSError, match="who knows"):
        cli.main()


@pytest.mark.parametrize("console", [cli.console, cli.complaints], ids=["console", "complaints"])
def test_a_name_between_colons_is_no_picture(console):
    with console.capture() as captured:
        console.print(escape("a :fire: b 127.0.0.1:-1: c"), soft_wrap=True)
    assert captured.get() == "a :fire: b 127.0.0.1:-1: c\n"


def test_a_name_that_the_terminal_cannot_write_ends_nothing(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1", write_through=True))
    monkeypatch.setattr(cli, "app", lambda: cli.console.print("Peña 日本"))
    cli.main()
    assert written.getvalue() == "Peña \\u65e5\\u672c\n".encode("latin-1")
