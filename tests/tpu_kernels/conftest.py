"""Every test starts in Spanish, whatever the machine's locale, and leaves no language behind."""

from collections.abc import Iterator

import pytest

from tpu_kernels import messages


@pytest.fixture(autouse=True)
def spanish() -> Iterator[None]:
    messages.use("es")
    yield
    messages.use(None)
