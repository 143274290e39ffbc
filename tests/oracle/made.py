"""Objects that several tests start from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from connectors.model.moves import Bundle, UnitKind
from connectors.oracle.catalog import Entry
from connectors.oracle.facts import Facts, IndexPiece, SpaceFacts, TableEntry
from connectors.oracle.sessions import Server
from connectors.oracle.settings import OracleSettings

SETTINGS = OracleSettings(service="pdb1", user="hotplace")
MIB = 1 << 20


def server(**changes: Any) -> Server:
    """A 19c Enterprise primary, with changes."""
    usual = Server(
        version="19.0.0.0.0",
        number=(19, 0),
        product="Oracle Database 19c Enterprise Edition",
        cluster=False,
        dbid=7,
        name="ORCL",
        role="PRIMARY",
        open_mode="READ WRITE",
        force_logging=False,
        login="HOTPLACE",
        proxy="",
        container="PDB1",
        container_uid=9,
        in_cdb=True,
        options={"Partitioning": "TRUE", "Online Index Build": "TRUE", "Online Redefinition": "TRUE"},
        parameters={"timed_statistics": "TRUE"},
        segment_statistics=True,
        standbys=0,
        recovery_bytes=None,
    )
    return replace(usual, **changes)


def standard() -> dict[str, Any]:
    """Changes that make it Standard Edition 2."""
    return {"product": "Oracle Database 19c Standard Edition 2", "options": {"Online Index Build": "FALSE"}}


def table(**changes: Any) -> TableEntry:
    """A plain heap table, with changes."""
    usual = TableEntry(
        partitioned="NO",
        cluster=None,
        temporary="N",
        nested="NO",
        secondary="N",
        compress_for=None,
        logging="YES",
        iot_type=None,
        longs=0,
        object_columns=0,
        lobs=0,
        domain_indexes=0,
        bitmap_joins=0,
        rowid_logs=0,
        is_log=0,
        queues=0,
        externals=0,
        archives=0,
    )
    return replace(usual, **changes)


def entry(**changes: Any) -> Entry:
    """APP.ORDERS in SLOW, 100 MiB, with changes."""
    usual = Entry(500, 500, "APP", "ORDERS", None, "TABLE", 100 * MIB, 12800, "SLOW", "DEFAULT")
    return replace(usual, **changes)


def index(**changes: Any) -> IndexPiece:
    """APP.ORDERS_PK, usable, with changes."""
    return replace(IndexPiece("APP", "ORDERS_PK", "INDEX", None, "VALID", "NORMAL", "1", "NO", None), **changes)


def space(name: str, **changes: Any) -> SpaceFacts:
    """An ordinary tablespace, with changes."""
    return replace(SpaceFacts(name, 8192, "PERMANENT", "ONLINE", "NO", "NO"), **changes)


def facts(**changes: Any) -> Facts:
    """APP.ORDERS with one index on the way from SLOW to FAST, with changes."""
    usual = Facts(
        lead=entry(),
        index_type="",
        table_owner="APP",
        table="ORDERS",
        table_facts=table(),
        compress_for=None,
        lobs=(),
        overflow_space=None,
        indexes=(index(),),
        spaces={"SLOW": space("SLOW"), "FAST": space("FAST")},
        quota_left=None,
    )
    return replace(usual, **changes)


def bundle(key: str = "APP.ORDERS", kind: UnitKind = UnitKind.TABLE) -> Bundle:
    """One unit of 100 MiB."""
    return Bundle(key=key, physical_ids=(500,), unit_keys=(key,), kind=kind, size_bytes=100 * MIB, space="SLOW")
