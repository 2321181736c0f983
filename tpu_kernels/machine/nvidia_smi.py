"""Memory of NVIDIA GPUs and who holds it, as ``nvidia-smi`` reports them."""

import subprocess
from dataclasses import dataclass

QUERY = ("nvidia-smi", "--format=csv,noheader,nounits")
MEBIBYTE = 2**20
TIME_LIMIT = 20  # seconds: with a driver that hangs, nvidia-smi does too


@dataclass(frozen=True)
class GpuMemory:
    """One GPU: its ``total`` and ``free`` memory in bytes, and the processes that hold some (their ids)."""

    index: int
    name: str
    total: int
    free: int
    holders: tuple[int, ...] = ()


def gpu_memory() -> tuple[GpuMemory, ...]:
    """Each GPU of this machine; empty where ``nvidia-smi`` is not there or does not answer."""
    gpus = _asked("--query-gpu=index,uuid,name,memory.total,memory.free")
    return parse(gpus, _asked("--query-compute-apps=gpu_uuid,pid")) if gpus else ()


def parse(gpus: str, processes: str) -> tuple[GpuMemory, ...]:
    """The two answers of ``nvidia-smi``, lines of comma-separated values; a line with an unknown value is left out."""
    holders: dict[str, list[int]] = {}
    for uuid, pid in _rows(processes, 2):
        if pid.isdecimal():
            holders.setdefault(uuid, []).append(int(pid))
    return tuple(
        GpuMemory(int(index), name, int(total) * MEBIBYTE, int(free) * MEBIBYTE, tuple(holders.get(uuid, ())))
        for index, uuid, name, total, free in _rows(gpus, 5)
        if total.isdecimal() and free.isdecimal()
    )


def _rows(answer: str, columns: int) -> list[list[str]]:
    rows = [[value.strip() for value in line.split(",")] for line in answer.splitlines()]
    return [row for row in rows if len(row) == columns]


def _asked(query: str) -> str:
    try:
        run = subprocess.run([*QUERY, query], capture_output=True, text=True, timeout=TIME_LIMIT, check=True)
    except (OSError, subprocess.SubprocessError):  # no NVIDIA driver here, or one that does not answer
        return ""
    return run.stdout
