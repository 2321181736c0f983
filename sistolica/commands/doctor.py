"""``sistolica doctor``: what this machine has, the known traps that it is in, and how to get out of each.

Exit status: 0 nothing needs to be put right; 1 something does; 2 the command itself was wrong.
"""

import json

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sistolica.phrases import phrase
from tpu_kernels.doctor import Report, report
from tpu_kernels.doctor.text import paragraphs, summary
from tpu_kernels.machine.finding import Finding

STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}


def doctor(
    console: Console,
    complaints: Console,
    *,
    expect_devices: int | None = None,
    json_only: bool = False,
) -> int:
    """Look at this machine and say what was found, as text or as one JSON object; the exit status."""
    with complaints.status(phrase("doctor.looking")):
        found = report(expect_devices)
    if json_only:
        text = json.dumps(found.to_dict(), indent=1)  # ASCII: any terminal can write it
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    else:
        console.print(_rendered(found), highlight=False)
    return found.exit_status


def _rendered(found: Report) -> Group:
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    for label, value in found.facts():
        facts.add_row(label, Text(value))
    return Group(facts, *map(_finding, found.findings), "", Text(summary(found.findings), style="bold"))


def _finding(finding: Finding) -> Padding:
    styles = (STYLES[finding.severity], "bold")
    texts = [
        Text.assemble((f"{heading}: ", style), text)
        for (heading, text), style in zip(paragraphs(finding), styles, strict=False)
    ]
    return Padding(Group(*texts), (1, 0, 0, 0), expand=False)
