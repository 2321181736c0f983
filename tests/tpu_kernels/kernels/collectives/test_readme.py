"""The READMEs' program with a collective, pasted into a Python that has read nothing else."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


def program(text: str) -> str:
    """The code block that imports the collectives."""
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (found,) = (block for block in blocks if "tpu_kernels.kernels.collectives" in block)
    return str(found)


def test_the_program_of_the_readme_runs_as_it_stands() -> None:
    """The READMEs are held to have the same blocks elsewhere."""
    clean = {name: value for name, value in os.environ.items() if name not in {"XLA_FLAGS", "NPROC"}}
    pasted = program((ROOT / "README.md").read_text("utf-8"))
    run = subprocess.run(
        [sys.executable, "-c", pasted], env=clean, capture_output=True, text=True, timeout=300, check=False
    )
    assert run.stdout.split() == ["[12.", *["16.", "12."] * 3, "16.]"], run.stderr
