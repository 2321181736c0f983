"""Where control groups may be made, found in the texts that the kernel gives; the folders are made by the tests."""

import os
from pathlib import Path

import pytest

from graders.sandbox.hierarchy import LEAF, Hierarchy, find


def mounts(*lines: tuple[str, Path, str, str]) -> str:
    """``mountinfo``: root, where, file system, options."""
    first = "22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw"
    rest = [
        f"30 27 0:{n} {root} {point} rw - {kind}  {options}" for n, (root, point, kind, options) in enumerate(lines)
    ]
    return "\n".join([first, *rest])


def files(folder: Path, **texts: str) -> Path:
    """A group's folder with these files, dots for underscores."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name.replace("_", ".", 1)).write_text(text, encoding="utf-8")
    return folder


def tree(top: Path, own: str, *, top_down: str = "", own_down: str = "", processes: str = "") -> str:
    """A version 2 tree, mounted at ``top``, and the text of its ``mountinfo``; this process is in ``own``."""
    available = "cpu io memory pids"
    files(top, cgroup_controllers=available, cgroup_subtree_control=top_down, cgroup_procs="")
    if own != "/":
        files(
            top / own.strip("/"),
            cgroup_controllers=available,
            cgroup_subtree_control=own_down,
            cgroup_procs=processes,
            cgroup_type="domain",
        )
    return mounts(("/", top, "cgroup2", "rw"))


def test_version_1_has_a_tree_for_each(tmp_path: Path) -> None:
    memory, pids = files(tmp_path / "memory" / "user"), files(tmp_path / "pids")
    text = mounts(("/", tmp_path / "memory", "cgroup", "rw,memory"), ("/", tmp_path / "pids", "cgroup", "rw,pids"))
    found = find(text, "8:pids:/\n4:memory:/user\n0::/\n")
    assert found == {"memory": Hierarchy(memory, 1), "pids": Hierarchy(pids, 1)}


def test_a_container_sees_its_own_part_of_a_tree(tmp_path: Path) -> None:
    files(tmp_path / "memory")
    text = mounts(("/docker/abc", tmp_path / "memory", "cgroup", "rw,memory"))
    assert find(text, "4:memory:/docker/abc\n") == {"memory": Hierarchy(tmp_path / "memory", 1)}


def test_version_2_hands_down_where_it_does_already(tmp_path: Path) -> None:
    text = tree(tmp_path, "/user.slice/scope", own_down="memory pids")
    base = Hierarchy(tmp_path / "user.slice" / "scope", 2)
    assert find(text, "0::/user.slice/scope\n") == {"memory": base, "pids": base}


def test_root_uses_the_top_rather_than_move_others_processes(tmp_path: Path) -> None:
    text = tree(tmp_path, "/system.slice/ssh.service", top_down="cpu memory pids", processes="1\n2\n")
    base = Hierarchy(tmp_path, 2)
    assert find(text, "0::/system.slice/ssh.service\n") == {"memory": base, "pids": base}
    assert not (tmp_path / "system.slice" / "ssh.service" / LEAF).exists()


def test_a_group_that_is_ours_is_emptied_and_then_hands_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "user.slice" / "scope"
    text = tree(tmp_path, "/user.slice/scope", processes="71\n72\n")
    monkeypatch.setattr(os, "getxattr", lambda path, name: b"1" if (path, name) == (own, "user.delegate") else b"")
    files(own / LEAF, cgroup_procs="")
    find(text, "0::/user.slice/scope\n")
    assert (own / "cgroup.subtree_control").read_text(encoding="utf-8") == "+memory +pids"
    assert (own / LEAF / "cgroup.procs").read_text(encoding="utf-8") in {"71", "72"}  # written one at a time


def test_the_top_of_a_machine_hands_down_with_processes_in_it(tmp_path: Path) -> None:
    text = tree(tmp_path, "/")
    find(text, "0::/\n")
    assert (tmp_path / "cgroup.subtree_control").read_text(encoding="utf-8") == "+memory +pids"
    assert not (tmp_path / LEAF).exists()


def test_once_emptied_the_group_above_the_leaf_is_the_base(tmp_path: Path) -> None:
    text = tree(tmp_path, f"/scope/{LEAF}")
    files(tmp_path / "scope", cgroup_subtree_control="memory pids")
    base = Hierarchy(tmp_path / "scope", 2)
    assert find(text, f"0::/scope/{LEAF}\n") == {"memory": base, "pids": base}


def test_a_group_that_is_not_ours_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tree(tmp_path, "/other.slice", processes="71\n")
    monkeypatch.setattr(os, "geteuid", lambda: 0)  # who owns every group, and was given none of them
    assert find(text, "0::/other.slice\n") == {}
    assert not (tmp_path / "other.slice" / LEAF).exists()


def test_a_hybrid_takes_each_from_where_it_is(tmp_path: Path) -> None:
    files(tmp_path / "memory")
    text = tree(tmp_path / "unified", "/", top_down="pids") + "\n"
    text += mounts(("/", tmp_path / "memory", "cgroup", "rw,memory"))
    found = find(text, "4:memory:/\n0::/\n")
    assert found["memory"] == Hierarchy(tmp_path / "memory", 1)


@pytest.mark.parametrize("groups", ["", "0::/\n", "9:name=systemd:/\n"])
def test_a_machine_without_groups_has_none(groups: str) -> None:
    assert find(mounts(), groups) == {}
