"""Every way PostgreSQL has to move a relation to another tablespace, as full statements. Pure.

Tables, partitions and materialized views have one way, ``SET TABLESPACE``: it copies the files under an exclusive
lock. Indexes have two: ``REINDEX CONCURRENTLY`` builds a new one there while everybody works on, ``SET TABLESPACE``
copies the old one and is sooner done. Locks and log as measured, and in the manual under ALTER TABLE and REINDEX.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from psycopg import sql

from connectors.amounts import format_seconds
from connectors.effects import Locked
from connectors.model import Bundle, NoRoute, Route, Step
from connectors.postgresql.relation import INDEX, MATERIALIZED_VIEW, Relation
from connectors.postgresql.session import milliseconds
from connectors.postgresql.settings import PostgresqlSettings

NAME_BYTES = 63  # NAMEDATALEN - 1
TAG = "/* hotplace move"
LEFT_BEHIND = ("ccnew", "ccold")  # what REINDEX CONCURRENTLY calls the index it builds, and the one it replaces


def routes_of(
    relation: Relation | None, bundle: Bundle, to_space: str, settings: PostgresqlSettings
) -> tuple[Route, ...] | NoRoute:
    """Every way to bring the bundle there, the preferred first, or why there is none."""
    refusal = _refusal(relation, bundle, to_space)
    if refusal is not None:
        return refusal
    assert relation is not None, "a missing relation is refused above"
    if relation.kind != INDEX:
        return (_set_tablespace(relation, bundle, to_space, settings),)
    fast = _set_tablespace(relation, bundle, to_space, settings)
    if relation.exclusion:
        return (fast,)
    online = _reindex(relation, bundle, to_space, settings)
    return (online, fast) if settings.index_route == "online" else (fast, online)


def tag_of(route: Route) -> str:
    """What every statement of this move begins with, and of no other."""
    return route.steps[0].sql.partition(" step ")[0] + " "


def drop_leftover(schema: str, name: str, tag: str, ordinal: int) -> Step:
    """The step that removes an invalid index."""
    statement = sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(schema, name)).as_string(None)
    return Step(sql=f"{tag}tidy {ordinal} */ {statement}", purpose=f"remove the unfinished index {name}")


def leftover_names(index: str, number: str = "") -> tuple[str, ...]:
    """How PostgreSQL names what an interrupted REINDEX CONCURRENTLY of that index leaves (makeObjectName).

    Args:
        index: its name.
        number: that comes behind it where such a name is taken already, and for which the index's is cut shorter.
    """
    stem = index.encode()[: NAME_BYTES - 1 - len(LEFT_BEHIND[0] + number)].decode(errors="ignore")
    return tuple(f"{stem}_{suffix}{number}" for suffix in LEFT_BEHIND)


def _refusal(relation: Relation | None, bundle: Bundle, to_space: str) -> NoRoute | None:
    if relation is None:
        return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists")
    reasons = (
        (relation.standby, "standby", "this server is a standby; moves happen on the primary and are replayed here"),
        (relation.system, "system_relation", f"{bundle.key} belongs to the system"),
        (relation.mapped, "shared_relation", f"{bundle.key} is shared or mapped and cannot be moved"),
        (relation.persistence == "t", "temporary", f"{bundle.key} is a temporary relation of one session"),
        (to_space == "pg_global", "shared_space", "pg_global is for shared system catalogs only"),
        (relation.target_oid is None, "no_space", f"there is no tablespace {to_space}"),
        (relation.target_oid == relation.space_oid, "already_there", f"{bundle.key} is already in {to_space}"),
        (not relation.valid, "invalid_index", f"{bundle.key} is invalid: drop it or build it anew"),
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
    return Route(
        name="set tablespace",
        bundle=bundle,
        to_space=to_space,
        prologue=_prologue(settings.lock_timeout, settings.move_timeout),
        steps=(words.step(f"copy {bundle.key} to {to_space}", settings.move_timeout),),
        undo_steps=(words.undo(f"copy {bundle.key} back to {relation.space}", settings.move_timeout),),
        online=False,
        locks=_exclusive_lock(relation, settings.lock_timeout),
        locked=Locked.ALL,
        lock_seconds=settings.lock_timeout,
        log_bytes=_log_bytes(relation, bundle),
        transient_bytes=0,  # the new files are the bundle itself; the old ones stay in the source until commit
        notes=_notes(relation),
    )


def _reindex(relation: Relation, bundle: Bundle, to_space: str, settings: PostgresqlSettings) -> Route:
    words = _statements("REINDEX (TABLESPACE {space}) INDEX CONCURRENTLY {name}", relation, to_space)
    return Route(
        name="reindex concurrently",
        bundle=bundle,
        to_space=to_space,
        prologue=_prologue(settings.online_lock_timeout, settings.move_timeout),
        steps=(words.step(f"build {bundle.key} anew in {to_space}", settings.move_timeout),),
        undo_steps=(words.undo(f"build {bundle.key} anew in {relation.space}", settings.move_timeout),),
        tidy_steps=tuple(
            drop_leftover(relation.schema, name, words.tag, ordinal)
            for ordinal, name in enumerate(leftover_names(relation.name), start=1)
        ),
        online=True,
        locks="SHARE UPDATE EXCLUSIVE on the table: reads and writes go on, VACUUM and DDL wait; "
        "it waits for transactions that were there before it",
        locked=Locked.NOTHING,
        log_bytes=_log_bytes(relation, bundle),
        transient_bytes=0,
        notes=(
            "reads the whole table twice",
            "if interrupted it leaves an invalid index, which is dropped afterwards",
            "the index gets a new oid",
        ),
    )


def _prologue(lock_seconds: float, move_seconds: float) -> tuple[str, ...]:
    return (
        f"SET lock_timeout = '{milliseconds(lock_seconds)}'",
        f"SET statement_timeout = '{milliseconds(move_seconds)}'",
    )


def _exclusive_lock(relation: Relation, lock_seconds: float) -> str:
    waits = f"waits at most {format_seconds(lock_seconds)} for it, and others queue behind that wait"
    if relation.kind == INDEX:
        return f"ACCESS EXCLUSIVE on the index while it is copied, which holds up every query on its table; {waits}"
    return f"ACCESS EXCLUSIVE on the table and its TOAST table while they are copied: no reads, no writes; {waits}"


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
