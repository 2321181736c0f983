"""What a collective must give, told element by element, and sizes and counts as the NCCL tests have them."""

import numpy as np
import pytest

from tpu_kernels.bench.collective_case import Case, cases
from tpu_kernels.bench.collective_sizes import parsed_size, parsed_sizes, swept_sizes, written_size

RANKS = 3


def case(collective, *, op=None, root=None):
    return cases(collective, [48], ranks=RANKS, dtype="int32", op=op, root=root)[0]


def element(of: Case, rank: int, index: int) -> int:
    """Where each element comes from, by the definition of its collective; none is looked up in another's result."""
    held = [of.data(other).tolist() for other in range(RANKS)]
    part = 12 // RANKS
    match of.collective:
        case "all-reduce":
            return {"sum": sum, "max": max, "min": min}[of.op](one[index] for one in held)
        case "reduce-scatter":
            return {"sum": sum, "max": max, "min": min}[of.op](one[rank * part + index] for one in held)
        case "all-gather":
            return held[index // part][index % part]
        case "all-to-all":
            return held[index // part][rank * part + index % part]
        case "broadcast":
            return held[of.root][index]
        case _:
            return held[rank - 1][index]


@pytest.mark.parametrize(
    "of",
    [
        *(case(name, op=op) for name in ("all-reduce", "reduce-scatter") for op in ("sum", "max", "min")),
        case("all-gather"),
        case("all-to-all"),
        case("broadcast", root=2),
        case("permute"),
    ],
    ids=lambda of: f"{of.collective}-{of.op}",
)
def test_every_element_is_where_its_collective_puts_it(of):
    for rank in range(RANKS):
        found = of.expected(rank)
        assert found.tolist() == [element(of, rank, index) for index in range(of.received)]
        assert of.wrong(rank, found.astype(np.int32)) == 0
        spoiled = found.astype(np.int32)
        spoiled[[0, -1]] += 1
        assert of.wrong(rank, spoiled) == 2


def test_ranks_hold_different_data():
    of = case("all-reduce")
    assert not np.array_equal(of.data(0), of.data(1))


@pytest.mark.parametrize(
    ("collective", "count", "held", "received"),
    [
        ("all-reduce", 12, 12, 12),
        ("all-gather", 4, 4, 12),
        ("reduce-scatter", 4, 12, 4),
        ("all-to-all", 4, 12, 12),
        ("broadcast", 12, 12, 12),
        ("permute", 12, 12, 12),
    ],
)
def test_the_size_is_that_of_the_whole_array(collective, count, held, received):
    of = case(collective)
    assert (of.count, of.held, of.received) == (count, held, received)
    assert of.size == 4 * max(held, received)


def test_sizes_are_rounded_down_to_equal_parts():
    assert [one.size for one in cases("all-gather", [13, 47], ranks=3, dtype="float32")] == [12, 36]
    assert [one.size for one in cases("all-reduce", [13, 47], ranks=3, dtype="float32")] == [12, 44]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"dtype": "complex64"}, "complex64"),
        ({"ranks": 1}, "1"),
        ({"sizes": [3]}, "4 bytes"),
        ({"op": "product"}, "product"),
        ({"root": 0}, "--root"),
        ({"collective": "broadcast", "root": 2}, "de 0 a 1"),
        ({"collective": "broadcast", "op": "sum"}, "--op"),
        ({"collective": "gossip"}, "gossip"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_value(changed, said):
    words = {"collective": "all-reduce", "sizes": [64], "ranks": 2, "dtype": "float32", **changed}
    with pytest.raises(ValueError, match=said):
        cases(words.pop("collective"), words.pop("sizes"), **words)


def test_sizes_are_read_as_powers_of_1024():
    assert parsed_sizes("4096, 64K,1MiB,2g") == [4096, 64 << 10, 1 << 20, 2 << 30]
    assert swept_sizes("1K", "64K", 4) == [1 << 10, 1 << 12, 1 << 14, 1 << 16]
    assert swept_sizes("1K", "63K", 4)[-1] == 1 << 14


@pytest.mark.parametrize(
    ("size", "written"),
    [(1 << 10, "1~KiB"), (64 << 10, "64~KiB"), (3 << 19, "1536~KiB"), (2 << 30, "2~GiB"), (1000, "1~kB"), (8, "8~B")],
)
def test_a_size_is_shown_as_it_was_asked_for(size, written):
    assert written_size(size) == written.replace("~", "\N{NO-BREAK SPACE}")


@pytest.mark.parametrize("text", ["", "0", "1.5M", "-4", "1T", "K"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match="4096, 64K"):
        parsed_size(text)


@pytest.mark.parametrize(("least", "most", "factor"), [("1M", "1K", 4), ("1K", "1M", 1)])
def test_a_sweep_without_sizes_is_refused(least, most, factor):
    with pytest.raises(ValueError, match=f"por {factor}"):
        swept_sizes(least, most, factor)
