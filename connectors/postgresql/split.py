"""Routes that split a table, or why it cannot be split. Pure.

``refusal_of`` names the first reason against a split, and what a person would have to do first.

``refuse_rows`` looks at rows from the border on that exist already. They are moved under a lock that keeps all sessions
out, so their bytes and the seconds of that lock have limits.

``routes_of_split`` makes the routes. The cold part is the table as it is, with all its files.

With the border ahead of the rows, a route is a constraint, its validation, and one short transaction. Rows from the
border on are refused until that transaction ends. The border therefore lies ahead of what arrives meanwhile, and what
an interrupted run leaves is removed before anything else.

With the border among the rows, a route is one transaction. It moves the rows from the border on to the hot part and has
the server read the rest. The table is locked throughout, so the route is refused if that takes too long or moves too
much.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil

from connectors.model.formatting import format_bytes, format_seconds
from connectors.model.moves import (
    SLOW_BYTES_PER_SECOND,
    SPLIT,
    Bundle,
    Locked,
    NoRoute,
    Operation,
    Route,
    Step,
    Transfer,
    held_seconds,
)
from connectors.postgresql.catalog import Relation
from connectors.postgresql.routes import (
    BUILD_WORK,
    NAME_BYTES,
    SCAN_WORK,
    TAG,
    patience_of,
    prologue_of,
    refuse_relation,
)
from connectors.postgresql.settings import PostgresqlSettings
from connectors.postgresql.split_block import COUNTED, SplitNames, SplitPlan
from connectors.postgresql.split_statements import (
    add_check,
    drop_check,
    mend,
    mend_back,
    rejoin,
    switch,
    validate_check,
)
from connectors.postgresql.split_table import (
    FOREIGN_TYPE,
    LEAST_SHARE,
    BorderValue,
    SplitColumn,
    SplitTable,
    seconds_until,
)

PLAIN, PARTITIONED = "r", "p"
PERMANENT, UNLOGGED = "p", "u"
EXCLUSION, CHECK, FOREIGN_KEY = "x", "c", "f"
MOST_NAMED = 5


def refusal_of(table: SplitTable, column_name: str) -> NoRoute | None:
    """The first reason against splitting the table along that column; None where there is none."""
    return next(_reasons(table, column_name), None)


def column_of(table: SplitTable, name: str) -> SplitColumn | None:
    """The column of that name; None where there is none."""
    return next((column for column in table.columns if column.name == name), None)


def _reasons(table: SplitTable, column_name: str) -> Iterator[NoRoute]:
    yield from _of_kind(table)
    yield from _of_column(table, column_name)
    yield from _of_dependents(table)
    column = column_of(table, column_name)
    if column is not None:
        yield from _of_keys(table, column)
    yield from _of_parts(table)


def _of_kind(table: SplitTable) -> Iterator[NoRoute]:
    if table.kind == PARTITIONED:
        yield NoRoute(code="partitioned", sentence="it is partitioned already: its next partitions can be made in time")
    elif table.partition:
        yield NoRoute(code="partition", sentence="it is a partition: the table that it belongs to decides its bounds")
    elif table.kind != PLAIN:
        yield NoRoute(code="no_table", sentence="only a plain table can be split")
    if table.persistence != PERMANENT:
        what = "an unlogged" if table.persistence == UNLOGGED else "a temporary"
        yield NoRoute(code="not_permanent", sentence=f"it is {what} table, which is not split")
    if table.typed:
        yield NoRoute(code="typed", sentence="it is a table of a composite type: ALTER TABLE ... NOT OF frees it")
    if table.inherits:
        yield NoRoute(code="inheritance", sentence="it inherits or is inherited from: ALTER TABLE ... NO INHERIT first")
    if table.access_method != "heap":
        yield NoRoute(code="access_method", sentence=f"its storage is {table.access_method}, only heap is split")


def _of_column(table: SplitTable, name: str) -> Iterator[NoRoute]:
    column = column_of(table, name)
    if column is None:
        known = ", ".join(each.name for each in table.columns)
        yield NoRoute(code="no_column", sentence=f"it has no column {name!r}; it has {known}")
    elif not column.built_in:
        yield NoRoute(code="foreign_type", sentence=FOREIGN_TYPE.format(name, column.type))
    elif column.generated:
        yield NoRoute(code="generated", sentence=f"{name} is a generated column, which no table is partitioned by")
    elif not column.not_null:
        yield NoRoute(
            code="nullable",
            sentence=f"{name} may be null, and no range takes nulls: ALTER COLUMN ... SET NOT NULL first",
        )


def _of_dependents(table: SplitTable) -> Iterator[NoRoute]:
    by_name = (
        ("incoming_keys", table.incoming_keys, "foreign keys refer to it", "drop them, and add them to the new table"),
        ("triggers", table.triggers, "it has triggers", "drop them, and make them on the new table"),
        ("unheld_keys", table.unheld_keys, "its foreign keys are switched off", "ALTER TABLE ... ENABLE TRIGGER ALL"),
        ("rules", table.rules, "it has rules", "drop them; a partitioned table takes them again"),
        (
            "publications",
            table.publications,
            "it is published",
            (
                "take it out, and refresh the subscriptions; publish it by its root (publish_via_partition_root) "
                "afterwards, and refresh them again, which copies it"
            ),
        ),
        (
            "subscriptions",
            table.subscriptions,
            "subscriptions write into it",
            (
                "take it out of the publication that they follow, and REFRESH PUBLICATION; publish it and refresh "
                "again afterwards, or no change arrives any more"
            ),
        ),
        (
            "readers",
            table.readers,
            "logical slots read its changes",
            (
                "they would find them under the names of its parts: drop them, or have what reads them follow the "
                "parts, and make them again afterwards"
            ),
        ),
        ("dependents", table.dependents, "others depend on it", "drop them, and make them on the new table"),
        ("statistics", table.statistics, "it has extended statistics", "drop them, and make them on the new table"),
    )
    for code, names, what, remedy in by_name:
        if names:
            yield NoRoute(code=code, sentence=f"{what} ({list_names(names)}): {remedy}")
    if table.extension:
        yield NoRoute(code="extension", sentence=f"it belongs to the extension {table.extension}, which would lose it")
    if table.labels:
        yield NoRoute(code="labels", sentence="it has security labels, which would stay with the cold part")


def _of_keys(table: SplitTable, column: SplitColumn) -> Iterator[NoRoute]:
    without = [index.name for index in table.indexes if index.unique and column.number not in index.key]
    if without:
        yield NoRoute(
            code="unique",
            sentence=f"unique keys do not contain {column.name} ({list_names(without)}), and only keys that do can be "
            "unique across partitions: add it to them",
        )
    exclusion = [each.name for each in table.constraints if each.type == EXCLUSION]
    if exclusion:
        yield NoRoute(
            code="exclusion", sentence=f"exclusion constraints ({list_names(exclusion)}) hold within one partition only"
        )
    invalid = [index.name for index in table.indexes if not index.valid]
    if invalid:
        yield NoRoute(
            code="invalid_index", sentence=f"indexes are invalid ({list_names(invalid)}): drop or rebuild them"
        )


def _of_parts(table: SplitTable) -> Iterator[NoRoute]:
    unenforced = [each.name for each in table.constraints if each.definition.endswith(" NOT ENFORCED")]  # since 18
    if unenforced:
        yield NoRoute(
            code="not_enforced", sentence=f"constraints are NOT ENFORCED ({list_names(unenforced)}): drop them first"
        )
    unchecked = [each.name for each in table.constraints if not each.valid and each.name not in unenforced]
    if unchecked:
        yield NoRoute(
            code="not_valid",
            sentence=f"constraints were never checked ({list_names(unchecked)}): VALIDATE CONSTRAINT first",
        )
    alone = [each.name for each in table.constraints if each.type in (CHECK, "n") and each.no_inherit]
    if alone:
        yield NoRoute(
            code="no_inherit", sentence=f"constraints are NO INHERIT ({list_names(alone)}): make them without it"
        )
    given = [
        *(grant for grant in table.grants if grant.grantor != table.owner),
        *(grant for each in table.sequences if each.identity for grant in each.grants if grant.grantor != table.owner),
    ]
    if given:
        names = list_names(sorted({each.grantor for each in given}))
        yield NoRoute(
            code="grantors",
            sentence=f"privileges were granted by others than its owner ({names}): have the owner grant",
        )
    shared = [each.name for each in table.sequences if each.identity and each.used_elsewhere]
    if shared:
        yield NoRoute(code="sequence", sentence=f"identity sequences are used elsewhere ({list_names(shared)})")
    tuned = [each.name for each in table.indexes if each.statistics]
    if tuned:
        yield NoRoute(
            code="index_statistics", sentence=f"indexes have statistics targets ({list_names(tuned)}): set them to -1"
        )


def list_names(names: Sequence[str]) -> str:
    """The first few of them."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


MIB = 2**20
SAMPLED_BYTES = 2 * 300 * 100 * 8192  # that ANALYZE reads: of each part, and once more of the whole (targets of 100)
AHEAD = "a border ahead of the newest row moves nothing, hot rows age into the new part then"


def is_reached(table: SplitTable, column: SplitColumn, border: BorderValue, present: float | None) -> bool:
    """Whether the border lies among the rows: by the clock or a sequence, or by the share of rows beyond it."""
    ahead = seconds_until(table, column, border)
    return (ahead is not None and ahead <= 0) or (present is not None and present >= LEAST_SHARE)


def moved_bytes(table: SplitTable, present: float | None) -> int:
    """Of rows from the border on, with their part of each index; as if dead rows were spread over the table."""
    return ceil((present or 0.0) * table.bytes)


def transfers_of_rows(table: SplitTable, moved: int, bundle: Bundle, space: str) -> tuple[Transfer, ...]:
    """The table is read to find the rows and once more to prove that no other is left, and they are written."""
    read = Transfer(space=bundle.space, bytes=table.heap_bytes, unit=bundle.key, work_ratio=SCAN_WORK)
    return read, Transfer(space=space, bytes=moved, written=True, work_ratio=BUILD_WORK), read


def transfers_of_mending(table: SplitTable, moved: int, bundle: Bundle, space: str) -> tuple[Transfer, ...]:
    """VACUUM reads all indexes of the cold part, its pages that have lost rows, and the new part; ANALYZE a sample."""
    heap = min(table.heap_bytes, moved + SAMPLED_BYTES) if moved else min(table.heap_bytes, SAMPLED_BYTES)
    indexes = max(0, table.bytes - table.heap_bytes) if moved else 0
    cold = Transfer(space=bundle.space, bytes=heap + indexes, unit=bundle.key, work_ratio=SCAN_WORK)
    return (cold, Transfer(space=space, bytes=moved, work_ratio=SCAN_WORK)) if moved else (cold,)


def refuse_rows(
    table: SplitTable,
    present: float | None,
    bundle: Bundle,
    to_space: str,
    settings: PostgresqlSettings,
    limit_seconds: float | None = None,
) -> NoRoute | None:
    """Why rows that are there already are not moved; None where they may be.

    ``limit_seconds``: after which the server ends the approved transaction; None: nothing is approved yet.
    """
    if present is None and table.foreign_code:
        return NoRoute(
            code="foreign_code",
            sentence="rows from the border on are there already, and their number is not known: to have it estimated "
            f"would run {list_names(table.foreign_code)} with this login's rights; {AHEAD}",
        )
    if present is None:
        return NoRoute(
            code="no_statistics",
            sentence="rows from the border on are there already, and their number is not known: ANALYZE it, and let "
            f"this login read the column; or {AHEAD}",
        )
    moved = moved_bytes(table, present)
    there = f"rows from the border on are there already, about {format_bytes(moved)} with their index entries"
    if moved > settings.split_back_mib * MIB:
        return NoRoute(
            code="too_many_rows",
            sentence=f"{there}, and a split moves {settings.split_back_mib} MiB at most (split_back_mib): {AHEAD}",
            setting=f"split_back_mib: {settings.split_back_mib}",
        )
    seconds = held_seconds(transfers_of_rows(table, moved, bundle, to_space))
    if limit_seconds is not None and seconds > limit_seconds:
        return NoRoute(
            code="locked_too_long",
            sentence=f"{there}; to move them and to read the table twice would lock it for about "
            f"{format_seconds(seconds)}, and the server ends that after {format_seconds(limit_seconds)}, as was "
            f"approved: plan it again; {AHEAD}",
        )
    return None


LIMIT_TIMES, LEAST_LIMIT_SECONDS = 5.0, 2.0  # as long as is expected, after which the server ends what locks the table


def limit_of(seconds: float) -> float:
    """Seconds after which the server ends a transaction that is expected to lock the table for so many."""
    return max(LEAST_LIMIT_SECONDS, LIMIT_TIMES * seconds)


CHECK_STEP, VALIDATE_STEP, SWITCH_STEP = (
    "postgresql.split_check",
    "postgresql.split_validate",
    "postgresql.split_switch",
)
MOVE_STEP = "postgresql.split_move"
MEND_STEP = "postgresql.split_mend"  # after the table is split: VACUUM and ANALYZE, or ANALYZE alone
REJOIN_STEP, DROP_CHECK_STEP = "postgresql.rejoin", "postgresql.split_drop_check"
SWITCH_SECONDS = 60.0  # that catalog changes may take once they have their locks; each is a matter of milliseconds
PATIENCE = 3.0  # times the scan that the border has to lie ahead, for tries that wait for locks
LEAST_AHEAD_SECONDS = 60.0


def moves_rows(route: Route) -> bool:
    """Whether it splits a table at a border that lies among its rows."""
    operation = route.steps[0].operation
    return operation is not None and operation.name == MOVE_STEP


def routes_of_split(
    relation: Relation | None, table: SplitTable | None, border: BorderValue | None, present: float | None, column: str,
    bundle: Bundle, to_space: str, settings: PostgresqlSettings,
) -> Route | NoRoute:  # fmt: skip
    """The route of a split, or the first reason against it.

    Args:
        relation: as of any move; None: it is gone.
        table: its definition; None as ``relation``.
        border: as the server reads it; None: there is no such column.
        present: share of the rows that lie from the border on, 0 to 1; None: not known.
        column: name of the column.
        bundle: the table.
        to_space: of rows from the border on.
        settings: time limits.
    """
    refusal = refuse_relation(relation, bundle, to_space)
    if refusal is not None and refusal.code != "already_there":  # both parts may lie in one space
        return refusal
    assert relation is not None, "a missing relation is refused above"
    assert table is not None, "it was looked up by the same key"
    refusal = refusal_of(table, column)
    if refusal is not None:
        return refusal
    found = column_of(table, column)
    assert found is not None, "a missing column is refused above"
    assert border is not None, "it was read as that column"
    moves_rows = is_reached(table, found, border, present)
    refusal = refuse_rows(table, present, bundle, to_space, settings) if moves_rows else too_near(table, column, border)
    if refusal is not None:
        return refusal
    plan = SplitPlan(
        table=table, column=found, border=border.text, space=to_space, names=choose_names(table, found, border.text),
        most_back_bytes=settings.split_back_mib * MIB, moves_rows=moves_rows,
    )  # fmt: skip
    if moves_rows:
        return _route_that_moves(plan, moved_bytes(table, present), relation, bundle, settings)
    return _route(plan, relation, bundle, settings)


def too_near(table: SplitTable, column: str, border: BorderValue) -> NoRoute | None:
    """A refusal where new rows would reach the border before the split is done, as far as that is known."""
    found = column_of(table, column)
    ahead = None if found is None else seconds_until(table, found, border)
    needed = ahead_needed(table)
    if ahead is None or ahead >= needed:
        return None
    when = "has been reached" if ahead <= 0 else f"would be reached within {format_seconds(ahead)}"
    return NoRoute(
        code="too_near",
        sentence=f"the border {when}, and rows from it on are refused until the split is done, which may take "
        f"{format_seconds(needed)}: choose a later one",
    )


def ahead_needed(table: SplitTable) -> float:
    """Seconds that the border has to lie ahead."""
    return LEAST_AHEAD_SECONDS + PATIENCE * table.heap_bytes / SLOW_BYTES_PER_SECOND  # the validation reads it once


def choose_names(table: SplitTable, column: SplitColumn, border: str) -> SplitNames:
    """Names of the parts, with the first number that is free for all of them.

    >>> number_name("orders", 3, set())
    'orders_p3'
    """
    taken, number = set(table.taken), 0
    sequences = [each.name for each in table.sequences if each.identity]
    while True:
        used = set(taken)
        cold = number_name(table.name, number, used)
        parts = [(name, number_name(name, number, used)) for name in (*(i.name for i in table.indexes), *sequences)]
        hot = number_name(table.name, number + 1, used)
        if not taken & {cold, hot, *(new for _, new in parts)}:
            break
        number += 1
    mark = hashlib.sha256(f"{table.oid}.{column.name}.{border}".encode()).hexdigest()[:8]
    at = len(table.indexes)
    return SplitNames(
        cold=cold, hot=hot, check=f"hotplace_split_{mark}", indexes=tuple(parts[:at]), sequences=tuple(parts[at:])
    )


def number_name(name: str, number: int, used: set[str]) -> str:
    """The name with a number of a part, cut where it would be too long, and unlike those given so far."""
    for more in ("", *map(str, range(1, 1000))):
        ending = f"{more and '_'}{more}_p{number}"
        found = name.encode()[: NAME_BYTES - len(ending)].decode(errors="ignore") + ending
        if found not in used:
            used.add(found)
            return found
    raise ValueError(f"a thousand names like {name!r} are taken")


def _route(plan: SplitPlan, relation: Relation, bundle: Bundle, settings: PostgresqlSettings, moved: int = 0) -> Route:
    patience = patience_of(relation, settings)
    held = held_seconds(transfers_of_rows(plan.table, moved, bundle, plan.space))
    steps, undo, tidy = _steps(plan, settings, limit_of(held))
    return Route(
        name=SPLIT,
        bundle=bundle,
        to_space=plan.space,
        prologue=prologue_of(settings.lock_timeout, settings.move_timeout),
        patient_prologue=prologue_of(patience, settings.move_timeout) if patience else (),
        steps=steps,
        undo_steps=undo,
        tidy_steps=tidy,
        online=True,
        locks="ACCESS EXCLUSIVE on the table for a moment at its begin and at its end; SHARE UPDATE EXCLUSIVE on the "
        f"table and its parts, while they are read: reads and writes go on; {referenced_locks(plan.table)}waits at "
        f"most {format_seconds(settings.lock_timeout)} for each lock, and others queue behind that wait",
        undo_locks=_undo_locks(plan.table),
        locked=Locked.BRIEFLY,
        lock_seconds=wait_seconds(plan.table, patience, settings),
        log_bytes=0,
        transient_bytes=0,
        undo_bytes=0,
        copies=(
            Transfer(space=bundle.space, bytes=plan.table.heap_bytes, unit=bundle.key, work_ratio=SCAN_WORK),
            *transfers_of_mending(plan.table, 0, bundle, plan.space),
        ),
        notes=tuple(_notes(plan, relation.table_key)),
    )  # fmt: skip


def _route_that_moves(
    plan: SplitPlan, moved: int, relation: Relation, bundle: Bundle, settings: PostgresqlSettings
) -> Route:
    """In place of refusing rows from the border on, the one transaction moves them."""
    copies = transfers_of_rows(plan.table, moved, bundle, plan.space)
    held, wait = format_seconds(held_seconds(copies)), format_seconds(settings.lock_timeout)
    limit = format_seconds(limit_of(held_seconds(copies)))
    route = _route(plan, relation, replace(bundle, size_bytes=moved), settings, moved)
    return replace(
        route,
        online=False,
        locks=f"ACCESS EXCLUSIVE on the table, no reads, no writes, for about {held}: about {format_bytes(moved)} of "
        f"rows and index entries are moved, and the table is read twice; the server ends it after {limit}, "
        f"and nothing has changed then; {referenced_locks(plan.table)}SHARE UPDATE EXCLUSIVE on "
        "its parts, while dead rows are removed from them afterwards: reads and writes go on, but for the moments in "
        f"which the empty end of {plan.names.cold} is cut off; waits at most {wait} for each lock, and others queue "
        "behind that wait",
        locked=Locked.ALL,
        log_bytes=2 * moved,
        undo_bytes=moved,
        copies=(*copies, *transfers_of_mending(plan.table, moved, bundle, plan.space)),
        locked_copies=len(copies),
    )  # fmt: skip


def referenced_locks(table: SplitTable) -> str:
    """What is locked of tables that its foreign keys name; "" where it has none."""
    if not _references(table):
        return ""
    return (
        "ACCESS EXCLUSIVE on tables that its foreign keys name for a moment at its end, which keeps their readers out, "
        "too; "
    )


def _undo_locks(table: SplitTable) -> str:
    return (
        "ACCESS EXCLUSIVE on the table, no reads, no writes, while rows of its new part are copied back; "
        + ("SHARE ROW EXCLUSIVE on tables that its foreign keys name, as long; " if _references(table) else "")
        + referenced_locks(table)
        + "SHARE UPDATE EXCLUSIVE on the table while statistics are gathered: reads and writes go on"
    )


def wait_seconds(table: SplitTable, patience: float, settings: PostgresqlSettings) -> float:
    """How long others may queue: behind the wait for the table, and while that is held, for those that it refers to."""
    return (patience or settings.lock_timeout) + settings.lock_timeout * _references(table)


def _references(table: SplitTable) -> int:
    """How many foreign keys it has; each may name another table."""
    return sum(each.type == FOREIGN_KEY for each in table.constraints)


def _steps(plan: SplitPlan, settings: PostgresqlSettings, limit_seconds: float) -> tuple[tuple[Step, ...], ...]:
    """Steps of the way there, of the way back, and of what tidies up; ``limit_seconds``: of what locks the table."""
    name, space = plan.table.name, plan.space
    back = (
        (rejoin(plan), f"make {name} one table again", REJOIN_STEP, settings.move_timeout),
        (mend_back(plan), f"gather statistics of {name}", MEND_STEP, settings.move_timeout),
    )
    if plan.moves_rows:
        what = f"move rows of {name} from the border on to a part in {space}, and read the rest"
        mended = f"remove dead rows and index entries from {plan.names.cold}, and gather statistics of all parts"
        mending = ((mend(plan), mended, MEND_STEP, settings.move_timeout),)
        return _steps_of(plan, ((switch(plan), what, MOVE_STEP, limit_seconds), *mending), back, mending)
    mending = ((mend(plan), f"gather statistics of {name} and its parts", MEND_STEP, settings.move_timeout),)
    there = (
        (add_check(plan), f"refuse new rows of {name} from the border on", CHECK_STEP, SWITCH_SECONDS),
        (validate_check(plan), f"read {name} once: no row is beyond the border", VALIDATE_STEP, settings.move_timeout),
        (switch(plan), f"put a partitioned {name} in its place, with a part in {space}", SWITCH_STEP, SWITCH_SECONDS),
        *mending,
    )  # fmt: skip
    tidy = ((drop_check(plan), f"let {name} take all rows again", DROP_CHECK_STEP, SWITCH_SECONDS), *mending)
    return _steps_of(plan, there, back, tidy)


_Statement = tuple[str, str, str, float]  # text, purpose, operation, seconds that it may take


def _steps_of(plan: SplitPlan, *parts: tuple[_Statement, ...]) -> tuple[tuple[Step, ...], ...]:
    """Steps of the way there, of the way back, and of what tidies up."""
    tag = _tag(statement for part in parts for statement, *_ in part)
    operands = _operands(plan)
    return tuple(
        tuple(
            Step(
                sql=f"{tag}{word} {at} */ {statement}",
                purpose=purpose,
                timeout_seconds=seconds,
                operation=Operation(operation, operands),
            )
            for at, (statement, purpose, operation, seconds) in enumerate(part, start=1)
        )
        for word, part in zip(("step", "undo", "tidy"), parts, strict=True)
    )


def _operands(plan: SplitPlan) -> dict[str, str | int | bool]:
    """What ``inspect`` has to know."""
    return {
        "oid": plan.table.oid, "schema": plan.table.schema_, "name": plan.table.name, "cold": plan.names.cold,
        "hot": plan.names.hot, "check": plan.names.check, "column": plan.column.name, "border": plan.border,
        COUNTED: True,
    }  # fmt: skip


def _tag(statements: Iterable[str]) -> str:
    return f"{TAG} {hashlib.sha256(';'.join(statements).encode()).hexdigest()[:8]} "


def _notes(plan: SplitPlan, key: str) -> Iterable[str]:
    names = plan.names
    if plan.moves_rows:
        yield (
            "a transaction in REPEATABLE READ that began before it and uses the table for the first time afterwards "
            "may miss the rows that were moved"
        )
        yield f"{names.cold} is the table as it is without them, {names.hot} takes rows from the border on"
    else:
        yield from _notes_ahead(plan)
    yield f"the way back copies what {names.hot} holds by then under a lock, {plan.most_back_bytes // MIB} MiB at most"
    yield (
        f"it compares these rows before {names.hot} is dropped, which reads {names.cold} once where no index leads "
        f"with {plan.column.name}; what {names.hot} has been given alone by then (an index, a grant, a comment) "
        "refuses it"
    )
    in_shell = shlex.quote(key)  # pg_dump reads it as a pattern, in which a name has to be quoted as in a statement
    yield (
        f"FROM ONLY {key}, TRUNCATE ONLY and pg_dump -t {in_shell} see no row afterwards: a dump of "
        f"this table alone needs its parts' names, or --table-and-children={in_shell} (pg_dump from 16)"
    )
    if names.sequences:
        yield "identity sequences are made again with their value: sessions that have cached some of theirs leave gaps"


def _notes_ahead(plan: SplitPlan) -> Iterable[str]:
    yield (
        f"rows with {plan.column.name} >= {plan.border} are refused from the first statement until the last is done: "
        "the border has to lie ahead of what arrives meanwhile"
    )
    yield f"nothing is copied: {plan.names.cold} is the table as it is, {plan.names.hot} takes rows from the border on"
