"""Room for indexes that a move builds again where they are, and the rights that an online rebuild needs in 11.2."""

from __future__ import annotations

from typing import Any

import pytest

from connectors.model.moves import NoRoute, Transfer, UnitKind
from connectors.oracle.catalog import DataFile
from connectors.oracle.doctor import cloud_findings
from connectors.oracle.routes import routes_of
from tests.oracle.made import MIB, SETTINGS, bundle, entry, facts, index, server

TWO = (index(bytes=3 * MIB, space="IDX"), index(name="ORDERS_IX", bytes=2 * MIB, space="IDX"))


@pytest.mark.parametrize(
    ("number", "room", "fits"), [((19, 0), 5, True), ((19, 0), 4, False), ((11, 2), 3, True), ((11, 2), 2, False)]
)
def test_what_is_built_at_once_needs_room_at_once(number: tuple[int, ...], room: int, fits: bool) -> None:
    """3 and 2 MiB: together by UPDATE INDEXES, one after the other by REBUILD, each next to its old one."""
    found = routes_of(facts(indexes=TWO, room={"IDX": room * MIB}), bundle(), "FAST", server(number=number), SETTINGS)
    assert isinstance(found, tuple) == fits
    if isinstance(found, NoRoute):
        assert found.code == "index_room"


def test_what_is_built_again_is_among_the_transfers() -> None:
    """The table is read and written, then each index is written where it is."""
    found = routes_of(facts(indexes=TWO), bundle(), "FAST", server(), SETTINGS)
    assert isinstance(found, tuple)
    assert found[0].transfers == (
        Transfer(space="SLOW", bytes=100 * MIB, unit="APP.ORDERS"),
        Transfer(space="FAST", bytes=100 * MIB, written=True),
        Transfer(space="IDX", bytes=3 * MIB, written=True),
        Transfer(space="IDX", bytes=2 * MIB, written=True),
    )


@pytest.mark.parametrize(("may", "names"), [(True, ["rebuild online", "rebuild"]), (False, ["rebuild"])])
def test_no_online_rebuild_without_its_rights(may: bool, names: list[str]) -> None:
    """11.2 makes a journal table in the owner's schema: without the rights for it the offline form is offered first."""
    made: dict[str, Any] = {"lead": entry(name="ORDERS_PK", type="INDEX"), "index_type": "NORMAL", "may_journal": may}
    of = bundle("APP.ORDERS_PK INDEX", UnitKind.INDEX)
    found = routes_of(facts(**made), of, "FAST", server(number=(11, 2)), SETTINGS)
    assert isinstance(found, tuple)
    assert [route.name for route in found] == names


def test_rds_with_two_volumes_has_a_choice() -> None:
    """One volume leaves nothing to choose; of two the doctor names both."""
    files = [
        DataFile(at, "USERS", f"/{folder}/db/x.dbf", MIB, "ONLINE", "ONLINE")
        for at, folder in enumerate(("rdsdbdata", "rdsdbdata2"))
    ]
    (one,), (both,) = cloud_findings([None], files[:1]), cloud_findings([], files)
    assert "one volume (/rdsdbdata)" in one.sentence
    assert "/rdsdbdata, /rdsdbdata2" in both.sentence
    assert list(cloud_findings([None], [])) == []
