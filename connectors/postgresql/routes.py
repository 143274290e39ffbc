"""Every way PostgreSQL has to move a relation to another tablespace, as full statements. Pure.

Tables, partitions and materialized views have one way, ``SET TABLESPACE``: it copies the files under an exclusive
lock. Indexes have two: ``REINDEX CONCURRENTLY`` builds a new one there without blocking other sessions, ``SET
TABLESPACE`` copies the old one and is faster. Locks and log as measured, and in the manual under ALTER TABLE and
REINDEX.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from psycopg import sql

from connectors.model.formatting import format_seconds
from connectors.model.moves import CLOSE, REOPEN, Bundle, CopyHabits, FollowUp, Locked, NoRoute, Route, Step, Transfer
from connectors.postgresql.catalog import INDEX, MATERIALIZED_VIEW, ONE_STORAGE, Relation
from connectors.postgresql.replication import Replication, notes_on, prolonging
from connectors.postgresql.sessions import milliseconds
from connectors.postgresql.settings import PostgresqlSettings
from connectors.postgresql.split_block import CHANGED, as_one, raise_if, text

NAME_BYTES = 63  # NAMEDATALEN - 1
TAG = "/* hotplace move"
_END_OF_TAG = " */ "
TAG_WORDS = 4  # with the digest of the statements behind it
# Of the server's own work on a byte, as PolicySettings have it (20 ns): on one read or written by SET TABLESPACE (10 to
# 20 ns measured for both), on a heap's that is scanned (0.5 to 3 ns), on an index's that is built (10 to 26 ns, of
# integers and text). Rows of 70 to 1,200 bytes, PostgreSQL 15 and 18; the time of devices is left out.
COPY_WORK, SCAN_WORK, BUILD_WORK = 0.35, 0.1, 0.8
SET_TABLESPACE = "set tablespace"  # name of that route
REBUILD = "reindex concurrently"  # name of that route
LEFT_BEHIND = ("ccnew", "ccold")  # what REINDEX CONCURRENTLY calls the index it builds, and the one it replaces
NUMBERS = (
    "",
    *map(str, range(1, 10)),
)  # behind such a name, where it is taken: the first free one (ChooseRelationName)
# Files are copied, and indexes built, past the buffer pool; statistics and all-visible bits are as before.
NOT_IN_POOL = FollowUp(
    what="none of its pages is in the buffer pool: sessions read them once more, or pg_prewarm does", seconds=None
)
MOST_PATIENCE_SECONDS = 5.0  # with a longer deadlock_timeout others would queue for too long: autovacuum is waited for


def routes_of(
    relation: Relation | None, bundle: Bundle, to_space: str, settings: PostgresqlSettings, replication: Replication
) -> tuple[Route, ...] | NoRoute:
    """Every way to bring the bundle there, the preferred first, or why there is none."""
    refusal = refuse_relation(relation, bundle, to_space)
    if refusal is not None:
        return refusal
    assert relation is not None, "a missing relation is refused above"
    online = (
        _reindex(relation, bundle, to_space, settings) if relation.kind == INDEX and not relation.exclusion else None
    )
    prolonged = "" if settings.allow_moves_with_remote_apply else prolonging(replication)
    if prolonged and online is None:
        return NoRoute(code="remote_apply", sentence=f"{prolonged}; allow_moves_with_remote_apply: true lets it move")
    fast = None if prolonged else _set_tablespace(relation, bundle, to_space, settings)
    ways = (online, fast) if settings.index_route == "online" else (fast, online)
    return tuple(_with_followers(way, replication) for way in ways if way is not None)


def _with_followers(route: Route, replication: Replication) -> Route:
    """The route with what it means for standbys and slots."""
    return replace(route, notes=(*route.notes, *notes_on(replication, exclusive=route.locked is Locked.ALL)))


def habits(settings: PostgresqlSettings) -> CopyHabits:
    """How units are copied by the preferred routes: an index is built from its table, which is scanned twice."""
    return CopyHabits(index_reads_table=2 if settings.index_route == "online" else 0)


def tag_of(route: Route) -> str:
    """The comment that begins every statement of this move, and of no other move."""
    return " ".join(route.steps[0].sql.split(" ", TAG_WORDS)[:TAG_WORDS]) + " "


def with_identity_check(route: Route, step: Step) -> str:
    """The statement of a step, and around it, in its transaction, whether its name is that of the approved object.

    Between the last look at the catalog and the lock another session may have given the name to another table. A table
    that is to be copied is locked before, and its id compared behind the lock. Otherwise the comparison comes after the
    statement, behind the lock that it has taken. Where they differ all is rolled back.

    What cannot run in a transaction is as it is: ``REINDEX CONCURRENTLY``, ``VACUUM``. So is a block, which compares
    by itself.
    """
    tag, end, statement = step.sql.partition(_END_OF_TAG)
    oid = _approved_table(route)
    if oid is None or not statement.startswith("ALTER "):
        return step.sql
    key, table = route.bundle.key, sql.Literal(oid)
    is_other = text(
        "(SELECT coalesce(i.indrelid, c.oid) FROM pg_class AS c LEFT JOIN pg_index AS i ON i.indexrelid = c.oid "
        "WHERE c.oid = to_regclass({})) <> {}::oid",
        sql.Literal(key), table,
    )  # fmt: skip
    compare = raise_if(is_other, f"{key} is another object under the approved name", CHANGED)
    # Owners may have taken privileges from themselves, and may alter the table all the same. A table that is gone is
    # refused by the statement itself.
    lock = text(
        "BEGIN EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', {}::oid::regclass); "
        "EXCEPTION WHEN insufficient_privilege OR undefined_table OR syntax_error THEN NULL; END",
        table,
    )
    copies_table = route.name == SET_TABLESPACE and statement.startswith("ALTER TABLE ")
    before = f"{as_one([compare, lock, compare])}; " if copies_table else ""
    return f"{tag}{end}{before}{statement}; {as_one([compare])}"


def _approved_table(route: Route) -> int | None:
    """Id of the table that the route is about, or whose index it moves; None: not known."""
    operation = route.steps[0].operation
    if route.name in {CLOSE, REOPEN}:
        return route.bundle.physical_ids[0]
    if operation is not None and "oid" in operation.parameters:
        return int(operation.text("oid"))
    return route.bundle.table_ids[0] if route.bundle.table_ids else None


def drop_leftover(schema: str, name: str, tag: str, ordinal: int, others: Iterable[str] = ()) -> Step:
    """The step that removes an invalid index.

    Args:
        schema: of the index.
        name: of the index.
        tag: of the move.
        ordinal: of the step.
        others: names that the server may have given it instead.
    """

    def statement(index: str) -> str:
        drop = sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(schema, index)).as_string(None)
        return f"{tag}tidy {ordinal} */ {drop}"

    return Step(
        sql=statement(name), purpose=f"remove the unfinished index {name}", variants=tuple(map(statement, others))
    )


def tidy_steps_of(schema: str, index: str, tag: str) -> tuple[Step, ...]:
    """Steps that remove the index that a rebuild began and the one it replaced, by every name the server gives them."""
    by_number = [leftover_names(index, number) for number in NUMBERS]
    return tuple(
        drop_leftover(schema, names[0], tag, ordinal, names[1:])
        for ordinal, names in enumerate(zip(*by_number, strict=True), start=1)
    )


def leftover_names(index: str, number: str = "") -> tuple[str, ...]:
    """Names that PostgreSQL gives to the leftovers of an interrupted REINDEX CONCURRENTLY (makeObjectName).

    Args:
        index: its name.
        number: that comes behind it where such a name is taken already, and for which the index's is cut shorter.
    """
    # By bytes, as the server cuts: a name of two-byte letters loses half as many of them, and a letter cut in two goes
    # altogether.
    stem = index.encode()[: NAME_BYTES - 1 - len(LEFT_BEHIND[0] + number)].decode(errors="ignore")
    return tuple(f"{stem}_{suffix}{number}" for suffix in LEFT_BEHIND)


def refuse_relation(relation: Relation | None, bundle: Bundle, to_space: str) -> NoRoute | None:
    """Why no move of the relation is possible, or none to that space; None where there is no reason."""
    if relation is None:
        return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists")
    reasons = (
        (relation.standby, "standby", "this server is a standby; moves happen on the primary and are replayed here"),
        (bool(relation.service), "managed_service", ONE_STORAGE.format(relation.service)),
        (relation.system, "system_relation", f"{bundle.key} belongs to the system"),
        (relation.mapped, "shared_relation", f"{bundle.key} is shared or mapped and cannot be moved"),
        (bool(relation.manager), "managed_by_extension", relation.manager),
        (relation.persistence == "t", "temporary", f"{bundle.key} is a temporary relation of one session"),
        (to_space == "pg_global", "shared_space", "pg_global is for shared system catalogs only"),
        (relation.target_oid is None, "no_space", f"there is no tablespace {to_space}"),
        (relation.target_oid == relation.space_oid, "already_there", f"{bundle.key} is already in {to_space}"),
        (not relation.valid, "invalid_index", f"{bundle.key} is invalid: drop it or rebuild it"),
    )
    return next((NoRoute(code=code, sentence=sentence) for applies, code, sentence in reasons if applies), None)


@dataclass(frozen=True, slots=True)
class _Statements:
    there: str
    back: str

    @property
    def tag(self) -> str:
        """The same for the same statements, so that a plan made twice is the same plan."""
        return f"{TAG} {hashlib.sha256(f'{self.there};{self.back}'.encode()).hexdigest()[:8]} "

    def step(self, purpose: str, seconds: float) -> Step:
        return Step(
            sql=f"{self.tag}step 1 */ {self.there}",
            purpose=purpose,
            undo_sql=f"{self.tag}undo 1 */ {self.back}",
            timeout_seconds=seconds,
        )

    def undo(self, purpose: str, seconds: float) -> Step:
        return Step(sql=f"{self.tag}undo 1 */ {self.back}", purpose=purpose, timeout_seconds=seconds)


def _statements(pattern: str, relation: Relation, to_space: str) -> _Statements:
    """The pattern for both directions, identifiers quoted by PostgreSQL's rules."""
    name = sql.Identifier(relation.schema, relation.name)
    there, back = (
        sql.SQL(pattern).format(name=name, space=sql.Identifier(space)).as_string(None)
        for space in (to_space, relation.space)
    )
    return _Statements(there, back)


def _set_tablespace(relation: Relation, bundle: Bundle, to_space: str, settings: PostgresqlSettings) -> Route:
    noun = {INDEX: "INDEX", MATERIALIZED_VIEW: "MATERIALIZED VIEW"}.get(relation.kind, "TABLE")
    words = _statements(f"ALTER {noun} {{name}} SET TABLESPACE {{space}}", relation, to_space)
    patience = patience_of(relation, settings)
    return Route(
        name=SET_TABLESPACE,
        bundle=bundle,
        to_space=to_space,
        prologue=prologue_of(settings.lock_timeout, settings.move_timeout),
        patient_prologue=prologue_of(patience, settings.move_timeout) if patience else (),
        steps=(words.step(f"copy {bundle.key} to {to_space}", settings.move_timeout),),
        undo_steps=(words.undo(f"copy {bundle.key} back to {relation.space}", settings.move_timeout),),
        online=False,
        locks=_exclusive_lock(relation, settings.lock_timeout, patience),
        locked=Locked.ALL,
        lock_seconds=patience or settings.lock_timeout,
        log_bytes=_log_bytes(relation, bundle),
        transient_bytes=0,  # the new files are the bundle itself; the old ones stay in the source until commit
        copies=_page_by_page(relation, bundle, to_space),
        follow_up=(NOT_IN_POOL,),
        notes=_notes(relation),
    )


def _reindex(relation: Relation, bundle: Bundle, to_space: str, settings: PostgresqlSettings) -> Route:
    words = _statements("REINDEX (TABLESPACE {space}) INDEX CONCURRENTLY {name}", relation, to_space)
    return Route(
        name=REBUILD,
        bundle=bundle,
        to_space=to_space,
        prologue=prologue_of(settings.online_lock_timeout, settings.move_timeout),
        steps=(words.step(f"rebuild {bundle.key} in {to_space}", settings.move_timeout),),
        undo_steps=(words.undo(f"rebuild {bundle.key} in {relation.space}", settings.move_timeout),),
        tidy_steps=tidy_steps_of(relation.schema, relation.name, words.tag),
        tidy_locks="SHARE UPDATE EXCLUSIVE on the table: reads and writes go on; it waits for transactions that use it",
        online=True,
        locks="SHARE UPDATE EXCLUSIVE on the table and its index: reads and writes go on, VACUUM and DDL wait; "
        "ACCESS EXCLUSIVE on the replaced index as it is dropped, when no session uses it any more; it waits for "
        "transactions that were there before it",
        locked=Locked.NOTHING,
        log_bytes=_log_bytes(relation, bundle),
        transient_bytes=0,
        drains=1,  # of old snapshots, before the new index takes the old one's place
        drains_users=4,  # before it builds, before it validates, before the old index is dead, before that is dropped
        copies=_index_transfers(relation, bundle, to_space),
        follow_up=(NOT_IN_POOL,),
        notes=(
            "reads the whole table twice",
            "it begins once no old transaction holds a snapshot or a lock on the table",
            "if interrupted it leaves an invalid index, which is dropped as soon as no transaction uses the table",
            "the index gets a new oid",
        ),
    )


def _page_by_page(relation: Relation, bundle: Bundle, to_space: str) -> tuple[Transfer, ...]:
    """``SET TABLESPACE``: every page read, logged and written."""
    return (
        Transfer(space=relation.space, bytes=bundle.size_bytes, unit=bundle.key, work_ratio=COPY_WORK),
        Transfer(space=to_space, bytes=bundle.size_bytes, written=True, work_ratio=COPY_WORK),
    )


def _index_transfers(relation: Relation, bundle: Bundle, to_space: str) -> tuple[Transfer, ...]:
    """``REINDEX CONCURRENTLY``: in the order of ``phases``, the heap, the new index there and back, the heap again."""
    heap = Transfer(
        space=relation.table_space, bytes=relation.table_bytes, unit=relation.table_key, work_ratio=SCAN_WORK
    )
    return (
        heap,
        Transfer(space=to_space, bytes=bundle.size_bytes, written=True, work_ratio=BUILD_WORK),
        Transfer(space=to_space, bytes=bundle.size_bytes, work_ratio=SCAN_WORK),
        heap,
    )


_PHASES = (  # of pg_stat_progress_create_index: start of its text, transfers done before it, whether one runs in it
    ("building index: sorting", 1, False),
    ("building index: loading", 1, True),
    ("building index", 0, True),
    ("waiting for writers before validation", 2, False),
    ("index validation: scanning index", 2, True),
    ("index validation: sorting", 3, False),
    ("index validation", 3, True),
    ("waiting for old snapshots", 4, False),
    ("waiting for readers", 4, False),
)


def done_ratios(phase: str, share: float) -> tuple[float, ...]:
    """How much of each transfer of an online rebuild is done, by the phase that PostgreSQL is in and its share of it.

    >>> done_ratios("building index: scanning table", 0.5), done_ratios("waiting for old snapshots", 0.0)
    ((0.5, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0))
    """
    # By the beginning of the text and in this order: access methods add words of their own, and "building index" is the
    # beginning of two others.
    before, within = next(((n, within) for words, n, within in _PHASES if phase.startswith(words)), (0, False))
    done = [1.0] * before + [min(1.0, share) if within else 0.0] + [0.0] * 3
    return tuple(done[:4])


def prologue_of(lock_seconds: float, move_seconds: float) -> tuple[str, ...]:
    """Time limits of a session that moves."""
    return (
        f"SET lock_timeout = '{milliseconds(lock_seconds)}'",
        f"SET statement_timeout = '{milliseconds(move_seconds)}'",
    )


def patience_of(relation: Relation, settings: PostgresqlSettings) -> float:
    """Seconds to wait for a lock that only autovacuum and transactions at work that are younger hold.

    The server cancels an autovacuum worker in favour of a session that has waited for deadlock_timeout (the manual,
    25.1.6). 0: lock_timeout is long enough for that, or deadlock_timeout so long that others would be blocked.
    """
    if settings.lock_timeout > relation.deadlock_seconds or relation.deadlock_seconds > MOST_PATIENCE_SECONDS:
        return 0.0
    return relation.deadlock_seconds + settings.lock_timeout


def _exclusive_lock(relation: Relation, lock_seconds: float, patience: float) -> str:
    only = "where only autovacuum, which gives way then, and younger transactions at work hold it"
    longer = f" ({format_seconds(patience)} {only})" if patience else ""
    waits = f"waits at most {format_seconds(lock_seconds)} for it{longer}, and others queue behind that wait"
    if relation.kind == INDEX:
        return f"ACCESS EXCLUSIVE on the index: while it is copied, which holds up every query on its table; {waits}"
    return f"ACCESS EXCLUSIVE on the table and its TOAST table: while they are copied, no reads, no writes; {waits}"


def _log_bytes(relation: Relation, bundle: Bundle) -> int:
    """The copy is logged page by page, unless nothing is: measured 1.01 bytes a byte."""
    if relation.persistence == "u" or relation.wal_level == "minimal":
        return 0
    return round(1.01 * max(relation.bytes or 0, bundle.size_bytes))


def _notes(relation: Relation) -> tuple[str, ...]:
    notes = []
    if relation.kind != INDEX and relation.indexes:
        notes.append(f"its {relation.indexes} index(es) stay where they are and move on their own")
    if relation.partition:
        notes.append("partitions made later follow the setting of the partitioned table, not this one")
    return tuple(notes)
