"""What an observation is judged to be: waits by read times, savings by the product's own curve and plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agent.config.tiers import KINDS
from agent.studies.assessed import AssessmentResult
from agent.studies.assessment import assess
from agent.studies.exported_tables import columns_of
from connectors.kit.assessment import NamedRows
from connectors.oracle.report_observation import observe_report
from connectors.oracle.sessions import query
from policies.model.settings import PolicySettings
from tests.assess.real_reports import REAL, Real
from tests.assess.written_reports import Listed, Space, Told, write

TOLD = Told(
    seconds=3600,
    db_time=20_000,
    transactions=10,
    events=[("db file sequential read", 1_300_000, 7_300.0), ("db file scattered read", 1_000, 10.0)],
    spaces=[Space(name="DATA", reads=1_000_000, read_ms=7.0), Space(name="IDX", reads=300_000, read_ms=1.0)],
    segments=[Listed(owner="APP", space="DATA", name="ORDERS", blocks=600_000, calls=600_000)],
)
MIB = 2**20


def row(number: int, name: str, size: int, space: str) -> tuple[object, ...]:
    """A row of ``units.sql``."""
    return number, number, "APP", name, None, "TABLE", size, size // 8192, space, "DEFAULT"


def named(rows: list[tuple[object, ...]]) -> NamedRows:
    """Such rows as a file that has them."""
    columns = columns_of(query("units"))
    return NamedRows(path="units.csv", columns=columns, rows=list(enumerate(rows, start=2)))


def judged(
    told: Told, *, layout: str = "awr11", sizes: list[tuple[object, ...]] | None = None, offered: int | None = None
) -> AssessmentResult:
    """The assessment of a written report."""
    observation = observe_report("r", write(told, layout), None if sizes is None else named(sizes))
    return assess(observation, KINDS["ssd"], KINDS["hdd"], PolicySettings(), offered=offered)


def test_spaces_cost_what_their_reads_take() -> None:
    """Wait is reads times the read time of the own space, not of the mean; what SSD saves is that less its own time."""
    found = {each.name: each for each in judged(TOLD).spaces}
    assert found["DATA"].wait_per_hour == pytest.approx(7_000, rel=0.01)
    assert found["IDX"].wait_per_hour == pytest.approx(300, rel=0.01)
    assert found["DATA"].saves_per_hour == pytest.approx(7_000 - 1_000_000 * 0.0002, rel=0.01)
    assert found["IDX"].saves_per_hour == pytest.approx(300 - 300_000 * 0.0002, rel=0.01)


def test_what_no_list_names_is_the_rest() -> None:
    """A listed segment has its own reads, all others of its tablespace are one unit with the rest of them."""
    found = {each.key: each for each in judged(TOLD).units}
    assert found["APP.ORDERS"].wait_per_hour == pytest.approx(600_000 * 0.007, rel=0.01)
    assert found["(all else) in DATA"].wait_per_hour == pytest.approx(400_000 * 0.007, rel=0.01)
    assert found["APP.ORDERS"].low_per_hour == pytest.approx(found["APP.ORDERS"].wait_per_hour)
    assert found["(all else) in DATA"].low_per_hour == pytest.approx(
        found["(all else) in DATA"].wait_per_hour, rel=0.01
    )
    assert found["tablespace IDX"].high_per_hour < 7_310, "no bound is above what all sessions waited"


def test_a_report_has_no_sizes() -> None:
    """Without sizes there is no curve and no offer; with them both are there, and the offer keeps head-room."""
    bare = judged(TOLD, offered=100 * MIB)
    assert (bare.sizing, bare.offer, bare.sized_ratio) == (None, None, 0.0)
    sizes = [row(1, "ORDERS", 80 * MIB, "DATA"), row(2, "OTHER", 320 * MIB, "DATA"), row(3, "PK", 50 * MIB, "IDX")]
    found = judged(TOLD, sizes=sizes, offered=100 * MIB)
    assert found.sizing is not None
    assert found.sizing.managed_bytes == 450 * MIB
    assert found.sizing.all_fast_per_hour > 0
    assert found.offer is not None
    assert [move.key for move in found.offer.plan.moves] == ["APP.ORDERS"]
    assert found.offer.saves_per_hour == pytest.approx(600_000 * (0.007 - 0.0002), rel=0.02)
    assert found.offer.low_per_hour > 0.8 * found.offer.saves_per_hour, "its reads were timed, each of them"
    small = judged(TOLD, sizes=sizes, offered=85 * MIB)
    assert small.offer is not None
    assert all(move.key != "APP.ORDERS" for move in small.offer.plan.moves), "80 MiB do not fit 85 less a tenth"


ORDERS, OTHER, REST_OF_DATA = (
    row(1, "ORDERS", 80 * MIB, "DATA"),
    row(2, "OTHER", 90 * MIB, "DATA"),
    "(all else) in DATA",
)


@pytest.mark.parametrize(
    ("sizes", "known", "lacks"),
    [
        ([ORDERS], {"APP.ORDERS": 80 * MIB}, "all segments of IDX; segments of DATA that the report does not list"),
        ([OTHER], {}, "the size of APP.ORDERS; all segments of IDX"),
        ([ORDERS, OTHER], {"APP.ORDERS": 80 * MIB, REST_OF_DATA: 90 * MIB}, "all segments of IDX"),
    ],
)
def test_a_rest_whose_size_does_not_follow_is_unknown(
    sizes: list[tuple[object, ...]], known: dict[str, int], lacks: str
) -> None:
    """Of one byte it would be the first on any storage; a listed segment without a size leaves the rest open too."""
    found = judged(TOLD, sizes=sizes, offered=1000 * MIB)
    assert {each.key: each.size_bytes for each in found.units if each.size_bytes is not None} == known
    assert {each.name: each.size_bytes for each in found.spaces}["DATA"] == (170 * MIB if len(known) == 2 else None)
    assert (set() if found.offer is None else {move.key for move in found.offer.plan.moves}) == set(known)
    (note,) = (note for note in found.observation.notes if "--sizes" in note)
    assert note == (
        f"--sizes lacks {lacks}: save the whole result of units (hotplace assess --print-queries oracle) as that file"
    )


def test_an_offer_saves_no_more_than_its_objects_may_have_waited() -> None:
    """Nor less than nothing: of one that had perhaps no wait, and a fifth more at most."""
    sizes = [row(1, "ORDERS", 80 * MIB, "DATA")]
    observation = observe_report("r", write(TOLD, "awr11"), named(sizes))
    count = len(observation.least)
    observation = replace(observation, least=np.zeros(count), most=np.full(count, 1.2))
    found = assess(observation, KINDS["ssd"], KINDS["hdd"], PolicySettings(), offered=100 * MIB)
    assert found.offer is not None
    assert found.offer.usable_bytes == 90 * MIB
    moved = {move.key for move in found.offer.plan.moves}
    assert "APP.ORDERS" in moved
    assert 0 <= found.offer.low_per_hour <= found.offer.saves_per_hour <= found.offer.high_per_hour
    most = sum(unit.high_per_hour for unit in found.units if unit.key in moved)
    assert found.offer.high_per_hour <= most * 1.0001


def test_quick_storage_gains_nothing() -> None:
    """Where reads are as quick as SSD already, nothing is saved."""
    told = replace(
        TOLD, spaces=[Space(name="DATA", reads=1_000_000, read_ms=0.1)], segments=[],
        events=[("db file sequential read", 1_000_000, 100.0)],
    )  # fmt: skip
    assert judged(told).spaces[0].saves_per_hour == pytest.approx(0, abs=1)


@pytest.mark.parametrize("real", REAL, ids=[each.name for each in REAL])
def test_real_report(real: Real) -> None:
    """A real report: what is modelled is what sessions were measured to wait, but for what no tablespace explains."""
    found = judged(real.told, layout=real.layout)
    assert found.observation.demand.seconds == pytest.approx(real.told.seconds, rel=0.01)
    if real.told.events and real.whole:
        assert found.wait_per_hour == pytest.approx(found.measured_wait_per_hour, rel=0.01)
    assert {each.name for each in found.spaces} == {io.name for io in real.told.spaces}
    assert all(each.saves_per_hour == 0 for each in found.spaces if each.name.startswith("UNDO"))
    assert found.withheld == ()
    saved = sum(each.saves_per_hour for each in found.spaces)
    assert 0 <= saved <= found.wait_per_hour
    assert np.isfinite(found.observation.demand.rates).all()


def test_a_prediction_is_held_against_what_happened() -> None:
    """A real report before and after: reads of one block within a factor of 3, those of several within 4.

    Sessions wait for a call for several blocks as a whole, so it is measured, and scaled like any read. What is left is
    that the bytes of a call take their time on the fastest device too. The plan of the queries changed with the
    storage, so only the time of a read can be compared.
    """
    before = next(real for real in REAL if real.after is not None)
    after = before.after
    assert after is not None
    predicted = judged(before.told, layout=before.layout)
    fast, present = (tier.speed.random_read_seconds for tier in predicted.tiers)
    assert fast / (after.single_seconds / after.singles) == pytest.approx(2.3, abs=0.1)
    (several,) = (event for event in before.told.events if event[0] == "db file scattered read")
    quicker = several[2] / several[1] * fast / present
    assert quicker / (after.several_seconds / after.several) == pytest.approx(1 / 3.3, rel=0.1)
    saved = sum(each.saves_per_hour for each in predicted.spaces) / predicted.wait_per_hour
    assert saved == pytest.approx(0.95, abs=0.02), "99.7 % less wait was measured, over 54 times fewer reads"
