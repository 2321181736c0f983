"""The simulator's cycles, and how it says that it does not know."""

import pytest

from tpu_kernels.xray import static_profile
from tpu_kernels.xray.errors import DumpError

PROFILE = """hlo_op_estimate {
  hlo_op_name: "fusion.1"
  estimated_cycles: 23832
  num_equivalent_hlos: 1
  scalar_inputs: 0
}
"""


def test_cycles_by_operation() -> None:
    two = PROFILE + PROFILE.replace("fusion.1", "copy").replace("23832", "513")
    assert static_profile.parse([two]) == {"fusion.1": 23832, "copy": 513}


@pytest.mark.parametrize("written", ["0", "-1", "-9223372036854775808"])
def test_zero_and_below_are_not_known(written: str) -> None:
    assert static_profile.parse([PROFILE.replace("23832", written)]) == {"fusion.1": None}


def test_nothing_simulated_is_nothing() -> None:
    assert static_profile.parse([]) == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("estimated_cycles", "cycles"),
        ("23832", "2.3e4"),
        ("23832", ""),
        ("hlo_op_name", "name"),
        ("hlo_op_estimate {", "op {"),
        ("  estimated_cycles: 23832\n", ""),
        (PROFILE, "nothing"),
    ],
)
def test_another_form_is_refused(old: str, new: str) -> None:
    assert old in PROFILE
    with pytest.raises(DumpError):
        static_profile.parse([PROFILE.replace(old, new)])


def test_two_answers_are_refused() -> None:
    with pytest.raises(DumpError, match="two profiles"):
        static_profile.parse([PROFILE, PROFILE.replace("23832", "23833")])
