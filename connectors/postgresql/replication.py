"""What moves mean for servers that follow, and for the write-ahead log.

What moves mean for servers that follow this one: standbys that replay them, and slots that keep their log.

What the write-ahead log takes, against limits of the configuration.

PostgreSQL tells what lies in ``pg_wal``, and not how much its volume has left: what the log may take there is for a
person to say. It grows beyond ``max_wal_size`` where a checkpoint, an archive command or a slot does not keep up.
"""

from __future__ import annotations

from dataclasses import dataclass

from connectors.kit.checks import Facts
from connectors.kit.contract import PrivilegeMissing
from connectors.model.formatting import format_bytes
from connectors.postgresql.rights import monitor_remedy
from connectors.postgresql.sessions import ReadSession, query


@dataclass(frozen=True, slots=True)
class Standby:
    """One that streams the log."""

    name: str  # application_name
    sync_state: str  # pg_stat_replication.sync_state
    behind_bytes: int | None  # of this server's log, not yet replayed there; None: this login may not see it


@dataclass(frozen=True, slots=True)
class Slot:
    """A replication slot that no server uses now."""

    name: str
    kept_bytes: int  # of the log, that cannot be removed because of it


@dataclass(frozen=True, slots=True)
class Replication:
    """A row of ``sql/replication.sql``."""

    synchronous_names: str = ""
    synchronous_commit: str = ""
    remote_apply: bool = False  # it is the setting of this session, or of some role or database
    standbys: tuple[Standby, ...] = ()
    inactive_slots: tuple[Slot, ...] = ()

    @property
    def commits_wait_for_replay(self) -> bool:
        """Whether commits of some sessions wait until a standby has replayed them."""
        return bool(self.synchronous_names) and self.remote_apply


def read_replication(session: ReadSession) -> Replication:
    """The standbys and replication slots of this server now.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    names, commit, remote_apply, standbys, slots = session.rows(query("replication"), doing="looking at standbys")[0]
    return Replication(
        names, commit, remote_apply, tuple(Standby(*row) for row in standbys), tuple(Slot(*row) for row in slots)
    )


def prolonging(replication: Replication) -> str:
    """Why a standby could prolong an ACCESS EXCLUSIVE lock of a move, "" where none could."""
    if not replication.commits_wait_for_replay:
        return ""
    return (
        f"commits wait until standbys ({replication.synchronous_names}) have replayed them (remote_apply): "
        "a reader there would prolong the ACCESS EXCLUSIVE lock of this move and hold up every commit here"
    )


def find_laggard(replication: Replication, most_bytes: int) -> str:
    """Which standby is further behind, or which slot keeps more of the log, in words; "" where none does.

    Args:
        replication: standbys and slots.
        most_bytes: of the log.
    """
    behind = [(each.behind_bytes or 0, f"the standby {each.name} is {{}} behind") for each in replication.standbys]
    kept = [
        (each.kept_bytes, f"the unused replication slot {each.name} keeps {{}}") for each in replication.inactive_slots
    ]
    worst, sentence = max([*behind, *kept], default=(0, ""))
    return f"{sentence.format(format_bytes(worst))} of the log" if worst > most_bytes else ""


def notes_on(replication: Replication, *, exclusive: bool) -> tuple[str, ...]:
    """Notes of a route on standbys and replication slots.

    Args:
        replication: standbys and slots.
        exclusive: the move takes ACCESS EXCLUSIVE, which standbys replay.
    """
    notes = []
    if replication.standbys:
        listed = ", ".join(f"{standby.name} ({standby.sync_state})" for standby in replication.standbys)
        replayed = (
            "; its lock is replayed there, and readers of the table are cancelled after max_standby_streaming_delay"
            if exclusive
            else ""
        )
        notes.append(f"standbys replay what it logs: {listed}{replayed}")
    if replication.inactive_slots:
        listed = ", ".join(slot.name for slot in replication.inactive_slots)
        notes.append(f"inactive replication slots keep what it logs on disk: {listed}")
    return tuple(notes)


def doctor_facts(replication: Replication, *, allowed: bool) -> Facts:
    """Facts for the doctor about standbys.

    Args:
        replication: standbys and slots.
        allowed: the configuration allows moves whose lock a standby could prolong.
    """
    names, waits = replication.synchronous_names, replication.commits_wait_for_replay
    return {
        "standbys": ", ".join(standby.name for standby in replication.standbys),
        "listed": ", ".join(_in_words(standby) for standby in replication.standbys),
        "names": names,
        "who_waits": f"commits wait for {names} ({replication.synchronous_commit})"
        if names
        else "no commit waits for them",
        "replay_allowed": waits and allowed,
        "replay_refused": waits and not allowed,
    }


def _in_words(standby: Standby) -> str:
    behind = "" if standby.behind_bytes is None else f", {format_bytes(max(0, standby.behind_bytes))} behind"
    return f"{standby.name} ({standby.sync_state}{behind})"


MIB = 1024 * 1024


def find_full_log(session: ReadSession, key: str, most_mib: int | None, *, login: str) -> str:
    """Why the log takes too much, in words; "" where it does not, or there is no limit.

    Args:
        session: to ask over.
        key: of the configuration that gives the limit.
        most_mib: the limit; None: there is none, and nothing is asked.
        login: of the session.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if most_mib is None:
        return ""
    try:
        ((held,),) = session.rows(query("wal"), doing="looking at the write-ahead log")
    except PrivilegeMissing:
        # A limit that is not watched would be believed in.
        remedy = monitor_remedy(login)
        return f"what pg_wal holds may not be seen ({key}: {most_mib}): {remedy} (which gives away {remedy.gives})"
    return f"pg_wal holds {format_bytes(held)} ({key}: {most_mib})" if held > most_mib * MIB else ""
