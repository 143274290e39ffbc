"""What CREATE TABLE, CREATE INDEX, COMMENT and GRANT do to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.labs.oracle.creating import LOBS, NewIndex, NewTable, read_index, read_table
from tests.labs.oracle.grammar import Words
from tests.labs.oracle.model import Column, Index, Lob, Segment, Table
from tests.labs.oracle.views.rewrite import refuse
from tests.labs.tns.backend import OracleError

if TYPE_CHECKING:
    from tests.labs.oracle.database import EmulatedDatabase
    from tests.labs.oracle.session import EmulatedSession

IN_USE = OracleError(955, "name is already used by an existing object")
SMALLEST = 64 << 10  # bytes of a segment that has just been made


def create(session: EmulatedSession, words: Words) -> None:
    """``CREATE`` TABLE, or an INDEX of one of them. Raises OracleError."""
    if words.take("TABLE"):
        create_table(session, read_table(words, session.user.name))
    elif any(words.next_is(word) for word in ("INDEX", "UNIQUE", "BITMAP")):
        create_index(session, read_index(words, session.user.name))
    else:
        raise refuse("CREATE")


def create_table(session: EmulatedSession, new: NewTable) -> None:
    """Segments come with the first rows, those of an index-organised table at once. Raises OracleError."""
    database = session.database
    with database.changed:
        _may_create(session, new.owner)
        if (new.owner, new.name) in database.tables:
            raise IN_USE
        home = new.tablespace or database.users[new.owner].default_tablespace
        for name in {home, new.overflow, *new.lobs.values(), *new.key_tablespaces.values()} - {""}:
            database.tablespace(name)
        if new.partitions and not database.options["Partitioning"]:
            raise OracleError(439, "feature not enabled: Partitioning")
        table = _add(database, new, home)
        table.columns, table.constraints, table.pct_free = new.columns, new.constraints, new.pct_free
        table.partition_key, table.bounds = (
            new.partition_key,
            {name: bound for name, (bound, _) in new.partitions.items()},
        )
        _name_constraints(database, table)
        for column in new.columns:
            if column.kind in LOBS:
                _defer(database.add_lob(table, column.name, new.lobs.get(column.name, home), SMALLEST))
        for constraint in new.constraints:
            if constraint.kind in "PU" and not (new.iot and constraint.kind == "P"):
                keys = tuple((column, "ASC") for column in constraint.columns)
                space = new.key_tablespaces.get(constraint.name, home)
                _add_index(database, table, Index(new.owner, constraint.index, 0, [], unique=True, keys=keys), space)
        database.engine.rows.create(table)
        database.touch()


def _may_create(session: EmulatedSession, owner: str) -> None:
    own = owner == session.user.name
    if ("CREATE TABLE" if own else "CREATE ANY TABLE") not in session.user.privileges:
        raise OracleError(1031, "insufficient privileges")
    if owner not in session.database.users:
        raise OracleError(1918, f"user '{owner}' does not exist")


def _add(database: EmulatedDatabase, new: NewTable, home: str) -> Table:
    if new.iot:
        if new.partitions:
            raise refuse("partitioned index-organised tables")
        key = next(constraint for constraint in new.constraints if constraint.kind == "P")
        table = database.add_table(new.owner, new.name, home, SMALLEST, iot=True)
        table.indexes[0].name = table.indexes[0].segments[0].name = key.index
        table.indexes[0].keys = tuple((column, "ASC") for column in key.columns)
        if new.overflow:
            database.add_overflow(table, new.overflow, SMALLEST)
        return table
    table = database.add_table(new.owner, new.name, home, SMALLEST, partitions=tuple(new.partitions))
    for segment in table.segments:
        segment.created = False
        segment.tablespace = new.partitions.get(segment.part, ("", ""))[1] or home
    return table


def _name_constraints(database: EmulatedDatabase, table: Table) -> None:
    for constraint in table.constraints:
        if constraint.generated:
            constraint.name = f"SYS_C{database.next_id():08}"
        if constraint.kind in "PU":
            constraint.index = constraint.name


def _defer(lob: Lob) -> None:
    for segment in (*lob.segments, *lob.indexes):
        segment.created = False


def create_index(session: EmulatedSession, new: NewIndex) -> None:
    """Of a table with rows it is built at once, and has statistics. Raises OracleError."""
    database = session.database
    with database.changed:
        _may_create(session, new.owner)
        table = database.table(*new.table)
        if any(index.name == new.name for each in database.tables.values() for index in each.indexes):
            raise IN_USE
        if new.bitmap and database.quirks.edition != "EE":
            raise OracleError(439, "feature not enabled: Bit-mapped indexes")
        plain = all(name in {column.name for column in table.columns} and order == "ASC" for name, order in new.keys)
        kind = "BITMAP" if new.bitmap else "NORMAL" if plain else "FUNCTION-BASED NORMAL"
        index = Index(new.owner, new.name, 0, [], unique=new.unique, keys=new.keys, compressed=new.compressed)
        index.kind, index.local = f"{kind}/REV" if new.reverse else kind, new.local
        home = new.tablespace or database.users[new.owner].default_tablespace
        database.tablespace(home)
        made = _add_index(database, table, index, home, own_place=bool(new.tablespace))
        database.engine.rows.measure(table)
        if database.engine.rows.count(table):
            made.rows, made.analyzed = database.engine.rows.count(table), session.now()
        database.touch()


def _add_index(database: EmulatedDatabase, table: Table, index: Index, home: str, *, own_place: bool = True) -> Index:
    """Pieces of a local index lie with their partitions, unless a tablespace is named."""
    made = database.add_index(table, index.name, home, SMALLEST, local=index.local)
    for name in ("unique", "keys", "kind", "compressed"):
        setattr(made, name, getattr(index, name))
    if table.iot:
        made.segments[0].created = True
        return made
    for segment in made.segments:
        of = table.segments[0] if not index.local else next(s for s in table.segments if s.part == segment.part)
        segment.created = of.created if index.local else any(s.created for s in table.segments)
        segment.tablespace = of.tablespace if index.local and not own_place else home
    return made


def comment(session: EmulatedSession, words: Words) -> None:
    """``COMMENT ON`` TABLE or COLUMN. Raises OracleError."""
    of_column = words.take("COLUMN")
    if not of_column:
        words.need("TABLE")
    names = [words.name()]
    while words.take("."):
        names.append(words.name())
    words.need("IS")
    text = words.value()
    words.end()
    column = names.pop() if of_column else ""
    owner, name = names if len(names) > 1 else (session.user.name, names[0])
    with session.database.changed:
        session.may_alter(owner, "TABLE", name)
        table = session.database.table(owner, name)
        if of_column:
            _column(table, column).comment = text
        else:
            table.comment = text
        session.database.touch()


def _column(table: Table, name: str) -> Column:
    for column in table.columns:
        if column.name == name:
            return column
    raise OracleError(904, f'"{name}": invalid identifier')


def grant(session: EmulatedSession, words: Words) -> None:
    """``GRANT`` of rights on a table of one's own, some of them on columns. Raises OracleError."""
    rights: list[tuple[str, tuple[str, ...]]] = []
    while True:
        privilege = words.name()
        rights.append((privilege, words.names() if words.next_is("(") else ()))
        if not words.take(","):
            break
    words.need("ON")
    owner, name = words.qualified(session.user.name)
    words.need("TO")
    grantee = words.name()
    words.end()
    database = session.database
    with database.changed:
        database.table(owner, name)
        if owner != session.user.name:
            raise OracleError(1031, "insufficient privileges")
        if grantee != "PUBLIC" and grantee not in database.users:
            raise OracleError(1917, f"user or role '{grantee}' does not exist")
        for privilege, columns in rights:
            for column in columns:
                database.column_grants.add((grantee, owner, name, column, privilege))
            if not columns:
                holder = database.public if grantee == "PUBLIC" else database.users[grantee].grants
                holder.add((privilege, f"{owner}.{name}"))
        database.touch()


def forget(database: EmulatedDatabase, owner: str, name: str) -> None:
    """With a table go its rights. The lock is held."""
    database.column_grants = {each for each in database.column_grants if each[1:3] != (owner, name)}
    for holder in (database.public, *(user.grants for user in database.users.values())):
        holder -= {each for each in holder if each[1] == f"{owner}.{name}"}


def extent_bytes(segment: Segment, blocks: int, block: int) -> int:
    """Bytes that a segment has with so many used blocks: extents of 64 KiB up to 1 MiB, of 1 MiB after that."""
    needed, mebibyte = max(blocks * block, SMALLEST), 1 << 20
    step = SMALLEST if needed <= mebibyte else mebibyte
    return max(segment.bytes, -(-needed // step) * step)
