"""Promise 5: no move starts outside its window or is predicted to end outside it; byte and time caps hold.

Each seed is another site: windows, time zone, caps, whether moves can be held, and how wrong the expected copy rate is.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, SentRow
from agent.ledger.state_names import WAITING_MOVES
from agent.model.approvals import NONE, Conditions
from agent.model.states import MoveState
from agent.moving.precheck import FactReader, PrecheckFacts
from agent.planning.allowance import limits_of
from agent.sampling.experience import learn
from connectors.simulated.connector import SimulatedConnector
from policies.model.calendar import Calendar
from tests.simulation.site import MINUTE, Site

SEEDS = 12
HOURS = 12
STEP_SECONDS = 30.0
OBEYED_WITHIN = timedelta(seconds=2)
GB = 10**9
FASTER = "sequential_read: 1us"  # than any device is: moves are said to be shorter than they are, and overrun


def random_site(folder: Path, random_: random.Random) -> Site:
    """A few short windows within the hours that the approval lasts, and now and then caps."""
    folder.mkdir()
    windows = []
    for _ in range(random_.randint(2, 5)):
        start = random_.randrange(25, HOURS * 60 - 10)
        end = start + random_.choice([1, 2, 3, 5])
        windows.append(f'"mon-tue {start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}"')
    lines = [f"windows: [{', '.join(windows)}]", f"time_zone: {random_.choice(['UTC', 'Africa/Abidjan'])}"]
    if random_.random() < 0.5:
        lines.append(f"window_bytes: {random_.choice([2, 6, 7])} GB")
    if random_.random() < 0.3:
        lines.append("window_copy_time: 3min")
    rate = random_.choice(["20 MB/s", "50 MB/s", "400 MB/s"])
    believed = FASTER if rate == "400 MB/s" else ""
    return Site(folder, windows="\n".join(lines), policy=f"copy_rate: {rate}", fast_tier=believed, slow_tier=believed)


def offline_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the engine have no way that can be held."""
    online = SimulatedConnector.routes
    monkeypatch.setattr(SimulatedConnector, "routes", lambda *a: r[1:] if isinstance(r := online(*a), tuple) else r)


def live(site: Site, seen: Counter[str], *, planned_for_windows: bool) -> tuple[list[SentRow], list[MoveState]]:
    """Twelve hours of an agent with everything approved; all statements, and the moves as they ended.

    Where the plan was not made for the windows, they were configured after the approval.
    """
    since, windows = site.clock.now(), site.windows
    site.windows = windows if planned_for_windows else ""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
    site.windows = windows
    with site.agent() as (watch, ledger):
        while site.clock.now() < since + timedelta(hours=HOURS):
            site.clock.sleep(next_step(site))
            watch.act()
            check_waiting(ledger, seen)
        return ledger.moves.sent_statements("sim", since), [row.state for row in ledger.moves.rows(database="sim")]


def next_step(site: Site) -> float:
    """Half a minute where it is open; elsewhere at most to the next opening, and some instants in between."""
    now = site.clock.now()
    opens = site.config.database().calendar.opens_at(now)
    return max(STEP_SECONDS, min(1200.0, (opens - now).total_seconds())) if opens else 1200.0


def check_waiting(ledger: Ledger, seen: Counter[str]) -> None:
    """What is approved and has not begun says why."""
    approved = ledger.moves.rows(database="sim", states={MoveState.APPROVED})
    unfinished = ledger.moves.rows(database="sim", states={MoveState.PAUSED, MoveState.UNKNOWN})
    if approved and not unfinished:
        waiting = ledger.state.load_document("sim", WAITING_MOVES)
        assert waiting is not None
        assert str(approved[0].id) in waiting[1]
        seen["waited"] += 1


def check_windows(site: Site, sent: list[SentRow], seen: Counter[str]) -> None:
    """Every statement that begins or goes on does so in a window; what was to end in it was predicted to."""
    database = site.config.database()
    limits = limits_of(database)
    calendar = limits.calendar
    for at, row in enumerate(sent):
        step = row.move.route.steps[0]
        if row.sql not in (step.sql, step.resume_sql):
            continue
        assert calendar.contains(row.intended_at), row
        assert row.ended_at is not None
        closes = calendar.closes_at(row.intended_at)
        assert closes is not None
        if row.sql == step.sql:
            rates = learn([before for before in sent[:at] if before.move_id != row.move_id])
            predicted = timedelta(seconds=database.copy_safety * rates.seconds(row.move))
            fits = row.intended_at + predicted <= closes
            assert fits or (step.pausable and predicted > longest(calendar, row)), row
        if row.ended_at > closes + OBEYED_WITHIN:
            assert not step.pausable, row
            seen["overran"] += 1
        seen["held"] += row.state == "paused"


def longest(calendar: Calendar, row: SentRow) -> timedelta:
    """The longest window of the week."""
    openings = calendar.openings(row.intended_at - timedelta(days=7), row.intended_at + timedelta(days=7))
    return max(opening.end - opening.start for opening in openings)


def check_caps(site: Site, sent: list[SentRow], seen: Counter[str]) -> None:
    """Bytes of the moves that began in one window, and were done in it, are within its cap."""
    cap = site.config.database().window_bytes
    if cap is None:
        return
    began: Counter[object] = Counter()
    for row in sent:
        if row.sql == row.move.route.steps[0].sql and row.state == "done":
            began[site.config.database().calendar.opening_at(row.intended_at)] += row.move.size_bytes
    assert all(total <= cap for total in began.values())
    seen["capped windows"] += len(began)


def test_windows_hold_on_every_seed(tmp_path: Path) -> None:
    """Over all seeds; and among them moves waited, were held, overran where nothing can hold them, and were capped."""
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        random_ = random.Random(seed)
        site = random_site(tmp_path / str(seed), random_)
        with pytest.MonkeyPatch.context() as patched:
            if random_.random() < 0.5:
                offline_only(patched)
            sent, ended = live(site, seen, planned_for_windows=seed % 2 == 0)
        check_windows(site, sent, seen)
        check_caps(site, sent, seen)
        seen.update(ended)
    assert min(seen[what] for what in ("waited", "held", "overran", "capped windows", MoveState.PLACED)) > 0, seen


def test_a_move_that_overran_says_so(tmp_path: Path) -> None:
    """It is let finish, never rolled back, and its reason names the window."""
    site = Site(
        tmp_path, windows='windows: ["mon 00:30-00:31"]', policy="copy_rate: 400 MB/s, maximum_moves: 1",
        fast_tier=FASTER, slow_tier=FASTER,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patched, site.agent() as (watch, ledger):
        offline_only(patched)
        site.approved(watch, ledger)
        site.clock.sleep(650.0)  # ten seconds before its end
        (row,) = watch.act()
        assert row.state is MoveState.PLACED
        assert "ended after its window" in row.reason


def test_a_move_that_no_window_can_hold_is_skipped_with_the_reason(tmp_path: Path) -> None:
    """The configuration changed after the approval: the sentence names both times."""
    site = Site(tmp_path, policy="maximum_moves: 1")
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
    site.windows = 'windows: ["mon 00:30-00:31"]\nwindow_copy_time: 10s'
    with site.agent() as (watch, _):
        (row,) = watch.act()
        assert row.state is MoveState.SKIPPED
        assert "a window may copy for 10 s" in row.reason


@pytest.mark.parametrize("of_approval", [False, True], ids=["of the database", "of the approval"])
def test_no_look_carries_a_move_out_of_its_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_approval: bool
) -> None:
    """A catalog takes minutes between the decision and the first statement: the move waits for the next window."""
    windows = ("00:00-01:00", "02:00-03:00")
    site = Site(tmp_path, windows="" if of_approval else f"windows: {list(windows)}")
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger, Conditions(windows=windows, time_zone="UTC") if of_approval else NONE)
        site.clock.sleep((site.clock.now().replace(hour=0, minute=50) - site.clock.now()).total_seconds())
        read = FactReader.read

        def read_slowly(reader: FactReader, rows: Sequence[MoveRow]) -> list[PrecheckFacts]:
            site.clock.sleep(15 * MINUTE)
            return read(reader, rows)

        monkeypatch.setattr(FactReader, "read", read_slowly)
        watch.act()
        rows = ledger.moves.rows(proposal_id=number)
        assert not ledger.moves.steps(rows[0].id)
        assert rows[0].reason.startswith("its window closed before its first statement")
        assert {row.state for row in rows} == {MoveState.APPROVED}
        site.clock.sleep(3600.0)
        watch.act()
        assert ledger.moves.rows(proposal_id=number)[0].state is MoveState.PLACED


def test_nothing_begins_under_a_configuration_that_has_been_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reload while the facts are read, with other windows perhaps: the move waits for who has them."""
    site = Site(tmp_path, policy="maximum_moves: 1")
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        read = FactReader.read

        def read_while_reloaded(reader: FactReader, rows: Sequence[MoveRow]) -> list[PrecheckFacts]:
            watch.acting.hold_back(on=True)
            return read(reader, rows)

        with monkeypatch.context() as patched:
            patched.setattr(FactReader, "read", read_while_reloaded)
            watch.act()
        (row,) = ledger.moves.rows(proposal_id=number)
        assert not ledger.moves.steps(row.id)
        assert row.state is MoveState.APPROVED
        assert row.reason.startswith("another configuration came before its first statement")
        watch.acting.hold_back(on=False)
        site.clock.sleep(3600.0)
        watch.act()
        assert ledger.moves.row(row.id).state is MoveState.PLACED
