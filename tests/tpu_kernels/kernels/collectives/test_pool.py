"""Where the interpreter would wait for ever it is refused: devices in threads of a pool that is too narrow."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os
import jax, numpy as np
from jax.sharding import Mesh, PartitionSpec as P
from tpu_kernels.kernels.collectives import all_gather

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
sizes = {sizes}
jax.config.update("jax_num_cpu_devices", 8)
here = jax.devices()
{late}
mesh = Mesh(np.array(here[: np.prod(sizes)]).reshape(sizes), ("x", "y"))
run = jax.shard_map(
    lambda x: all_gather(x, "y"), mesh=mesh, in_specs=P(("x", "y")), out_specs=P(("x", "y")), check_vma=False
)
print(jax.jit(run)(np.ones(8 * 65536, np.int32)).sum())
"""


def started(sizes: tuple[int, int], late: str = "", **changes: str) -> subprocess.CompletedProcess[str]:
    """The program on a machine with one core."""
    environment = {**{name: value for name, value in os.environ.items() if name != "NPROC"}, **changes}
    program = [sys.executable, "-c", PROGRAM.replace("{sizes}", repr(sizes)).replace("{late}", late)]
    return subprocess.run(program, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    ("language", "said"), [("es", "Con 8 hilos, 8 dispositivos"), ("pt", "Com 8 threads, 8 dispos")]
)
def test_a_pool_too_narrow_for_the_mesh_is_refused(language: str, said: str) -> None:
    """Although the kernel is on two devices only: the whole mesh runs it."""
    run = started((4, 2), SISTOLICA_LANG=language)
    assert run.returncode == 1
    assert said in run.stderr
    assert "NPROC=24" in run.stderr


def test_named_width_counts_instead_of_the_cores() -> None:
    assert "Con 8 hilos" in started((4, 2), NPROC="4", SISTOLICA_LANG="es").stderr
    wide = started((4, 2), NPROC="24")
    assert wide.stdout.split() == [str(8 * 65536 * 2)], wide.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how many threads there are")
def test_a_width_named_after_jax_started_does_not_count() -> None:
    run = started((4, 2), late='os.environ["NPROC"] = "24"', SISTOLICA_LANG="es")
    assert "Con 8 hilos" in run.stderr


def test_a_pool_that_is_wide_enough_for_a_smaller_mesh_runs() -> None:
    """Eight devices make eight threads, which are enough for two devices."""
    run = started((1, 2))
    assert run.stdout.split() == [str(8 * 65536 * 2)], run.stderr
