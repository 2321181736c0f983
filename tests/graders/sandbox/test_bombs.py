"""Code that takes all it can: it meets a limit, is gone at the end, and so is everything that it started."""

import signal

import pytest

from graders.sandbox.permitted import permitted

from .conftest import Confine

MIB = 2**20
NAMESPACES = ("root", "user")
ALL = ("root", "user", "limits")


def needs(kind: str, *parts: str) -> None:
    """Fail, not skip, where the machine cannot do what the test is about: its notices then say what to do."""
    if kind == "root":
        assert permitted().kind == "root", permitted().missing
        assert {*parts} <= {*permitted().parts}, permitted().missing


def test_a_memory_bomb_is_killed_and_told_from_another_death(confine: Confine) -> None:
    needs("root", "memory")
    bomb = "parts = [b'x' * 2**20 for _ in range(1024)]"
    ended = confine("root", bomb, memory_bytes=128 * MIB)
    assert (ended.status, ended.memory, ended.said) == (-signal.SIGKILL, True, [])
    ended = confine("root", "import os; os._exit(3)", memory_bytes=128 * MIB)
    assert (ended.status, ended.memory) == (3, False)


def test_memory_of_all_processes_counts_together(confine: Confine) -> None:
    needs("root", "memory")
    bomb = """
        import os
        for _ in range(8):
            if os.fork() == 0:
                held = b"x" * (40 * 2**20)
                os.read(os.pipe()[0], 1)
        os.wait()
        say("one is dead")
        """
    assert confine("root", bomb, memory_bytes=128 * MIB, until="word").memory


def test_files_in_memory_count_as_memory(confine: Confine) -> None:
    needs("root", "memory")
    fill = """
        with open("big", "wb") as file:
            for _ in range(256):
                file.write(b"x" * 2**20)
        """
    ended = confine("root", fill, memory_bytes=64 * MIB, scratch_bytes=512 * MIB)
    assert (ended.status, ended.memory) == (-signal.SIGKILL, True)


@pytest.mark.parametrize("kind", ["user", "limits"])
def test_without_a_control_group_each_process_has_a_limit_on_memory(confine: Confine, kind: str) -> None:
    bomb = """
        try:
            held = bytearray(512 * 2**20)
        except MemoryError:
            say("refused")
        """
    assert confine(kind, bomb, memory_bytes=256 * MIB).said == ["refused"]


FORK_BOMB = """
    import errno, os
    children = 0
    try:
        while children < 500:
            if os.fork() == 0:
                os.read(os.pipe()[0], 1)
            children += 1
    except OSError as error:
        say([children, errno.errorcode[error.errno]])
    os.read(os.pipe()[0], 1)
    """


@pytest.mark.parametrize("kind", ALL)
def test_a_fork_bomb_stops_at_the_limit_and_nothing_of_it_is_left(confine: Confine, kind: str) -> None:
    needs(kind, "pids")
    ended = confine(kind, FORK_BOMB, processes=20, until="word")
    ((children, reason),) = ended.said
    most = 20 if kind == "root" else 499  # without a group, what else the user runs counts and is added
    assert (children <= most, reason, ended.left, ended.remains) == (True, "EAGAIN", False, [])


@pytest.mark.parametrize("kind", NAMESPACES)
@pytest.mark.parametrize("place", [".", "/tmp", "/dev/shm"])
def test_a_disk_filler_stops_at_the_quota(confine: Confine, kind: str, place: str) -> None:
    fill = f"""
        import errno, os
        written = 0
        try:
            for number in range(64):
                with open(f"{place}/{{number}}", "wb", buffering=0) as file:
                    written += file.write(b"x" * 2**20)
        except OSError as error:
            say([written, errno.errorcode[error.errno]])
        """
    ended = confine(kind, fill, scratch_bytes=8 * MIB)
    ((written, reason),) = ended.said
    assert (written <= 8 * MIB, reason) == (True, "ENOSPC")


def test_a_swarm_of_empty_files_stops_at_the_quota(confine: Confine) -> None:
    swarm = """
        import errno
        try:
            for number in range(10**6):
                open(str(number), "w").close()
        except OSError as error:
            say([number, errno.errorcode[error.errno]])
        """
    ((number, reason),) = confine("root", swarm, scratch_files=100).said
    assert (number < 100, reason) == (True, "ENOSPC")


@pytest.mark.parametrize("kind", ALL)
def test_one_file_cannot_pass_the_limit(confine: Confine, kind: str) -> None:
    grow = """
        import errno
        try:
            open("big", "wb").truncate(2**30)
        except OSError as error:
            say(errno.errorcode[error.errno])
        """
    assert confine(kind, grow, scratch_bytes=8 * MIB).said == ["EFBIG"]


@pytest.mark.parametrize("kind", ["root", "limits"])
def test_a_loop_that_ignores_signals_ends_at_its_processor_time(confine: Confine, kind: str) -> None:
    loop = """
        import signal
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGXCPU):
            signal.signal(number, signal.SIG_IGN)
        while True:
            pass
        """
    assert confine(kind, loop, cpu_s=1).status == -signal.SIGKILL


DAEMON = """
    import os, signal
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    ready, tell = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            os.write(tell, b"x")
            while True:
                signal.pause()
        os._exit(0)
    os.wait()
    os.read(ready, 1)
    say("started")
    """


@pytest.mark.parametrize("kind", ALL)
def test_a_daemon_does_not_outlive_the_end(confine: Confine, kind: str) -> None:
    ended = confine(kind, DAEMON)
    assert (ended.said, ended.left, ended.remains) == (["started"], False, [])


@pytest.mark.parametrize("kind", ALL)
def test_a_process_that_stops_itself_is_ended_all_the_same(confine: Confine, kind: str) -> None:
    stop = """
        import os, signal
        if os.fork() == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
        say("stopping")
        os.kill(os.getpid(), signal.SIGSTOP)
        os.read(os.pipe()[0], 1)
        """
    ended = confine(kind, stop, until="word")
    assert (ended.status, ended.left, ended.remains) == (-signal.SIGKILL, False, [])
