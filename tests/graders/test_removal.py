"""A folder that does not want to go."""

import os
from pathlib import Path

from graders.removal import remove_tree


def test_a_tree_deeper_than_the_stack_and_than_the_longest_path_goes(tmp_path, monkeypatch):
    top = tmp_path / "top"
    top.mkdir()
    monkeypatch.chdir(top)
    for _ in range(1200):
        Path("d").mkdir()
        os.chdir("d")
    (tmp_path / "top" / "file").write_text("x")
    remove_tree(top)
    assert not top.exists()


def test_closed_folders_go_and_what_links_lead_to_stays(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    closed = tmp_path / "top" / "a" / "closed"
    closed.mkdir(parents=True)
    (closed / "inner").mkdir()
    (tmp_path / "top" / "link").symlink_to(kept)
    (closed / "link").symlink_to(kept / "file")
    closed.chmod(0)
    remove_tree(tmp_path / "top")
    assert not (tmp_path / "top").exists()
    assert (kept / "file").read_text() == "x"


def test_what_is_not_there_is_no_trouble(tmp_path):
    remove_tree(tmp_path / "absent")
