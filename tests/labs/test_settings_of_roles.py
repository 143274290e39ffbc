"""Settings that a DBA or a role has for a database do not change what is read."""

from __future__ import annotations

import psycopg

from connectors.kit.templates import StatementTemplate, TemplateKind
from connectors.model.moves import Border, Route
from connectors.postgresql.connector import PostgresqlConnector
from connectors.postgresql.sessions import OF_QUERIES, ReadSession
from tests.contract.asking import bundle_of, run
from tests.labs.postgresql import Cluster

# Each of a user's context, with a value that changes texts in or out as far as it can.
ODD = {
    "DateStyle": "German, DMY",
    "IntervalStyle": "iso_8601",
    "standard_conforming_strings": "off",
    "backslash_quote": "off",
    "bytea_output": "escape",
    "extra_float_digits": "-15",
    "quote_all_identifiers": "on",
    "TimeZone": "Asia/Kathmandu",
    "xmlbinary": "hex",
    "array_nulls": "off",
    "transform_null_equals": "on",
    "search_path": "nothing",
}
# Of the same categories of pg_settings, and why what is read does not depend on it.
HARMLESS = {
    "client_encoding": "the driver reads each text in it",
    "default_text_search_config": "nothing is searched",
    "escape_string_warning": "a notice",
    "icu_validation_level": "how loudly a collation is refused",
    "lc_messages": "messages are shown, not read: faults are told by SQLSTATE",
    "lc_time": "names of days and months are not printed by any query",
    "lo_compat_privileges": "no large object is read",
    "synchronize_seqscans": "no query that is sent depends on the order of rows in a table",
    "timezone_abbreviations": "no query has one",
    "xmloption": "no query has XML",
}


BORDER = Border(column="at", value="2026-04-01 12:00:00")


def odd(dba: psycopg.Connection) -> None:
    """Give the database those settings."""
    for name, value in ODD.items():
        dba.execute(f"ALTER DATABASE {dba.info.dbname} SET {name} = '{value}'".encode())


def template(connector: PostgresqlConnector) -> StatementTemplate:
    """Of partitions of the table that come by the calendar."""
    found = connector.template(TemplateKind.NEXT_PARTITION, "public.calls", "fast", 86400)
    assert isinstance(found, StatementTemplate), found
    return found


def test_what_is_read_is_the_same_under_any_settings(
    cluster: Cluster, dbname: str, dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """Ranges of partitions, an open part, borders of a split, keys."""
    dba.execute(
        "CREATE TABLE calls (at timestamptz NOT NULL) PARTITION BY RANGE (at);"
        "CREATE TABLE calls_2026_03_04 PARTITION OF calls"
        " FOR VALUES FROM ('2026-03-04 00:00+00') TO ('2026-03-05 00:00+00');"
        "CREATE TABLE events (id int, at timestamp NOT NULL, span interval, f float8 DEFAULT 0.1);"
        "INSERT INTO events SELECT g, timestamp '2026-03-01' + make_interval(hours => g)"
        " FROM generate_series(1, 2000) AS g;"
    )  # fmt: skip
    dba.execute("VACUUM (ANALYZE) events")

    def seen(asked: PostgresqlConnector) -> list[object]:
        catalog = asked.catalog()
        split = asked.routes_split(bundle_of(catalog, "public.events"), BORDER, "fast")
        assert isinstance(split, Route), split
        made = template(asked)
        return [list(catalog.units.key), made, split.steps, split.undo_steps]

    before = seen(connector)
    odd(dba)
    other = cluster.connector(dbname)
    try:
        assert seen(other) == before
        split = other.routes_split(bundle_of(other.catalog(), "public.events"), BORDER, "fast")
        assert isinstance(split, Route)
        run(other, split)
        closing = other.route_close("public.events", "2027-05-01 00:00:00", "fast")
        assert isinstance(closing, Route), closing
    finally:
        other.close()


def test_every_setting_that_changes_texts_is_fixed(cluster: Cluster, dbname: str, dba: psycopg.Connection) -> None:
    """Whatever the server has in those categories: fixed by each session, or said why it is harmless."""
    rows = dba.execute(
        "SELECT name FROM pg_settings WHERE context IN ('user', 'superuser') AND (category LIKE 'Client Connection"
        " Defaults / Locale%' OR category LIKE 'Version and Platform Compatibility%')"
    ).fetchall()
    session = ReadSession(cluster.settings(dbname))
    fixed = {name.lower() for name in {**OF_QUERIES, **session._options()}}
    assert {name for (name,) in rows if name.lower() not in fixed} <= set(HARMLESS)
