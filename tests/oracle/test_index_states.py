"""Which indexes a move repairs: those that it breaks, and none that was out of use before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.kit.contract import StatementFailed
from connectors.oracle.facts import Facts, IndexPiece
from connectors.oracle.side_effects import broken_indexes
from tests.contract.asking import route_to, run
from tests.labs.oracle.harness import OWNER, running_harness
from tests.oracle.made import MIB, entry, facts, index


def _local(part: str, position: int, **changes: object) -> IndexPiece:
    piece = index(name="IX", piece="PARTITION", part=part)
    return replace(piece, locality="LOCAL", position=position, **changes)  # type: ignore[arg-type]  # fields by name


def _of_partition(*pieces: IndexPiece) -> Facts:
    """The move of APP.ORDERS PARTITION P2, the second one."""
    lead = entry(part="P2", type="TABLE PARTITION")
    return facts(lead=lead, indexes=pieces, position=(2, None))


def test_a_local_index_is_hit_by_position() -> None:
    """Its partitions may have names of their own: the second breaks with the table's second, whatever it is called."""
    first, second = _local("P2", 1), _local("ELSE", 2)
    assert broken_indexes(_of_partition(first, second)) == [second]


def test_every_piece_of_a_global_index_is_hit() -> None:
    """A partition of a global index holds rows of any partition, although it may bear the same position."""
    pieces = [replace(_local(f"G{at}", at), locality="GLOBAL") for at in (1, 2, 3)]
    assert broken_indexes(_of_partition(*pieces)) == pieces


def test_what_is_out_of_use_is_not_repaired() -> None:
    """Neither a piece of a local index nor a whole index."""
    idle = [_local("P2", 2, status="UNUSABLE"), index(status="UNUSABLE")]
    assert broken_indexes(_of_partition(*idle)) == []


def test_emulated_server_what_went_out_of_use_since_stops_the_move() -> None:
    """Approved with an index in use, which a loading job takes out of use: nothing is sent, and nothing is rebuilt."""
    with running_harness("oracle index states (emulated server)") as lab:
        table = lab.database.add_table(OWNER, "EVENTS", "SLOW", MIB, partitions=("P1", "P2"))
        lab.database.add_index(table, "EVENTS_IX", "SLOW", MIB // 8, local=True)
        connector = lab.connect()
        try:
            route = route_to(connector, "APP.EVENTS PARTITION P1", "FAST")
            with lab.session() as owner:
                owner.cursor().execute("ALTER INDEX APP.EVENTS_IX MODIFY PARTITION P1 UNUSABLE")
            with pytest.raises(StatementFailed, match=r"EVENTS_IX PARTITION P1 has become UNUSABLE"):
                run(connector, route)
        finally:
            connector.close()
        assert table.segments[0].tablespace == "SLOW"
        assert table.indexes[0].unusable == {"P1"}


@pytest.mark.parametrize("indexes", [0, 1])
@pytest.mark.parametrize(("version", "stops"), [((11, 2, 0, 4, 0), True), ((19, 22, 0, 0, 0), False)])
def test_emulated_server_an_index_made_since_is_never_left_unusable(
    indexes: int, version: tuple[int, ...], stops: bool
) -> None:
    """Where the statement maintains no indexes, one that no step rebuilds stops the move; else it is maintained."""
    with running_harness("oracle index states (emulated server)", version) as lab:
        table = lab.database.add_table(OWNER, "ORDERS", "SLOW", MIB)
        for number in range(indexes):
            lab.database.add_index(table, f"ORDERS_{number}", "SLOW", MIB // 8)
        connector = lab.connect()
        try:
            route = route_to(connector, "APP.ORDERS", "FAST")
            made = lab.database.add_index(table, "ORDERS_NEW", "SLOW", MIB // 8)
            if stops:
                with pytest.raises(StatementFailed, match="ORDERS_NEW was made since"):
                    run(connector, route)
            else:
                run(connector, route)
        finally:
            connector.close()
        assert table.segments[0].tablespace == ("SLOW" if stops else "FAST")
        assert not made.unusable
