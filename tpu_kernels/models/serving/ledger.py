"""What happened to every request, in flat arrays: a million of them take 60 MB."""

from array import array
from typing import Final

GAP_BUCKET: Final = 10**8  # picoseconds: gaps between tokens are counted in steps of 0.1 ms
SHED: Final = -1


class Ledger:
    """One line a request: times in picoseconds, ``first`` and ``finish`` negative until they happen.

    ``gaps`` counts the gaps between tokens by their length in :data:`GAP_BUCKET`.
    """

    def __init__(self) -> None:
        self.arrival = array("q")
        self.first = array("q")
        self.finish = array("q")
        self.prompt = array("q")
        self.output = array("q")
        self.cached = array("q")
        self.replica = array("q")
        self.gaps: dict[int, int] = {}
        self.gap_total = 0
        self.waited = 0
        self.recomputed = 0

    def open(self, arrival: int, prompt: int, output: int) -> int:
        """A new line for a request; its number."""
        self.arrival.append(arrival)
        self.first.append(SHED)
        self.finish.append(SHED)
        self.prompt.append(prompt)
        self.output.append(output)
        self.cached.append(0)
        self.replica.append(SHED)
        return len(self.arrival) - 1

    def gap(self, length: int, count: int) -> None:
        """``count`` tokens that came ``length`` after the one before."""
        bucket = length // GAP_BUCKET
        self.gaps[bucket] = self.gaps.get(bucket, 0) + count
        self.gap_total += length * count

    def gaps_of_run(self, first: int, growth: int, steps: int, count: int) -> None:
        """``count`` sequences through ``steps`` steps of ``first``, ``first + growth``, … picoseconds."""
        gaps = self.gaps
        bucket = first // GAP_BUCKET
        last = (first + growth * (steps - 1)) // GAP_BUCKET
        before = 0
        while bucket < last:
            upto = ((bucket + 1) * GAP_BUCKET - first - 1) // growth + 1  # steps shorter than the end of this bucket
            gaps[bucket] = gaps.get(bucket, 0) + (upto - before) * count
            before, bucket = upto, bucket + 1
        gaps[bucket] = gaps.get(bucket, 0) + (steps - before) * count
        self.gap_total += (first * steps + growth * (steps * (steps - 1) // 2)) * count
