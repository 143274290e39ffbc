"""The lab's parts that need no server: framing, outcomes, names, and which version has which column."""

from __future__ import annotations

from io import BytesIO

import pytest

from tests.labs.db2.documented import NEWEST, views
from tests.labs.db2.refusals import Refusal
from tests.labs.db2.server import new_world
from tests.labs.db2.statements import is_ours
from tests.labs.db2.text import Rewriter, matched, name_of, words
from tests.labs.db2.views.filled import FILLED
from tests.labs.db2.wire.calls import call_text
from tests.labs.db2.wire.dss import OBJECT, SEGMENT, Code, Dss, obj, objects, read_dss
from tests.labs.db2.wire.sqlca import Sqlca, read_sqlca, sqlcard
from tests.over import over

VERSIONS = [(9, 7), (10, 1), (10, 5), (11, 1), (11, 5), (12, 1)]


def test_a_structure_of_several_segments_is_read_whole() -> None:
    """Segments are joined, and what nobody changed goes on as the very same bytes."""
    first, last = b"a" * (SEGMENT - 6), b"b" * 100
    wire = b"\xff\xff\xd0\x03\x00\x07" + first + b"\x00\x66" + last
    stream = BytesIO(wire + b"next")
    found = read_dss(stream.read)
    assert (found.kind, found.correlation, found.body) == (OBJECT, 7, first + last)
    assert found.wire() == wire
    assert stream.read() == b"next"


def test_a_changed_structure_that_is_too_long_is_refused() -> None:
    """The lab does not write segments; it says so instead of sending nonsense."""
    with pytest.raises(ValueError, match="does not fit"):
        Dss(OBJECT, 0, 1, b"x" * SEGMENT).wire()


def test_objects_with_extended_lengths() -> None:
    """An object's own length may be extended: 8004, then four bytes of length."""
    body = b"\x80\x08\x24\x14\x00\x00\x00\x03abc" + obj(Code.SQLCARD, b"\xff")
    assert list(objects(body)) == [(Code.SQLSTT, b"abc"), (Code.SQLCARD, b"\xff")]


@pytest.mark.parametrize("order", ["<", ">"])
def test_an_outcome_reads_as_it_was_written(order: str) -> None:
    """Code, state and tokens survive, tokens cut at the 70 bytes that SQLERRMC has."""
    written = sqlcard(Sqlca(-911, "40001", "6" * 90), order)
    assert read_sqlca(next(objects(written))[1], order) == Sqlca(-911, "40001", "6" * 70)
    assert read_sqlca(next(objects(sqlcard(None, order)))[1], order) is None


def test_parameters_of_a_call_become_literals() -> None:
    """As captured from IBM's driver: two strings and an empty one; apostrophes are doubled, null is empty."""
    description = bytes.fromhex("0c76d03f00033f00063f7fff 0671e4d00001")
    data = b"\x00" + b"\x00\x00\x03A'P" + b"\xff" + b"\x00\x00\x00"
    body = obj(Code.SQLDTA, obj(Code.FDODSC, description), obj(Code.FDODTA, data))
    assert call_text("SYSPROC.P", body) == "CALL SYSPROC.P('A''P', '', '')"


def test_a_call_with_a_number_is_refused() -> None:
    """Only strings are understood; anything else is SQL0440N, not a guess."""
    body = obj(Code.SQLDTA, obj(Code.FDODSC, bytes.fromhex("0676d0030004 0671e4d00001")), obj(Code.FDODTA, b"\x00"))
    with pytest.raises(Refusal, match="SQL0440N"):
        call_text("SYSPROC.P", body)


def test_words_know_quotes_and_comments() -> None:
    """Comments vanish, quoted names keep their case and their inside, other words are upper case."""
    text = 'alter tablespace "a ""b"" /* c */" /* tag */ using -- end\n stogroup Fast'
    said = words(text)
    assert said == ["ALTER", "TABLESPACE", '"a ""b"" /* c */"', "USING", "STOGROUP", "FAST"]
    names = matched(said, "ALTER TABLESPACE <> USING STOGROUP <>")
    assert names is not None
    assert [name_of(name) for name in names] == ['a "b" /* c */', "FAST"]


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("alter tablespace T rebalance", True),
        ("/* tag */ CALL SYSPROC.ADMIN_MOVE_TABLE()", True),
        ("SELECT 'ALTER TABLESPACE' FROM SYSIBM.SYSDUMMY1", False),
        ("LOCK TABLE HOTPLACE.LEASE IN EXCLUSIVE MODE", False),
        ("CALL SYSIBM.SQLCAMESSAGE(?)", False),
    ],
)
def test_whose_statement_it_is(text: str, ours: bool) -> None:
    """By its first two words: Derby keeps what it can do itself."""
    assert is_ours(text) is ours


def test_names_inside_literals_stay() -> None:
    """A view's name within a string or a quoted identifier is not turned into another."""
    text = "SELECT 'SYSCAT.TABLES', \"SYSCAT\" FROM SYSCAT.TABLES AS T"
    rewriter = Rewriter(text, views((11, 5)), 1)
    assert rewriter.text() == 'SELECT \'SYSCAT.TABLES\', "SYSCAT" FROM LAB."SYSCAT_TABLES" AS T'
    assert rewriter.asked == {"SYSCAT.TABLES"}


def test_a_cast_to_char_becomes_varchar() -> None:
    """The driver loses its connection over Derby's CHAR; the function CHAR stays."""
    assert Rewriter("CAST(NULL AS CHAR(1)), CHAR(N)", {}, 1).text() == "CAST(NULL AS VARCHAR(1)), CHAR(N)"


@pytest.mark.parametrize(
    ("view", "column", "since"),
    [
        ("MON_GET_TABLE", "OBJECT_DATA_P_READS", (10, 1)),
        ("MON_GET_TABLE", "OBJECT_COL_P_READS", (10, 5)),
        ("MON_GET_TABLESPACE", "STORAGE_GROUP_NAME", (10, 1)),
        ("MON_GET_TABLESPACE", "POOL_COL_P_READS", (10, 5)),
        ("MON_GET_TABLESPACE", "CACHING_TIER", (12, 1)),
        ("SYSCAT.TABLESPACES", "SGNAME", (10, 1)),
    ],
)
def test_columns_come_with_their_version(view: str, column: str, since: tuple[int, int]) -> None:
    """Before its version a column does not exist, from then on it does."""
    assert [column in views(version)[view].columns for version in VERSIONS] == [v >= since for v in VERSIONS]


def test_views_come_with_their_version() -> None:
    """9.7 has no storage groups and no rebalance status, 10.1 no MON_GET_DATABASE, as documented."""
    assert {"SYSCAT.STOGROUPS", "MON_GET_REBALANCE_STATUS"} <= views((10, 1)).keys() - views((9, 7)).keys()
    assert {"MON_GET_DATABASE", "MON_GET_UTILITY"} <= views((10, 5)).keys() - views((10, 1)).keys()


@over("name", sorted(FILLED))
def test_rows_have_documented_columns_only(name: str) -> None:
    """What the world shows is nothing that the documentation does not name."""
    world = new_world(NEWEST)
    world.behaviour.pure_scale = True
    for _, row in FILLED[name](world):
        assert row.keys() - {"MEMBER", "DBPARTITIONNUM"} <= views(NEWEST)[name].columns.keys()
