"""What a connector says about a database it only looks at."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from connectors.kit.contract import AuthenticationFailed, Connector, FillsTemplates, SeesForeground
from connectors.kit.findings import Severity
from connectors.kit.templates import TemplateKind
from connectors.model.blocks import BLOCK_HEAT, SeesBlocks
from connectors.model.moves import NoRoute
from connectors.model.observation import Signal
from tests.contract.asking import bundle_of, counter_source_of, demand_of, reads_of
from tests.contract.harness import Ability, EngineHarness, PlayTable

READS = 300


def test_identity_is_the_same_from_every_connection(harness: EngineHarness, connector: Connector) -> None:
    """Two connections to one database agree on who it is, fingerprint included."""
    other = harness.connect()
    try:
        assert connector.identify() == other.identify()
        assert connector.identify().fingerprint
        assert connector.identify().version_number
    finally:
        other.close()


def test_capabilities_have_reasons(connector: Connector) -> None:
    """Every capability says why, and what is missing says what to do."""
    capabilities = connector.capabilities()
    assert capabilities
    assert all(c.because for c in capabilities)
    assert all(c.advice for c in capabilities if not c.available)


def test_heat_inside_units_is_seen_or_the_reason_is_said(
    harness: EngineHarness, connector: Connector, table: PlayTable
) -> None:
    """Doctor and capability agree. Who may look is shown the unit's blocks, by rising numbers, and its reads."""
    (may,) = (each for each in connector.capabilities() if each.name == BLOCK_HEAT)
    (finding,) = (each for each in connector.doctor() if each.code == "block_looks")
    assert may.available == (finding.severity is Severity.OK)
    if not may.available:
        assert may.advice
        assert finding.remedy
        return
    assert isinstance(connector, SeesBlocks)
    unit = bundle_of(connector.catalog(), table.key).physical_ids[0]
    with connector.read_blocks() as reader:
        before = reader.look(np.array([unit, -1])).units
        harness.read_randomly(table, READS)
        look = reader.look(np.array([unit, -1]))
    (after,) = look.units
    assert [each.physical_id for each in before] == [after.physical_id] == [unit]
    assert 0 < len(after.resident) <= after.blocks
    assert bool(np.all(np.diff(after.resident) > 0))
    assert bool(np.all((after.resident >= 0) & (after.resident < after.blocks)))
    assert look.server_seconds > 0
    assert look.block_bytes >= 512
    assert after.reads > before[0].reads or bool(np.isnan(after.reads))


def test_catalog_is_well_formed(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """Homes are rows of spaces, keys are unique, sizes are not negative, times are aware."""
    catalog = connector.catalog()
    units = catalog.units
    assert len(set(units.key)) == len(units)
    assert bool(np.all((units.space >= 0) & (units.space < len(catalog.spaces))))
    assert bool(np.all(units.size_bytes >= 0))
    assert catalog.taken_at.utcoffset() == timedelta(0)
    assert len({space.name for space in catalog.spaces}) == len(catalog.spaces)
    assert {harness.source_space, harness.target_space} <= {space.name for space in catalog.spaces}
    for space in catalog.spaces:
        assert len({container.name for container in space.containers}) == len(space.containers)
        assert all(container.path and container.size_bytes >= 0 for container in space.containers)
    assert any(space.containers for space in catalog.spaces)
    assert table.keys <= set(units.key)


def test_an_index_knows_its_table(connector: Connector, table: PlayTable) -> None:
    """The parent of an index is the physical id of its table, and it is a bundle of its own or its table's."""
    units = connector.catalog().units
    keys = list(units.key)
    assert int(units.parent[keys.index(table.index_key)]) == int(units.physical_id[keys.index(table.key)])


@pytest.mark.needs(Ability.LOB)
def test_a_large_object_moves_with_its_table_or_alone(harness: EngineHarness, connector: Connector) -> None:
    """Units that only move together carry one bundle number; others are a bundle each, with a route of its own."""
    table = harness.create("play_lob", lob=True)
    try:
        assert table.lob_key is not None
        both, catalog = {table.key, table.lob_key}, connector.catalog()
        bundles = [bundle_of(catalog, key) for key in (table.key, table.lob_key)]
        apart = [set(bundle.unit_keys) for bundle in bundles] == [{table.key}, {table.lob_key}]
        assert apart or set(bundles[0].unit_keys) == both
        for bundle in bundles if apart else bundles[:1]:
            assert isinstance(connector.routes(bundle, harness.target_space), tuple), bundle.key
    finally:
        harness.drop(table)


def test_exact_sizes(connector: Connector, table: PlayTable) -> None:
    """Exact sizes are bytes, and -1 for what is not there."""
    bundle = bundle_of(connector.catalog(), table.key)
    ids = np.array([*bundle.physical_ids, 2**31 - 7], dtype=np.int64)
    sizes = connector.exact_sizes(ids)
    assert bool(np.all(sizes[:-1] > 0))
    assert int(sizes[-1]) == -1


def test_counters_only_rise(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """Within an epoch no counter of a unit falls, and the sample's clock goes on."""
    harness.read_randomly(table, READS)
    first = connector.sample()
    harness.read_randomly(table, READS)
    second = connector.sample()
    assert first.epoch == second.epoch
    assert second.monotonic_seconds >= first.monotonic_seconds
    assert bool(np.all(np.isin(first.physical_id, second.physical_id)))
    at = np.searchsorted(second.physical_id, first.physical_id)
    for name, values in first.counters.items():
        assert bool(np.all(second.counters[name][at] >= values)), name


def test_a_sample_is_sorted_and_absent_means_zero(connector: Connector, table: PlayTable) -> None:
    """Ids ascend, columns are aligned, and whoever is listed has a counter that is not zero."""
    sample = connector.sample()
    assert bool(np.all(np.diff(sample.physical_id) > 0))
    assert all(len(column) == len(sample.physical_id) for column in sample.counters.values())
    assert all(bool(np.all(column >= 0)) for column in sample.counters.values())
    assert sample.server_seconds >= 0


def test_counters_by_object_are_those_of_all_at_once(
    harness: EngineHarness, connector: Connector, table: PlayTable
) -> None:
    """Where all are too many, some are asked for by id, each call with a limit of its own: the same figures."""
    source = counter_source_of(connector)
    if source is None:  # an engine whose counters never take long
        return
    keeping = harness.create("by_object_lob", lob=True)
    try:
        connector.catalog()
        for each in (table, keeping):
            harness.read_randomly(each, READS)
            harness.scan(each)
        known, objects = source.units()
        at_once, several = source.read_all(2.0), source.at_once
        asked = np.unique(objects[np.isin(known, at_once.ids)]).tolist()
        parts = [source.read_some(asked[at : at + several], 2.0) for at in range(0, len(asked), several)]
    finally:
        harness.drop(keeping)
    ids = np.concatenate([part.ids for part in parts])
    order = np.argsort(ids)
    both = np.isin(at_once.ids, known)
    assert len(parts) >= 1
    assert ids[order].tolist() == at_once.ids[both].tolist()
    for name in source.names:
        by_object = np.concatenate([part.by_name[name] for part in parts])[order]
        assert by_object.tolist() == at_once.by_name[name][both].tolist(), name


def test_random_reads_are_waited_for(
    harness: EngineHarness, connector: Connector, table: PlayTable, other_table: PlayTable
) -> None:
    """Look-ups from storage are SYNC_READ on the table that was read and on no other."""
    demand, catalog = demand_of(harness, connector, lambda: harness.read_randomly(table, READS))
    waited = reads_of(demand, catalog, Signal.SYNC_READ)
    assert waited.get(table.key, 0.0) >= READS / 3
    assert not other_table.keys & waited.keys()


def test_the_time_of_reads_is_told(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """What moves are held up by: counters of reads and their time, which rise with look-ups from storage."""
    if not isinstance(connector, SeesForeground):
        return
    before = connector.foreground_reads()
    harness.read_randomly(table, READS)
    after = connector.foreground_reads()
    assert before is not None
    assert after is not None
    assert after.reads - before.reads >= READS / 3
    assert after.seconds > before.seconds


def test_a_scan_is_not_waited_for(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """Reading a table in order counts as read ahead; hardly any of it as SYNC_READ."""
    demand, catalog = demand_of(harness, connector, lambda: harness.scan(table))
    ahead = reads_of(demand, catalog, Signal.PREFETCHED_READ).get(table.key, 0.0)
    waited = reads_of(demand, catalog, Signal.SYNC_READ).get(table.key, 0.0)
    assert ahead > 0
    assert waited <= 0.05 * ahead


@pytest.mark.needs(Ability.RESET)
def test_a_reset_shows(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """After a reset the epoch is another one, or counters have fallen: never silence."""
    harness.read_randomly(table, READS)
    before = connector.sample()
    harness.reset_counters()
    after = connector.sample()
    fell = any(after.counters[name].sum() < column.sum() for name, column in before.counters.items())
    assert after.epoch != before.epoch or fell


def test_nothing_can_be_written_while_reading(harness: EngineHarness, connector: Connector, table: PlayTable) -> None:
    """The session a connector reads with cannot change the database."""
    before = bundle_of(connector.catalog(), table.key)
    with pytest.raises(harness.refusals):
        harness.write_while_reading(connector, table)
    assert bundle_of(connector.catalog(), table.key) == before


def test_where_the_calendar_has_no_template_the_reason_is_said(
    harness: EngineHarness, connector: Connector, table: PlayTable
) -> None:
    """Of a table that is not partitioned, and of one that is not there, to a space that is there and to none."""
    if not isinstance(connector, FillsTemplates):
        pytest.skip("this connector makes and moves no partitions by the calendar")
    for kind in TemplateKind:
        for key in (table.key, f"{table.key}_gone"):
            for space in (harness.target_space, "nowhere at all"):
                found = connector.template(kind, key, space, 86400)
                assert isinstance(found, NoRoute), found
                assert found.code
                assert found.sentence


def test_findings_have_remedies(connector: Connector) -> None:
    """The doctor finds something, and whatever is not fine says what mends it."""
    findings = connector.doctor()
    assert findings
    assert all(f.sentence and f.code for f in findings)
    assert not [f for f in findings if f.severity is not Severity.OK and not f.remedy]


@pytest.mark.needs(Ability.PASSWORD)
def test_a_refusal_keeps_the_password(harness: EngineHarness) -> None:
    """A wrong password is refused with advice; neither the error nor its causes ever show it."""
    with pytest.raises(AuthenticationFailed) as caught:
        harness.refused_connect()
    error: BaseException | None = caught.value
    assert caught.value.advice
    while error is not None:
        assert harness.secret not in repr(error) + str(error)
        error = error.__cause__ or error.__context__
