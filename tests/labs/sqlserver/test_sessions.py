"""Rule 27: sessions, what each did last, and how long batches took."""

from __future__ import annotations

from tests.labs.sqlserver.conftest import Ask
from tests.labs.sqlserver.instance import Client
from tests.labs.sqlserver.lab import Lab

AGES = (
    "SELECT s.status, s.open_transaction_count, DATEDIFF(second, s.last_request_start_time, GETDATE()) AS began, "
    "DATEDIFF(day, s.last_request_end_time, GETDATE()) AS ended, r.wait_type "
    "FROM sys.dm_exec_sessions AS s LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id "
    "WHERE s.program_name = 'till' ORDER BY s.session_id"
)


def test_what_each_session_did_last(lab: Lab, ask: Ask) -> None:
    """One waits for a page, one sits on a transaction, one has never asked."""
    lab.instance.clients = [
        Client(running=True, wait_type="PAGEIOLATCH_SH", began=2.0),
        Client(began=50.0, ended=40.0, open_transactions=1),
        Client(began=7 * 86400.0, ended=None),
    ]
    reads, sits, never = ask(AGES)
    assert (reads[0], reads[1], reads[4]) == ("running", 0, "PAGEIOLATCH_SH")
    assert reads[2] in (1, 2, 3)
    assert (sits[0], sits[1], sits[4]) == ("sleeping", 1, None)
    assert never[3] > 40_000


def test_batches_are_timed_for_the_whole_server(lab: Lab, ask: Ask) -> None:
    """A row for each class of duration: only their sum is the time."""
    lab.instance.batch_ms["Elapsed Time:Total(ms)"] = 4000
    found = ask(
        "SELECT COUNT(*) AS classes, SUM(c.cntr_value) AS milliseconds FROM sys.dm_os_performance_counters AS c "
        "WHERE RTRIM(c.object_name) LIKE '%:Batch Resp Statistics' AND c.instance_name LIKE 'Elapsed Time:Total%'"
    )
    assert found == [(2, 4000)]
    lab.instance.restart()
    assert ask(
        "SELECT COUNT(*) AS n FROM sys.dm_os_performance_counters AS c WHERE c.object_name LIKE '%Batch Resp%'"
    ) == [(0,)]
