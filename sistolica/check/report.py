"""Prints an outcome."""

from collections import Counter

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sistolica.check.fault import Outcome


def print_outcome(outcome: Outcome, console: Console) -> None:
    """Every fault on one line that an editor can open, then how many of each kind were compared and found wrong."""
    for fault in outcome.faults:
        place = f"{fault.file}:{fault.line}"
        rest = f"got {fault.got}; expected {fault.expected}. {fault.cure}"
        console.print(
            f"[bold]{escape(place)}[/]: [red]{escape(fault.kind)}[/]: {escape(rest)}", soft_wrap=True, highlight=False
        )
    table = Table("compared", box=None, pad_edge=False)
    table.add_column("", justify="right")
    for what, number in outcome.counts.items():
        table.add_row(what, str(number))
    console.print(table)
    colour = "green" if outcome.sound else "red"
    kinds = Counter(fault.kind for fault in outcome.faults)
    by_kind = ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items()))
    total = f"faults: {len(outcome.faults)}" + (f" ({by_kind})" if by_kind else "")
    console.print(f"[{colour}]{total}[/]", highlight=False)
