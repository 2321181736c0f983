"""The compiler's table of what each bundle uses."""

import pytest

from tpu_kernels.xray import utilisation
from tpu_kernels.xray.errors import DumpError

TABLE = """== CAPACTIY:
MXU, XLU, VALU, VPOP, EUP, VLOAD, VLOAD:FILL, VSTORE, VSTORE:SPILL, SALU
    4     3     4     2     1     3     3     1     1     2

== UTILIZATION:
0 0 0 0 0 0 0 0 0 2
4 0 2 1 0 3 1 1 1 0
"""


def test_capacity_and_rows() -> None:
    found = utilisation.parse(TABLE)
    assert dict(zip(utilisation.UNITS, found.capacity, strict=True)) == {
        "MXU": 4,
        "XLU": 3,
        "VALU": 4,
        "VPOP": 2,
        "EUP": 1,
        "VLOAD": 3,
        "FILL": 3,
        "VSTORE": 1,
        "SPILL": 1,
        "SALU": 2,
    }
    assert found.rows == ((0, 0, 0, 0, 0, 0, 0, 0, 0, 2), (4, 0, 2, 1, 0, 3, 1, 1, 1, 0))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("MXU, XLU", "XLU, MXU"),  # columns change places
        ("EUP, VLOAD,", "EUP, VBIN, VLOAD,"),  # a column more
        ("VSTORE:SPILL", "VSTORE:RELOAD"),
        ("4 0 2 1 0 3 1 1 1 0", "5 0 2 1 0 3 1 1 1 0"),  # more than there is
        ("4 0 2 1 0 3 1 1 1 0", "4 0 2 1 0 3 1 1 1"),
        ("4 0 2 1 0 3 1 1 1 0", "4 0 2 1 0 3 1 1 1 0 0"),
        ("4 0 2 1 0 3 1 1 1 0", "4 0 2 1 0 3 1 1 1 -1"),
        ("4 0 2 1 0 3 1 1 1 0", "4 0 2 1.5 0 3 1 1 1 0"),
        ("== UTILIZATION:\n", ""),
        (TABLE, ""),
    ],
)
def test_another_form_is_refused(old: str, new: str) -> None:
    assert old in TABLE
    with pytest.raises(DumpError):
        utilisation.parse(TABLE.replace(old, new))
