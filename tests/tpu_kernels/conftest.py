"""Every test starts in Spanish, whatever the machine's locale, and leaves no language behind; jax has eight devices."""

import os
from collections.abc import Iterator

import jax
import pytest

from tpu_kernels import messages

# A pool of threads wide enough for eight devices that wait for each other, however few cores there are.
os.environ.setdefault("NPROC", "64")
# Before jax is first used; in this process only, so that programs that tests start see the machine as it is.
jax.config.update("jax_num_cpu_devices", 8)


@pytest.fixture(autouse=True)
def spanish() -> Iterator[None]:
    messages.use("es")
    yield
    messages.use(None)
