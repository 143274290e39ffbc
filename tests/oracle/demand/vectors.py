"""The demand vectors, and what hotplace says of one when the emulated server shows its counters."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connectors.kit.contract import Connector
from policies.model.settings import TierSpeed
from tests.contract.asking import demand_of
from tests.demand_vectors import SpeedOf, a_spindle, waits
from tests.labs.oracle.harness import OWNER, OracleHarness
from tests.labs.oracle.model import Segment

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))
SIZE = 64 << 20


@dataclass(frozen=True, slots=True)
class Judged:
    """One unit: seconds that sessions waited for it per second, by the workload, by an observer, by hotplace."""

    name: str
    truth: float
    least: float
    most: float
    measured: bool
    said: float

    @property
    def error(self) -> float:
        """Of the truth, where the counters measure it; else of the nearer end of what they leave open."""
        if self.measured:
            return abs(self.said - self.truth) / self.truth if self.truth else self.said
        beyond = max(self.least - self.said, self.said - self.most, 0.0)
        return beyond / self.truth


def judge(lab: OracleHarness, connector: Connector, vector: dict[str, Any]) -> list[Judged]:
    """Show the vector's counters before and after, and ask; segments that are no unit are left out."""
    segments = _built(lab, vector)
    _show(lab, vector, segments, "before")
    demand, catalog = demand_of(lab, connector, lambda: _show(lab, vector, segments, "after"))
    by_column = waits(demand, catalog, "oracle", _speed_of(vector)) * demand.seconds / vector["seconds"]
    found = []
    for row in vector["segments"]:
        at = catalog.units.rows_of(demand.physical_id).tolist()
        here = [n for n, unit in enumerate(at) if catalog.units.physical_id[unit] == segments[row["name"]].object_id]
        if row["type"] in ("TABLE", "INDEX", "LOB") or here:
            said = float(sum(by_column[n] for n in here))
            found.append(_judged(vector, row, said, units={s["name"] for s in vector["segments"]} if here else set()))
    return found


def _judged(vector: dict[str, Any], row: dict[str, Any], said: float, units: set[str]) -> Judged:
    """What a LOB's index cost its sessions counts with the LOB, which it moves with."""
    own = [row, *(s for s in vector["segments"] if s["type"] == "LOBINDEX" and s["of"] == row["name"])]
    truth, least, most = (sum(float(s[key]) for s in own) for key in ("wait", "least", "most"))
    return Judged(row["name"], truth, least, most, all(s["measured"] for s in own), said)


def _speed_of(vector: dict[str, Any]) -> SpeedOf:
    """What the storage of each tablespace takes by the vector; of those that it does not speak of, a spindle's."""

    def speed(space: str) -> TierSpeed:
        if space not in vector["spaces"]:
            return a_spindle()
        storage = vector["spaces"][space]
        return TierSpeed(
            random_read_seconds=storage["random_seconds"],
            sequential_read_seconds=storage["sequential_seconds_per_block"],
            write_seconds=storage["random_seconds"],
        )

    return speed


def _built(lab: OracleHarness, vector: dict[str, Any]) -> dict[str, Segment]:
    """In the order of the vector: what belongs to a table comes after it."""
    database, made = lab.database, {}
    for row in vector["segments"]:
        name, space = row["name"], row["space"]
        match row["type"]:
            case "TABLE":
                made[name] = database.add_table(OWNER, name, space, SIZE).segments[0]
            case "INDEX":
                made[name] = database.add_index(database.table(OWNER, row["of"]), name, space, SIZE).segments[0]
            case "LOB":
                made[name] = database.add_lob(database.table(OWNER, row["of"]), name, space, SIZE).segments[0]
            case "LOBINDEX":
                lobs = [lob for table in database.tables.values() for lob in table.lobs]
                made[name] = next(lob for lob in lobs if lob.column == row["of"]).indexes[0]
            case "CLUSTER":
                made[name] = database.add_cluster(OWNER, name, space, SIZE, (f"{name}_A", f"{name}_B"))
            case "NESTED TABLE":
                parent = next(s["name"] for s in vector["segments"] if s["type"] == "TABLE")
                table = database.table(OWNER, parent)
                made[name] = database.add_nested_table(table, name, space, SIZE).segments[0]
            case unknown:
                raise ValueError(f"{vector['name']}: no segment is a {unknown}")
    return made


def _show(lab: OracleHarness, vector: dict[str, Any], segments: dict[str, Segment], when: str) -> None:
    """The counters as they are at that moment."""
    database = lab.database
    with database.changed:
        for row in vector["segments"]:
            segments[row["name"]].counters[0] = Counter(row["counters"][when])
        for space, counted in vector["files"].items():
            database.tablespaces[space].files[0].counters[0] = Counter(counted[when])
        database.events[0] = Counter(vector["waits"][when])
        database.statistics[0] = Counter(vector["statistics"][when])
        database.touch()
