"""Redo log, temporary and undo tablespaces by Oracle's own waits. Emulated server, exact figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from connectors.kit.findings import Severity
from connectors.model.observation import Role, RoleFigures
from connectors.oracle.sampler import role_figures
from policies.evidence.counter_deltas import Gap, difference
from tests.labs.oracle.harness import PASSWORD, OracleHarness, running_harness
from tests.labs.oracle.model import Quirks


@contextmanager
def rises(lab: OracleHarness, load: Callable[[], Any]) -> Iterator[dict[str, RoleFigures]]:
    """Differences over a load, by name."""
    connector = lab.connector()
    try:
        before = connector.sample()
        load()
        interval = difference(before, connector.sample(), longest_seconds=3600)
        assert not isinstance(interval, Gap)
        yield {figures.name: figures for figures in interval.roles}
    finally:
        connector.close()


@pytest.mark.parametrize(("version", "instances"), [((19, 22, 0, 0, 0), 1), ((12, 1, 0, 2, 0), 2), ((11, 2, 0, 4), 1)])
def test_each_by_its_own_waits(version: tuple[int, ...], instances: int) -> None:
    """100 commits of 2 ms, a sort of 8 calls each way, 50 blocks of undo: what was done on every instance, added up."""

    def load() -> None:
        for instance in range(1, instances + 1):
            lab.database.commit_transactions(100, instance=instance, microseconds=2000)
            lab.database.sort(1024, instance=instance, microseconds=20_000)
            lab.database.read_undo(50, instance=instance, microseconds=5000)

    quirks = Quirks(instances=instances)
    with running_harness("oracle roles (emulated server)", version, quirks) as lab, rises(lab, load) as of:
        log, temp, undo = of["redo log"], of["temporary tablespaces"], of["UNDOTBS1"]
        assert (log.role, temp.role, undo.role) == (Role.LOG, Role.TEMP, Role.UNDO)
        assert log.writes == 100 * instances
        assert log.write_seconds == pytest.approx(0.2 * instances)
        assert log.waited_seconds == pytest.approx(0.205 * instances)  # and 50 us until the session runs again
        assert log.written_bytes == 102_400 * instances
        assert (temp.reads, temp.writes) == (8 * instances, 8 * instances)
        assert temp.waited_seconds == pytest.approx(0.32 * instances)
        assert undo.reads == 50 * instances
        assert undo.waited_seconds == pytest.approx(0.25 * instances)


def test_a_missing_grant_leaves_the_rest_of_the_sample() -> None:
    """Without V$TEMPSTAT nothing is told of these files, the sample is there, and doctor names the missing GRANT."""
    script = (Path(__file__).parents[2] / "deploy" / "privileges" / "oracle-observe.sql").read_text(encoding="utf-8")
    granted = {("SELECT", f"SYS.{view}") for view in re.findall(r"^GRANT SELECT ON SYS\.(\S+)", script, re.M)}
    with running_harness("oracle roles (emulated server)") as lab:
        lab.database.add_user("WHOLE", PASSWORD).grants |= granted
        lab.database.add_user("HALF", PASSWORD).grants |= granted - {("SELECT", "SYS.GV_$TEMPSTAT")}
        whole, half = lab.connector(user="WHOLE"), lab.connector(user="HALF")
        try:
            assert whole.sample().roles
            assert half.sample().roles == ()
            found = {finding.code: finding for finding in half.doctor()}
        finally:
            whole.close()
            half.close()
    missing = found["not_granted_GV$TEMPSTAT"]
    assert missing.severity is Severity.WARNING
    assert missing.remedy == "GRANT SELECT ON SYS.GV_$TEMPSTAT TO HALF;"


def test_nothing_is_timed_is_nothing_known() -> None:
    """With TIMED_STATISTICS off every time is 0 in the views and unknown here; counts stay."""
    rows = [("log", "redo log", None, None, 7, 0, None, None), ("log", "redo log", None, None, 3, 0, 0, None)]
    (log,) = role_figures(rows, timed=False)
    assert log.writes == 10
    assert isnan(log.write_seconds)
    assert isnan(log.waited_seconds)
    assert log.note == "TIMED_STATISTICS is off"
