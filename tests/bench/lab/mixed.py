"""The mixed schema: something for every wrong rule to choose.

| table | what it is |
|---|---|
| ledger | most misses of all, but spread over the largest table that is looked into |
| orders, stock | hot random look-ups on less than half as many bytes each |
| events | scanned from end to end every so often by one reader: many misses, little wait for each |
| prices | busiest by logical reads, always in the buffer pool |
| audit | appended to |
| archive | large, and nobody looks |
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.bench.lab.load import Group, Script, Workload
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import Rig
from tests.bench.lab.rules_of_thumb import Candidate
from tests.bench.lab.schema import Table

ROWS: Mapping[str, int] = {  # at scale 1: 128 bytes each, and 22 in the key
    "ledger": 1_200_000,
    "orders": 500_000,
    "stock": 450_000,
    "events": 500_000,
    "prices": 20_000,
    "audit": 100_000,
    "archive": 1_500_000,
}
WITHOUT_KEY = frozenset({"events", "audit"})
LOOK_UPS: Mapping[str, int] = {"ledger": 38, "orders": 30, "stock": 26}  # weights; prices and audit make 100 of it
PRICE_LOOK_UPS = 10  # in one transaction
CLIENTS = 8
SCAN_REST_SECONDS = 15.0  # at scale 1
SSD_SHARE, HEAD_ROOM = 0.27, 0.05  # of all bytes; of the SSD

_MISSES = """
SELECT n.nspname || '.' || c.relname, c.relkind = 'i', pg_relation_size(c.oid),
       pg_stat_get_blocks_fetched(c.oid) - pg_stat_get_blocks_hit(c.oid)
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'i') AND n.nspname = 'public'
"""


def tables(pace: Pace) -> tuple[Table, ...]:
    """All of them at the pace's scale."""
    return tuple(
        Table(name=name, rows=max(1000, round(rows * pace.scale)), keyed=name not in WITHOUT_KEY)
        for name, rows in ROWS.items()
    )


def workload(pace: Pace) -> Workload:
    """Eight clients, and one more that scans and rests."""
    made = {table.name: table for table in tables(pace)}
    scripts = [
        Script(name=name, weight=weight, text=f"\\set id random(1, {made[name].rows})\n"
               f"SELECT n FROM {name} WHERE id = :id;\n")
        for name, weight in LOOK_UPS.items()
    ]  # fmt: skip
    several = "".join(f"\\set i{at} random(1, {made['prices'].rows})\n" for at in range(PRICE_LOOK_UPS))
    ids = ", ".join(f":i{at}" for at in range(PRICE_LOOK_UPS))
    scripts.append(Script(name="prices", weight=4, text=f"{several}SELECT sum(n) FROM prices WHERE id IN ({ids});\n"))
    scripts.append(Script(name="audit", weight=2, text="INSERT INTO audit VALUES (1, 1, repeat('x', 84));\n"))
    rest = round(SCAN_REST_SECONDS * pace.scale * 1000)
    scan = Script(name="scan", text=f"SELECT sum(n) FROM events;\n\\sleep {rest} ms\n")
    return Workload(
        groups=(
            Group(scripts=tuple(scripts), clients=CLIENTS),
            Group(scripts=(scan,), clients=1, foreground=False),
        )
    )


def candidates(rig: Rig) -> tuple[Candidate, ...]:
    """Every unit with its misses so far."""
    with rig.session() as session:
        rows = session.execute(_MISSES).fetchall()
    return tuple(Candidate(key=key, index=index, size_bytes=size, misses=misses) for key, index, size, misses in rows)
