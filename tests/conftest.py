"""Fixtures that several suites share: one private PostgreSQL cluster a session for each version that is tried."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import hypothesis
import psutil
import pytest

from tests.examples import examples
from tests.labs.postgresql import Cluster, installations, running_cluster, tells_statements, tried_versions

MAJORS = tried_versions()

# How fast is measured, not asserted.
hypothesis.settings.register_profile("hotplace", deadline=None, max_examples=examples(100))
hypothesis.settings.load_profile("hotplace")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts us in the background ignores Ctrl-C for us and for every program that the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
gc.disable()  # while ten thousand tests are collected, nothing is garbage
MEMORY = "/dev/shm"
LEAST_MEMORY = 8 * 1024**3  # bytes free: the files of all workers come to a gigabyte or two


def _keep_files_in_memory() -> None:
    """Where there is plenty: on a disk a test of the ledger waits for fsync longer than it computes."""
    if "TMPDIR" in os.environ or not Path(MEMORY).is_dir():
        return
    free = min(psutil.virtual_memory().available, shutil.disk_usage(MEMORY).free)
    if free >= LEAST_MEMORY and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = MEMORY  # for workers and for what tests start, too
        tempfile.tempdir = None  # asked for again


_keep_files_in_memory()
NO_SERVER = "no PostgreSQL server here: make setup or apt install postgresql"


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks for groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep tests in one worker that share what their module makes; leave out ``make soak``'s, but for ``-m soak``."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None and _shares_with_its_module(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    if "soak" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("soak")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("soak")]


def _shares_with_its_module(item: pytest.Item) -> bool:
    """Whether it uses a fixture of the scope "module", which each worker that runs such a test would make."""
    known: Any = getattr(item, "_fixtureinfo", None)  # pytest's own record
    found = () if known is None else known.name2fixturedefs.values()
    return any(fixture.scope == "module" for fixtures in found for fixture in fixtures)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: no search for garbage in the tests looks at it again."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let go of it as programs do."""
    gc.unfreeze()


def _on(major: int) -> object:
    """A parameter for one version: its tests stay in one worker."""
    marks = [pytest.mark.postgresql, pytest.mark.xdist_group(f"postgresql {major}")]
    return pytest.param(major, marks=marks, id=f"pg{major}")


def _majors() -> list[object]:
    """A parameter for each version; one that skips where there is no server at all."""
    if not MAJORS:
        return [pytest.param(0, marks=[pytest.mark.postgresql, pytest.mark.skip(reason=NO_SERVER)], id="none")]
    return [_on(major) for major in MAJORS]


# Versions here that bring the contrib modules: the embedded ones have none.
CONTRIB = tuple(major for major, path in installations().items() if tells_statements(path))
# For what needs those modules: a version that has them, and where there is none those that say so.
WITH_CONTRIB = pytest.mark.parametrize(
    "cluster", [_on(major) for major in CONTRIB[-1:] or MAJORS] or _majors(), indirect=True
)
# For what looks at every query: the newest version, and one that has those modules.
WITH_EVERYTHING = pytest.mark.parametrize(
    "cluster", [_on(major) for major in sorted({*MAJORS, *CONTRIB[-1:]})] or _majors(), indirect=True
)


@pytest.fixture(scope="session", params=_majors())
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A running cluster with the tablespaces fast and slow; whoever asks for it runs once for each version."""
    with running_cluster(request.param) as running:
        yield running


@pytest.fixture
def dbname(cluster: Cluster) -> Iterator[str]:
    """An empty database of the test's own."""
    with cluster.database() as name:
        yield name


@pytest.fixture
def cleanup() -> Iterator[ExitStack]:
    """Whatever is entered here is left at the end of the test."""
    with ExitStack() as stack:
        yield stack
