"""The text of a report: what is to be typed stays in one piece."""

from tpu_kernels.doctor.text import WIDTH, plain
from tpu_kernels.machine.finding import Finding


def test_a_flag_or_an_address_is_never_cut() -> None:
    words = [f"--xla_flag-{number}-of-many" for number in range(20)]
    text = plain([("Dónde", "aquí")], [Finding("kind", "note", " ".join(words), f"pip install {'x' * WIDTH}")])
    assert set(words) <= set(text.split())
    assert "x" * WIDTH in text.split()


def test_values_stand_in_one_column() -> None:
    lines = plain([("a", "1"), ("longer", "word " * 30)], []).splitlines()
    assert {line.index(line[8:].strip()) for line in lines[:-2]} == {8}
