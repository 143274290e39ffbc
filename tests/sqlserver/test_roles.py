"""Log and tempdb of SQL Server by the rows of ``sql/roles.sql``."""

from __future__ import annotations

from math import isnan

from connectors.model.observation import Role
from connectors.sqlserver.sampler import role_figures

LOG = ("log", "shop_log", 3, 6, 100, 400, 102_400)
TEMPDB = ("temp", "tempdb", 16, 320, 16, 160, 8_388_608)
WAITS = ("wait", "WRITELOG", None, None, None, 450, None)


def test_waits_for_logs_are_those_of_the_server() -> None:
    """The log's own stalls give its latency, WRITELOG what sessions wait, which the note calls an upper bound."""
    log, temp = role_figures([LOG, TEMPDB, WAITS])
    assert (log.role, log.name, log.writes, log.write_seconds) == (Role.LOG, "shop_log", 100.0, 0.4)
    assert (log.waited_seconds, log.written_bytes) == (0.45, 102_400.0)
    assert (temp.role, temp.read_seconds, temp.waited_seconds) == (Role.TEMP, 0.32, 0.48)
    assert all("upper bound" in figures.note for figures in (log, temp))


def test_what_is_not_shown_is_not_made_up() -> None:
    """A cloud database shows no tempdb; without the row of the waits those for the log are unknown."""
    (log,) = role_figures([LOG, ("temp", "tempdb", None, None, None, None, None)])
    assert isnan(log.waited_seconds)
    assert log.write_seconds == 0.4
    assert role_figures([]) == ()
