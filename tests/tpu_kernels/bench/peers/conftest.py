"""Peers are tested where they are installed: in this Python, or the one that SISTOLICA_PEER_PYTHON names."""

import os
import sys

from tpu_kernels.bench.collective_peers import PEERS, absence

PYTHON = os.environ.get("SISTOLICA_PEER_PYTHON", sys.executable)
PRESENT = [name for name in PEERS if absence(name, PYTHON) is None]

collect_ignore = [] if PRESENT else ["test_processes.py"]


def pytest_generate_tests(metafunc):
    if "peer" in metafunc.fixturenames:
        metafunc.parametrize("peer", PRESENT)
