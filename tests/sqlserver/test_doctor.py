"""What the doctor says of memory and of the rights that a SWITCH needs, against an emulated server."""

from __future__ import annotations

from connectors.kit.contract import Connector, KnowsRightsToMove
from connectors.kit.findings import Severity
from tests.contract.asking import route_to
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.world import add_scheme, add_table
from tests.sqlserver.moving.test_switching_server import COPIER, connector, lab, rebuilding  # noqa: F401  # fixtures


def told(connector: Connector, code: str) -> list[str]:  # noqa: F811  # not the fixture
    """Sentences of that code."""
    return [finding.sentence for finding in connector.doctor() if finding.code == code]


def test_pages_that_came_from_disk(lab: Lab, rebuilding: Connector) -> None:  # noqa: F811  # a fixture
    """300 + 2,000 pages asked for, 100 + 2,000 read, 1,999 of them ahead; the gauge is told as it is."""
    assert told(rebuilding, "buffer_pool") == ["no page has been read from disk since the service started"]
    rows = add_table(lab.shop, "orders", pages=2000).base.partitions[0]
    lab.instance.read_randomly(lab.shop, rows, 100)
    lab.instance.scan(lab.shop, rows)
    expected = (
        "since the service started 91.30% of the pages that were asked for came from disk, 95% of those ahead of time; "
        "a page stays in memory for about 4200 s now"
    )
    assert told(rebuilding, "buffer_pool") == [expected]


def test_what_a_switch_needs(lab: Lab, connector: Connector, rebuilding: Connector) -> None:  # noqa: F811  # a fixture
    """SELECT and INSERT on partitioned tables, asked only where partitions are switched; the GRANT is printed."""
    add_scheme(lab.shop, "ps", [10], ["hdd", "hdd"])
    add_table(lab.shop, "days", space="ps", pages=8, column="id")
    assert told(connector, "copy") == ["copier may copy every partition it sees"]
    COPIER.database_rights, before = COPIER.database_rights - {"SELECT"}, COPIER.database_rights
    try:
        (found,) = (finding for finding in connector.doctor() if finding.code == "copy_missing")
        assert told(rebuilding, "copy_missing") == []
    finally:
        COPIER.database_rights = before
    assert found.severity is Severity.WARNING
    assert found.remedy == "GRANT CREATE TABLE TO [copier]; GRANT SELECT, INSERT ON SCHEMA::[dbo] TO [copier];"


def test_rights_to_move_are_named_before_a_plan(lab: Lab, connector: Connector, rebuilding: Connector) -> None:  # noqa: F811
    """ALTER on the table and ALTER ANY DATASPACE; where partitions are copied also CREATE TABLE, SELECT and INSERT."""
    add_scheme(lab.shop, "ps", [10], ["hdd", "hdd"])
    add_table(lab.shop, "days", space="ps", pages=8, column="id")
    switched, rebuilt = (route_to(each, "[dbo].[days] partition 2", "ssd") for each in (connector, rebuilding))

    def lacking() -> list[str]:
        asked = ((connector, switched), (rebuilding, rebuilt))
        return [each.lacking_rights(route) for each, route in asked if isinstance(each, KnowsRightsToMove)]

    assert lacking() == ["", ""]
    before, COPIER.database_rights = COPIER.database_rights, COPIER.database_rights & {"VIEW DATABASE STATE", "CONNECT"}
    try:
        said = lacking()
    finally:
        COPIER.database_rights = before
    both = "the account that moves lacks ALTER ANY DATASPACE and ALTER on [dbo].[days]"
    assert said == [f"{both} and CREATE TABLE and SELECT and INSERT on [dbo].[days]", both]
