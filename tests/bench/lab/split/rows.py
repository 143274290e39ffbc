"""What the table holds against the journal of what was ever written to it, and the ageing of new rows."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from tests.bench.lab.rig import Rig
from tests.bench.lab.split.cases import HOT, SEQUENCE, TABLE, Case

BATCH = 200  # values of the column in one statement; what goes beyond the border takes room on the SSD
_NOT_THE_SAME = """
SELECT count(*)
  FROM ((SELECT digest FROM bench.journal EXCEPT ALL SELECT md5(concat_ws(',', {digest})) FROM {table})
        UNION ALL
        (SELECT md5(concat_ws(',', {digest})) FROM {table} EXCEPT ALL SELECT digest FROM bench.journal)) AS d
"""


def rows_lost(rig: Rig, case: Case) -> int:
    """Rows that are not in the table as they were written, and rows that are there and were never written.

    In one snapshot of the server, at the machine's own speed.
    """
    rig.disk.switch(False)
    try:
        with rig.session() as session:
            session.execute("SET work_mem = '256MB'")
            row = session.execute(_NOT_THE_SAME.format(digest=case.digest, table=TABLE).encode()).fetchone()
        assert row is not None, "an aggregate has a row"
        return int(row[0])
    finally:
        rig.disk.switch(True)


def newest(session: psycopg.Connection) -> int:
    """The last value that was given."""
    row = session.execute(f"SELECT last_value FROM {SEQUENCE}".encode()).fetchone()
    assert row is not None, "a sequence has a row"
    return int(row[0])


def next_values(session: psycopg.Connection, count: int) -> Sequence[int]:
    """So many that nobody else is given."""
    row = session.execute(
        f"SELECT array_agg(nextval('{SEQUENCE}')) FROM generate_series(1, {count})".encode()
    ).fetchone()
    assert row is not None, "an aggregate has a row"
    values: list[int] = row[0]
    return values


def age(rig: Rig, case: Case, border: int) -> int:
    """Write rows until the hot part of the table begins at the border; how many values were used.

    Time is compressed: what years write is written as fast as the disks take it, and vacuumed at the machine's speed.
    """
    with rig.session() as session:
        began = newest(session)
        while (last := newest(session)) - last // HOT < border:
            values = next_values(session, BATCH)
            session.execute(case.insert.format(first=values[0], last=values[-1]).encode())
        used = newest(session) - began
        rig.disk.switch(False)
        session.execute(f"VACUUM (ANALYZE) {TABLE}".encode())
        rig.disk.switch(True)
    return used
