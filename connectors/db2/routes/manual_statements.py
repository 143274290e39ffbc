"""Statements for a person to run; hotplace never sends them: they take data offline, or have gaps to fill in. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from connectors.db2.reading.keys import ForeignKey
from connectors.db2.reading.names import identifier, literal

PACKAGES = (
    "SELECT D.PKGSCHEMA, D.PKGNAME FROM SYSCAT.PACKAGEDEP AS D, SYSCAT.TABLES AS B "
    "WHERE D.BTYPE = 'T' AND D.BSCHEMA = B.TABSCHEMA AND D.BNAME = B.TABNAME AND B.TBSPACE = "
)


def redirected_restore(space: str, target: str) -> str:
    """The statements of a redirected restore of one table space; it cannot be read or written meanwhile."""
    return (
        f"restore it redirected: RESTORE DATABASE ... TABLESPACE ({identifier(space)}) ... REDIRECT; "
        f"SET STOGROUP PATHS FOR {identifier(target)} ON ... (the name as it is in the image), or "
        "SET TABLESPACE CONTAINERS FOR ... USING ...; RESTORE DATABASE ... CONTINUE"
    )


def temporary_space(space: str, target: str) -> str:
    """A temporary table space does not rebalance: another one takes its place."""
    new = identifier(f"{space}_NEW")
    return (
        f"CREATE SYSTEM TEMPORARY TABLESPACE {new} MANAGED BY AUTOMATIC STORAGE USING STOGROUP {identifier(target)} "
        f"(with the page size and buffer pool of {identifier(space)}); DROP TABLESPACE {identifier(space)}"
    )


def detach_attach(schema: str, table: str, partition: str, target: str) -> str:
    """One partition into another table space: out of the table, copied, and in again. Readers miss it meanwhile."""
    whole = f"{identifier(schema)}.{identifier(table)}"
    out, new = (f"{identifier(schema)}.{identifier(f'{table}_{word}')}" for word in ("OUT", "NEW"))
    return "; ".join(
        (
            f"ALTER TABLE {whole} DETACH PARTITION {identifier(partition)} INTO {out}",
            f"CREATE TABLE {new} LIKE {out} IN {identifier(target)}",
            f"INSERT INTO {new} SELECT * FROM {out}",  # noqa: S608  # identifiers, quoted; and never sent
            f"ALTER TABLE {whole} ATTACH PARTITION {identifier(partition)} STARTING ... ENDING ... FROM {new}",
            f"SET INTEGRITY FOR {whole} IMMEDIATE CHECKED",
            f"DROP TABLE {out}",
        )
    )


def without_foreign_keys(keys: Sequence[ForeignKey]) -> str:
    """What a table with foreign keys needs around its move: they go before it, and come back checked."""
    drops, adds = ("; ".join(getattr(key, word) for key in keys) for word in ("drop", "add"))
    return f"{drops}; move it; {adds}. Adding checks every row under a lock; nothing checks them meanwhile"


def rebinds(packages: Sequence[str]) -> str:
    """A command for each package of static SQL, to be given after the move."""
    return "; ".join(f"REBIND PACKAGE {package}" for package in packages)


def revalidate(kind: str, schema: str, name: str) -> str:
    """A call that validates one VIEW or TRIGGER, which its next use would do too unless auto_reval is DISABLED."""
    return f"CALL SYSPROC.ADMIN_REVALIDATE_DB_OBJECTS({literal(kind)}, {literal(schema)}, {literal(name)})"


def packages_to_rebind(space: str) -> str:
    """The list of static packages that keep their old access plans until they are bound again."""
    return PACKAGES + literal(space)
