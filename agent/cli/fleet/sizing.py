"""``sizing --all``: how pools of fast storage are best shared, and where the next bytes bring most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import typer

from agent.answers.sizing import PoolShared, PoolsShared, ShareOfPool
from agent.cli.fleet.pages import document_rows, first_rows, say_rest
from agent.cli.options import parse_option
from agent.cli.session import Session
from agent.fleet.pools import PoolMember, Share, SharedPool, members_of, share_budget, share_more
from agent.ledger.fleet.overview import EVERY
from agent.ledger.state_names import SIZING_CURVE
from agent.model.units_of_measure import parse_bytes
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from connectors.formatting import format_bytes, format_ratio, format_sessions, format_wait
from policies.sizing.pool import PoolTooSmall

COLUMNS = (
    Column("database", name=True), Column("tier", leaves=2), Column("now", number=True), Column("share", number=True),
    Column("change", number=True, leaves=1), Column("saves now", number=True), Column("would save", number=True),
)  # fmt: skip
USUAL_MORE = 100 * 10**9  # bytes
ALL = "all databases"


@dataclass(frozen=True, slots=True)
class _Pool:
    name: str
    members: list[PoolMember]
    budget: int | None  # None: only what comes on top is shared


def show_sizing(session: Session, pool: str, more: str, limit: int | None) -> None:
    """Print each pool, or the document."""
    extra = parse_option(parse_bytes, more, "--more") if more else None
    shared = []
    for each in _pools(session, pool):
        if not each.members:
            session.out.line(f"{each.name}: no agent has planned for a database of it yet, so no curve is known")
            continue
        found = _pool_shared(each, _share(each, extra))
        _print(session, each.name, found, limit)
        shared.append(replace(found, databases=tuple(document_rows(found.databases, limit))))
    session.out.document(PoolsShared(pools=tuple(shared)))


def _pools(session: Session, name: str) -> Iterator[_Pool]:
    """The configured pools with their databases; without any all databases as one, whose sizes stay.

    Raises:
        BadParameter: no pool has that name.
    """
    pools = [pool for pool in session.config.pools if name in {"", pool.name}]
    if name and not pools:
        known = ", ".join(pool.name for pool in session.config.pools) or "none"
        raise typer.BadParameter(f"no pool is named {name!r}; configured: {known}", param_hint="--pool")
    curves = session.ledger.overview.documents(SIZING_CURVE, session.options.database or EVERY)
    for pool in pools:
        yield _Pool(pool.name, members_of(curves, pool.databases), pool.budget_bytes)
    if not pools:
        yield _Pool(ALL, members_of(curves, [EVERY]), None)


def _share(pool: _Pool, more: int | None) -> SharedPool:
    """The best use of a pool.

    Raises:
        CommandError: it does not hold what is pinned.
    """
    if more is not None or pool.budget is None:
        return share_more(pool.members, USUAL_MORE if more is None else more)
    try:
        return share_budget(pool.members, pool.budget)
    except PoolTooSmall as error:
        raise CommandError(
            f"pool {pool.name}: {error}",
            code=ExitCode.REFUSED,
            advice="Raise its budget, or remove pins of what must be on the fastest tier: hotplace pin --list.",
        ) from error


def _print(session: Session, name: str, pool: PoolShared, limit: int | None) -> None:
    out, bound = session.out, pool.bound_per_hour_seconds
    out.line(f"{name}: {format_bytes(pool.budget_bytes)} for {len(pool.databases)} databases", style="bold")
    rows = first_rows([share for share in pool.databases if share.bytes != share.present_bytes], limit)
    out.table(COLUMNS, [_cells(share) for share in rows])
    say_rest(session, len(pool.databases), len(rows), "databases")
    out.line(f"would save {format_wait(pool.gained_per_hour_seconds)} more than the present sizes at their best")
    out.line(f"another GiB saves {format_wait(pool.next_gib_saves_per_hour_seconds)} at most, wherever it goes")
    if not pool.exact:
        left = format_ratio((bound - pool.wait_saved_per_hour_seconds) / bound)
        out.line(f"no other share saves more than {left} beyond that")
    out.line("bytes that objects may fill: head-room comes on top; saves: sessions that no longer wait, on average")


def _cells(share: ShareOfPool) -> tuple[str, ...]:
    change = share.bytes - share.present_bytes
    return (
        share.database, share.tier,
        format_bytes(share.present_bytes) + ("" if share.present_size_known else " or more"),
        format_bytes(share.bytes), f"{'+' if change > 0 else '-'}{format_bytes(abs(change))}",
        format_sessions(share.wait_saved_now_per_hour_seconds), format_sessions(share.wait_saved_per_hour_seconds),
    )  # fmt: skip


def _pool_shared(pool: _Pool, found: SharedPool) -> PoolShared:
    return PoolShared(
        pool=pool.name if pool.budget is not None else None,
        budget_bytes=found.budget_bytes,
        used_bytes=found.plan.bytes,
        wait_saved_per_hour_seconds=found.plan.saved,
        bound_per_hour_seconds=found.plan.bound,
        exact=found.plan.exact,
        gained_per_hour_seconds=found.gained_per_hour,
        next_gib_saves_per_hour_seconds=found.next_gib_per_hour,
        databases=tuple(map(_share_of_pool, found.shares)),
    )


def _share_of_pool(share: Share) -> ShareOfPool:
    return ShareOfPool(
        database=share.member.curve.name,
        tier=share.member.tier,
        present_bytes=share.member.present_bytes,
        present_size_known=share.member.present_known,
        bytes=share.bytes,
        wait_saved_now_per_hour_seconds=share.saved_now_per_hour,
        wait_saved_per_hour_seconds=share.saved_per_hour,
    )
