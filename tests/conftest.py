"""What every test shares: where nothing may be skipped a skip fails, and the language is not the host's."""

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tpu_kernels import messages

if TYPE_CHECKING:  # the kernels' tests also run where only they are installed
    from sistolica.project import Project

NO_SKIP = "SISTOLICA_NO_SKIP"  # set in CI, where everything a test needs is installed

# The same examples in every run, so that a commit passes or fails and not a draw. To look for new ones:
# pytest -m hypothesis --hypothesis-profile=random
settings.register_profile("random")
settings.register_profile("fixed", derandomize=True)
settings.load_profile("fixed")


def pytest_collection_modifyitems(items):
    """Browser tests last: from its first use on, Playwright keeps an event loop running in this thread."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


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


def write_small_course(root: Path) -> "Project":
    """A copy of ``tests/small_course`` under the course's own configuration."""
    from sistolica.project import Project

    here = Path(__file__).parent
    shutil.copytree(here / "small_course", root)
    shutil.copy(here.parent / "_config.yml", root)
    return Project(root)


@pytest.fixture(scope="session")
def small_course(tmp_path_factory) -> "Project":
    """The small course, built once in both languages. Do not change it: copy it."""
    from sistolica.site.build import build

    project = write_small_course(tmp_path_factory.mktemp("small") / "course")
    build(project)
    return project
