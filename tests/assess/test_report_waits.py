"""Waits of a report divided among its segments: the faults that real reports showed, and what always holds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.config.tiers import KINDS
from agent.studies.assessed import AssessmentResult, Part, broken
from agent.studies.assessment import assess
from connectors.kit.assessment import Observation, UnusableFile
from connectors.oracle import report_observation
from connectors.oracle.report_observation import observe_report
from connectors.oracle.report_waits import divided_kinds
from policies.evidence.prices import HOUR
from policies.model.settings import PolicySettings
from tests.assess.test_assessing import TOLD, judged
from tests.assess.test_reports import SEGMENTS, SPACES, TENTHS
from tests.assess.written_reports import LAYOUTS, Listed, Space, Told, write
from tests.cli.site import run_here
from tests.examples import examples

SINCE_12_2 = Told(
    seconds=3600,
    release="19.0.0.0.0",
    db_time=10_000,
    counted=False,
    spaces=[],
    events=[
        ("db file sequential read", 500_000, 500.0), ("db file scattered read", 10_000, 60.0),
        ("direct path read", 4_000, 40.0), ("direct path read temp", 900, 9.0),
    ],
    segments=[
        Listed(owner="SHOP", space="SHOP_DATA", name="ORDERS", blocks=300_000, calls=300_000),
        Listed(owner="SHOP", space="SHOP_DATA", name="HISTORY", blocks=400_000, calls=4_000, direct=400_000),
        Listed(owner="SHOP", space="SHOP_IDX", name="ORDERS_PK", blocks=100_000, calls=100_000, type="INDEX"),
    ],
    all_calls=520_000,
    all_blocks=1_060_000,
    all_direct=400_000,
)  # fmt: skip


def total(found: AssessmentResult, kind: str) -> float:
    """Seconds of the period that a kind of wait took."""
    return next(each.seconds for each in found.observation.kinds if each.name == kind)


@pytest.mark.parametrize("layout", ["html19", "awr19"])
def test_a_report_without_reads_by_tablespace_is_answered(layout: str) -> None:
    """Since 12.2: segments by the lists with their totals, time by the foreground events, the rest as all else."""
    found = judged(SINCE_12_2, layout=layout)
    units = {unit.key: unit for unit in found.units}
    assert list(units) == ["SHOP.ORDERS", "(all else)", "SHOP.ORDERS_PK INDEX", "SHOP.HISTORY"]
    assert total(found, "reads of one block") == pytest.approx(500.0)
    assert total(found, "reads of temporary files") == pytest.approx(9.0)
    assert found.measured_wait_per_hour == pytest.approx(600.0), "without temporary files"
    assert found.wait_per_hour == pytest.approx(600.0)
    # 516,000 calls of one block or several: 300,000 of them are of ORDERS, which reads one block a call.
    assert units["SHOP.ORDERS"].by_kind["reads of one block"] == pytest.approx(500 * 300 / 500, rel=0.04)
    assert units["SHOP.HISTORY"].by_kind["direct reads"] == pytest.approx(40.0)
    assert units["SHOP.ORDERS"].high_per_hour < 400
    assert any("counts no reads by tablespace" in note for note in found.observation.notes)
    assert any(note.startswith("3 segments are ranked") for note in found.observation.notes)


@pytest.mark.parametrize("layout", ["html11", "awr11"])
def test_a_space_whose_name_begins_another_keeps_its_own(layout: str) -> None:
    """SHOP_DATA and SHOP_DATA_OLD: a segment of one has nothing to do with the other."""
    told = replace(
        TOLD,
        spaces=[Space(name="SHOPDATA", reads=7, read_ms=5.0), Space(name="SHOPDATA_OLD", reads=900_000, read_ms=5.0)],
        segments=[Listed(owner="SHOP", space="SHOPDATA_OLD"[: 10 if layout == "awr11" else 12], name="ORDERS",
                         blocks=800_000, calls=800_000)],
        events=[("db file sequential read", 900_000, 4_500.0)],
    )  # fmt: skip
    found = judged(told, layout=layout)
    spaces = {space.name: space for space in found.spaces}
    assert [unit.space for unit in found.units if unit.key == "SHOP.ORDERS"] == ["SHOPDATA_OLD"]
    assert spaces["SHOPDATA"].wait_per_hour == pytest.approx(7 * 0.005, rel=0.1)
    assert set(spaces) == {"SHOPDATA", "SHOPDATA_OLD"}


def test_a_cut_name_that_two_spaces_begin_with_is_of_neither() -> None:
    """A text report cuts the name to ten characters, and two spaces begin so: the segment is in a space of its own."""
    told = replace(
        TOLD,
        spaces=[Space(name=f"SHOPDATA_A_{end}", reads=500_000, read_ms=5.0) for end in ("OLD", "NEW")],
        segments=[Listed(owner="SHOP", space="SHOPDATA_A", name="ORDERS", blocks=800, calls=800)],
    )  # fmt: skip
    assert [unit.space for unit in judged(told).units if unit.key == "SHOP.ORDERS"] == ["SHOPDATA_A"]


def test_a_whole_name_that_begins_another_is_no_cut_one() -> None:
    """An HTML report cuts nothing: a space that only the segments name, and with which another begins, is its own."""
    told = replace(
        TOLD,
        spaces=[Space(name="SHOPDATA_OLD", reads=900_000, read_ms=5.0)],
        segments=[Listed(owner="SHOP", space="SHOPDATA", name="ORDERS", blocks=800, calls=800)],
    )
    assert [unit.space for unit in judged(told, layout="html11").units if unit.key == "SHOP.ORDERS"] == ["SHOPDATA"]
    assert [unit.space for unit in judged(told).units if unit.key == "SHOP.ORDERS"] == ["SHOPDATA_OLD"]


def test_broken_read_times_of_files_are_not_believed() -> None:
    """The files say 30 s a read, the events 2 ms: these are what sessions waited, and the output says so."""
    told = replace(
        TOLD, spaces=[Space(name="DATA", reads=900_000, read_ms=30_000.0)], segments=[],
        events=[("db file sequential read", 900_000, 1_800.0)],
    )  # fmt: skip
    found = judged(told)
    assert found.tiers[1].speed.random_read_seconds == pytest.approx(2e-3, rel=0.01)
    assert found.wait_per_hour == pytest.approx(1_800)
    assert found.spaces[0].saves_per_hour == pytest.approx(1_800 * 0.9, rel=0.01)
    assert any(
        "the files say 30 s a read" in note and "the events are believed" in note for note in found.observation.notes
    )
    near = judged(replace(told, spaces=[Space(name="DATA", reads=900_000, read_ms=5.0)]))
    assert not any("believed" in note for note in near.observation.notes), "within a factor of three"


def test_a_few_reads_of_one_block_bound_nothing_above_the_whole() -> None:
    """A table that is scanned past the cache and looked up seldom: its bounds are within the time of each event."""
    told = replace(
        SINCE_12_2,
        segments=[
            Listed(owner="SHOP", space="D", name="SCANNED", blocks=9_000_000, calls=72_000, direct=8_990_000),
            Listed(owner="SHOP", space="D", name="LOOKED_UP", blocks=10, calls=10),
        ],
        events=[("db file sequential read", 12, 0.05), ("direct path read", 70_000, 7_500.0)],
        all_calls=72_010, all_blocks=9_000_010, all_direct=8_990_000,
    )  # fmt: skip
    found = judged(told, layout="html19")
    assert max(unit.high_per_hour for unit in found.units) <= found.measured_wait_per_hour
    looked_up = next(unit for unit in found.units if unit.key == "SHOP.LOOKED_UP")
    assert looked_up.high_per_hour <= 0.06


def test_what_others_made_at_most_is_of_the_list_of_calls() -> None:
    """A list of direct reads that ends with 1 says nothing about calls: the last of those had 4,000."""
    told = replace(SINCE_12_2, segments=[*SINCE_12_2.segments[:2], replace(SINCE_12_2.segments[2], direct=1)])
    notes = judged(told, layout="html19").observation.notes
    assert any("any other that the snapshots captured made at most 4,000 read calls" in note for note in notes)


def test_reads_of_a_space_are_those_that_are_printed() -> None:
    """Not waits divided by a read time: calls of all kinds, as the report's own total has them."""
    told = replace(TOLD, spaces=[Space(name="DATA", reads=36_000, read_ms=7.0, blocks=16.0)], segments=[])
    assert judged(told).spaces[0].reads == pytest.approx(10.0)


def test_one_wait_is_printed_and_a_default_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured, or by reads and read times, never both; nobody configured the read time of a data sheet."""
    monkeypatch.chdir(tmp_path)
    Path("r.txt").write_text(write(TOLD, "awr11"), encoding="utf-8")
    Path("untimed.txt").write_text(write(replace(TOLD, events=[]), "awr11"), encoding="utf-8")
    timed, untimed = (run_here("assess", name).out for name in ("r.txt", "untimed.txt"))
    assert "as the engine timed them" in timed
    assert "by reads and read times" not in timed
    assert "by reads and read times: no wait was timed" in untimed
    assert "(configured)" not in timed
    assert "200 µs (default)" in timed


# -- what always holds -----------------------------------------------------------------------------------------------

EVENTS = st.fixed_dictionaries(
    {
        name: st.tuples(st.integers(1, 5_000_000), TENTHS)
        for name in ("db file sequential read", "db file scattered read", "db file parallel read", "direct path read",
                     "read by other session", "direct path read temp")
    }
).flatmap(lambda events: st.lists(st.sampled_from(sorted(events)), unique=True).map(
    lambda names: [(name, events[name][0], events[name][0] * events[name][1] / 1000) for name in names]))  # fmt: skip
OF_SPACES = st.lists(SPACES, min_size=1, max_size=5, unique_by=lambda io: io.name)


@st.composite
def told(draw: st.DrawFn) -> Told:
    """A report of any kind: reads counted by space or not, short lists, sections that contradict each other."""
    spaces = draw(OF_SPACES)
    names = [space.name for space in spaces]
    segments = draw(
        st.lists(SEGMENTS, max_size=8, unique_by=lambda each: (each.owner, each.name, each.part, each.type))
    )
    placed = [
        replace(each, space=draw(st.sampled_from([*names, each.space])), direct=draw(st.integers(0, 2 * each.blocks)))
        for each in segments
    ]
    return Told(
        seconds=draw(st.integers(60, 100_000)) * 1.0,
        spaces=spaces,
        segments=placed,
        events=draw(EVENTS),
        db_time=draw(st.one_of(st.none(), st.integers(1, 9_999_999).map(float))),
        counted=draw(st.booleans()),
        longest=draw(st.one_of(st.none(), st.integers(1, 3))),
        all_calls=draw(st.one_of(st.none(), st.integers(0, 1_000_000_000))),
        all_blocks=draw(st.one_of(st.none(), st.integers(0, 1_000_000_000))),
        all_direct=draw(st.one_of(st.none(), st.integers(0, 1_000_000_000))),
    )


@settings(max_examples=examples(60), deadline=None)
@given(told=told(), layout=st.sampled_from(LAYOUTS))
def test_no_report_makes_an_impossible_figure(told: Told, layout: str) -> None:
    """Kinds add up to the whole, units to each kind and each space, and each segment is in one space.

    Bounds lie around their figure and within the event. The guard, which looks for the same, withholds nothing.
    """
    text = write(told, layout)
    try:
        observation = observe_report("r", text)
    except UnusableFile as error:
        assert error.advice  # noqa: PT017  # most are read
        return
    found = assess(observation, KINDS["ssd"], KINDS["hdd"], PolicySettings())
    assert found.withheld == ()
    whole = sum(kind.seconds for kind in observation.kinds if kind.of_units)
    assert found.wait_per_hour * observation.demand.seconds / HOUR == pytest.approx(whole, rel=1e-6, abs=1e-6)
    for kind in observation.kinds:
        if kind.by_unit is not None:
            assert kind.least is not None
            assert kind.most is not None
            assert kind.by_unit.sum() == pytest.approx(kind.seconds, rel=1e-6, abs=1e-9)
            assert bool((kind.least <= kind.by_unit).all())
            assert bool((kind.by_unit <= kind.most).all())
            assert kind.most.max() <= kind.seconds * (1 + 1e-9)
    most = whole * HOUR / observation.demand.seconds * (1 + 1e-6) + 1e-6
    assert all(unit.low_per_hour <= unit.wait_per_hour <= unit.high_per_hour <= most for unit in found.units)
    for space in found.spaces:
        of_space = sum(unit.wait_per_hour for unit in found.units if unit.space == space.name)
        assert space.wait_per_hour == pytest.approx(of_space, rel=1e-6, abs=1e-6)
    assert len({unit.key for unit in found.units}) == len(found.units)


def observed() -> Observation:
    """A report that agrees with itself."""
    return observe_report("r", write(TOLD, "awr11"))


def withheld(observation: Observation) -> AssessmentResult:
    """What is left of an assessment of figures that contradict each other."""
    return assess(observation, KINDS["ssd"], KINDS["hdd"], PolicySettings())


def test_the_guard_withholds_what_rests_on_a_contradiction() -> None:
    """A bound outside of its event: the section is named, and nothing that rests on it is left."""
    observation = observed()
    first, *rest = observation.kinds
    assert first.most is not None
    found = withheld(replace(observation, kinds=(replace(first, most=first.most * 1e4), *rest)))
    (only,) = found.withheld
    assert (only.part, only.section) == (Part.KINDS, "Foreground Wait Events")
    assert "a bound of an object is outside of" in only.sentence
    assert (found.spaces, found.units, found.observation.kinds, found.sizing) == ((), (), (), None)
    assert np.isnan(found.wait_per_hour)


@pytest.mark.parametrize(
    ("change", "part", "words"),
    [
        (lambda found: replace(found, units=tuple(replace(each, high_per_hour=1e9) for each in found.units)),
         Part.UNITS, "were measured in all"),
        (lambda found: replace(found, units=tuple(replace(each, low_per_hour=1e9) for each in found.units)),
         Part.UNITS, "is not between"),
        (lambda found: replace(found, units=(*found.units, found.units[0])), Part.UNITS, "is counted 2 times"),
        (lambda found: replace(found, units=tuple(replace(each, saves_per_hour=1e9) for each in found.units)),
         Part.UNITS, "waits for less"),
        (lambda found: replace(found, spaces=found.spaces[1:]), Part.SPACES, "they add up to"),
        (lambda found: replace(found, spaces=tuple(replace(each, reads=1.0) for each in found.spaces)),
         Part.SPACES, "reads/s, the file has"),
        (lambda found: replace(found, measured_wait_per_hour=1.0), Part.KINDS, "they add up to"),
    ],
)  # fmt: skip
def test_the_guard_sees_each_contradiction(change: object, part: Part, words: str) -> None:
    """Bounds, sums, doubles, savings, reads: each is seen, and the section of the file is named."""
    assert callable(change)
    found = assess(observed(), KINDS["ssd"], KINDS["hdd"], PolicySettings())
    assert broken(found) == ()
    seen = [each for each in broken(change(found)) if each.part is part]
    assert any(words in each.sentence for each in seen), seen
    assert all(each.section for each in seen)


def test_withheld_figures_are_not_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command names the part, the section and the reason, and prints no object."""
    monkeypatch.chdir(tmp_path)
    Path("r.txt").write_text(write(TOLD, "awr11"), encoding="utf-8")
    real = divided_kinds
    monkeypatch.setattr(
        report_observation, "divided_kinds",
        lambda *values: tuple(replace(each, seconds=each.seconds * 2) for each in real(*values)),
    )  # fmt: skip
    done = run_here("assess", "r.txt")
    assert "withheld, waits by kind (Foreground Wait Events)" in done.out
    assert "APP.ORDERS" not in done.out
    document = json.loads(run_here("assess", "r.txt", "--json").out)["assessments"][0]
    assert (document["units"], document["spaces"], document["waits_by_kind"]) == ([], [], [])
    assert document["withheld"][0]["section"] == "Foreground Wait Events"
