"""What every test shares: skips that fail where nothing may be skipped, and a language that does not depend on the host."""

import os
import shutil
from pathlib import Path

import pytest

from sistolica.project import Project
from sistolica.site.build import build
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


def write_small_course(root: Path) -> Project:
    """A copy of ``tests/small_course`` under the course's own configuration."""
    here = Path(__file__).parent
    shutil.copytree(here / "small_course", root)
    shutil.copy(here.parent / "_config.yml", root)
    return Project(root)


@pytest.fixture(scope="session")
def small_course(tmp_path_factory) -> Project:
    """The small course, built once in both languages. Do not change it: copy it."""
    project = write_small_course(tmp_path_factory.mktemp("small") / "course")
    build(project)
    return project
