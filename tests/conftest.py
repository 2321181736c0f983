"""What every test shares: skips that fail where nothing may be skipped, and a language that does not depend on the host."""

import os

import pytest

from tpu_kernels import messages

NO_SKIP = "SISTOLICA_NO_SKIP"  # set in CI, where everything a test needs is installed


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get(NO_SKIP):
        report.outcome = "failed"
        report.longrepr = f"skipped, and {NO_SKIP} is set: {call.excinfo.value}"
    return report


@pytest.fixture(autouse=True)
def spanish_unless_said(monkeypatch):
    """The language in force does not come from the machine that runs the tests, nor from the test before."""
    monkeypatch.setenv("SISTOLICA_LANG", "es")
    messages.use(None)
    yield
    messages.use(None)
