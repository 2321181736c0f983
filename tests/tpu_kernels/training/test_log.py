"""A log that a kill may cut short, and a run that goes on after it."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.training.log import Log


def steps(log: Log) -> list[int]:
    return [record["step"] for record in log.records()]


def written(path: Path, *numbers: int) -> Log:
    log = Log(path)
    for number in numbers:
        log.write({"step": number, "loss": number / 2, "text": "pérdida"})
    return log


def test_what_was_written_is_read_and_another_program_adds_to_it(tmp_path: Path) -> None:
    written(tmp_path / "logs" / "log.jsonl", 1, 2)
    log = written(tmp_path / "logs" / "log.jsonl", 3)
    assert steps(log) == [1, 2, 3]
    assert log.records()[0] == {"step": 1, "loss": 0.5, "text": "pérdida"}


@pytest.mark.parametrize(("restored", "kept"), [(0, []), (3, [1, 3]), (4, [1, 3]), (5, [1, 3, 5]), (9, [1, 3, 5])])
def test_a_run_that_goes_on_from_a_step_drops_what_came_after(tmp_path: Path, restored: int, kept: list[int]) -> None:
    log = written(tmp_path / "log.jsonl", 1, 3, 5)
    log.rewind(restored)
    assert steps(log) == kept
    log.write({"step": 6})
    assert steps(log) == [*kept, 6]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 200))
def test_a_line_that_was_cut_short_is_dropped(tmp_path_factory: pytest.TempPathFactory, size: int) -> None:
    log = written(tmp_path_factory.mktemp("log") / "log.jsonl", 1, 2, 3)
    whole = log.path.read_bytes()
    log.path.write_bytes(whole[:size])
    log.rewind(3)
    assert log.path.read_bytes() == whole[: whole.rfind(b"\n", 0, size) + 1]


@pytest.mark.parametrize("line", ["nonsense", "[1]", '{"loss": 1}', '{"step": null}'])
def test_from_a_line_that_is_none_of_ours_on_all_is_dropped(tmp_path: Path, line: str) -> None:
    log = written(tmp_path / "log.jsonl", 1)
    with log.path.open("a") as file:
        file.write(f'{line}\n{{"step": 2}}\n')
    log.rewind(9)
    assert steps(log) == [1]


def test_a_number_that_json_has_no_word_for_is_refused(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    with pytest.raises(ValueError, match="JSON"):
        log.write({"step": 1, "loss": float("nan")})
    assert log.records() == []
