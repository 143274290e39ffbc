"""Carries out approved moves: begins their groups in order and leaves each begun move to its runner.

Only this package calls ``Connector.open_mover``, and only for moves that the ledger holds as approved. The ledger
records every statement before it is sent, so ``reconcile`` can find out from the catalog what an interruption left.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence

from agent.config.models import DatabaseConfig
from agent.ledger.errors import Spoiled
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, first_dropped, group_of, left_worse
from agent.model.states import ACTIONABLE, IN_PLACE, TO_BEGIN, UNFINISHED, MoveState
from agent.moving.attempt import Start
from agent.moving.gate import Gate
from agent.moving.leftovers import Leftover, Leftovers
from agent.moving.precheck import FactReader, PrecheckRefusal, precheck_group
from agent.moving.progress import ExecutorHooks, MoveEvent, OperatorRequests
from agent.moving.reconciler import HalfDone, Reconciler, in_words
from agent.moving.runner import MoveRunner, Services
from agent.moving.transition_rules import LONG_REST_SECONDS, drop_unbegun
from agent.planning.allowance import Admission
from connectors.kit.contract import Clock, Connector
from policies.model.moves import MoveReason

LOOK_AGAIN_SECONDS = 5.0  # at a move that the server still works on
MOST_PASSED = 20  # groups that wait for sessions: behind so many of them none is looked at
LOOK_AT_HELD_SECONDS = 60.0  # a held statement may be ended at the engine without hotplace


class Executor:
    """Carries out the approved moves of one database. Call ``run_approved`` from one thread, ``stop`` from any."""

    def __init__(
        self,
        database: DatabaseConfig,
        connector: Connector,
        ledger: Ledger,
        clock: Clock,
        hooks: ExecutorHooks,
    ) -> None:
        """Wire it up.

        Args:
            database: its configuration.
            connector: over the moving account; reads here are the executor's own, not the sampler's.
            ledger: the journal.
            clock: time.
            hooks: callbacks to the caller.
        """
        self._database = database
        self._connector = connector
        self._ledger = ledger
        self._clock = clock
        self._stopping = threading.Event()
        self._requests = OperatorRequests(database.name, ledger, clock)
        self._gate = Gate(database, ledger, clock, self._requests, self._stopping)
        self._leftovers = Leftovers(database.name, ledger, clock)
        self._facts = FactReader(database, connector, ledger, clock, self._gate)
        self._half_done = HalfDone(database.name, ledger, clock)
        self._reconciler = Reconciler(connector, ledger, self._leftovers, self._half_done, self._tell, hooks.hold_lease)
        self._hooks = hooks
        self._runner = MoveRunner(
            Services(
                database=database, connector=connector, ledger=ledger, clock=clock, hooks=hooks,
                requests=self._requests, gate=self._gate, leftovers=self._leftovers, reconciler=self._reconciler,
                facts=self._facts,
            )
        )  # fmt: skip
        self._look_at = -math.inf  # when unfinished moves are worth a look, by the monotonic clock
        self._spoiled: dict[int, tuple[float, str]] = {}  # proposal -> when it is worth another look, why not before

    # -- what there is to do -------------------------------------------------------------------------------------

    def has_work(self) -> bool:
        """Whether ``run_approved`` has anything to do. Reads the ledger alone, and notes why the next move waits."""
        # Before the moves: what ended moves have left behind has to be removed even if no move was approved since.
        if self._leftovers.due() or self._half_done.due():
            return True
        rows = self._ledger.moves.rows(database=self._database.name, states=ACTIONABLE)
        self._keep_spoiled(rows)
        rows = [row for row in self._sound(rows) if not self._waits_for_a_person(row)]
        if rows:
            self._gate.foreground.look(self._connector)
        unfinished = [row for row in rows if row.state in UNFINISHED]
        if any(row.state is MoveState.PAUSED and self._may_go_on(row) for row in unfinished):
            return True
        if unfinished or not rows:
            self._gate.note_waiting({})
            return bool(unfinished) and self._clock.monotonic() >= self._look_at
        return self._may_begin(rows)

    def _may_begin(self, rows: Sequence[MoveRow]) -> bool:
        """Whether a group is worth a turn: the first one, or one that may pass those that wait for sessions."""
        passed = _Passed()
        self._gate.begin_round()
        for row in _ways_back_first(rows):
            if len(passed.groups) > MOST_PASSED:
                return False
            if passed.holds(row):
                continue
            group = self._group(row)
            if first_dropped(group) is not None:
                return True
            if not passed.lets_pass(group):
                continue
            if self._gate.decision(group).answer is not Admission.WAIT:
                return True
            if not self._gate.may_be_passed(group):
                return False
            passed.groups.append(group)
        return False

    def run_approved(self) -> tuple[MoveRow, ...]:
        """Carry out every approved move of this database in order; returns the rows as they ended.

        Paused moves are resumed first, unless they must stay paused. Moves run one at a time: none begins while another
        is unfinished. A move that waits holds up those after it, because the order of a plan matters; only one that
        waits for sessions that hold its own objects is passed by those that need nothing of it.

        Raises:
            LeaseHeld: another agent acts on this database now, and reconciles what runs.
            ConnectorError: the engine did not answer before anything was started.
            Untrusted: the ledger does not agree with itself; nothing is sent. A proposal that rows of the chain spoil
                is left out (``spoiled``), and what the engine still does for it is waited for.
        """
        # The catalog before the ledger: an agent that crashed wrote no result, so a RUNNING row proves nothing.
        unfinished = [row for row in self.reconcile() if row.state in UNFINISHED]
        left_out = self._at_engine()
        self._reconciler.tidy_later()
        done = []
        # A move that is still UNKNOWN may be running in the server: to resume another now could run two copies at once.
        if not left_out and all(row.state is MoveState.PAUSED for row in unfinished):
            done = [self._runner.resume(row) for row in unfinished if self._may_go_on(row)]
            unfinished = [row for row in unfinished if self._ledger.moves.row(row.id).state in UNFINISHED]
        if not unfinished and not left_out:
            done += self._begin_approved()
            self._reconciler.end_half_done()
        self._look_again(self._ledger.moves.rows(database=self._database.name, states=UNFINISHED))
        return tuple(done)

    def reconcile(self) -> tuple[MoveRow, ...]:
        """Bring every move that was interrupted into a state that agrees with the catalog.

        Raises:
            ConnectorError: the engine did not answer; the moves stay as they are.
            Untrusted: the ledger does not agree with itself.
        """
        rows = self._ledger.moves.rows(database=self._database.name, states=UNFINISHED)
        sound = (row for row in self._sound(rows) if not self._spoils(row, self._require_interrupted))
        return tuple(self._runner.reconcile(row) for row in sound)

    def _require_interrupted(self, row: MoveRow) -> None:
        """Raise if the ledger cannot be trusted about an interrupted move; its approval may have expired meanwhile."""
        if row.state is MoveState.PRECHECK:
            self._ledger.moves.require_state(row)  # it goes back to APPROVED, whatever the catalog says
        else:
            self._ledger.moves.require_trust(row, begins=False)

    @property
    def foreground_seconds(self) -> float:
        """Mean of a read of sessions at the last look; NaN: not known, or no limit is set."""
        return self._gate.foreground.seconds

    def leftovers(self) -> tuple[Leftover, ...]:
        """What interrupted moves left in the database and could not yet be removed."""
        return self._leftovers.rows()

    def half_done(self) -> tuple[int, ...]:
        """Moves that wait with something begun, or ended so."""
        return self._half_done.rows()

    def stop(self) -> None:
        """Begin no further move and cancel the running statement; the engine rolls it back."""
        self._stopping.set()

    def hold_back(self, *, on: bool) -> None:
        """Begin no further move while this is on; the one under way goes on to its end."""
        self._gate.held_back = on

    # -- beginning -----------------------------------------------------------------------------------------------

    def _begin_approved(self) -> list[MoveRow]:
        self._ledger.proposals.expire_due()
        done: list[MoveRow] = []
        spoiled: set[int] = set()  # proposals: what comes after a move that is left out may need it
        passed = _Passed()
        self._gate.begin_round()
        rows = self._ledger.moves.rows(database=self._database.name, states={MoveState.APPROVED})
        for row in _ways_back_first(self._sound(rows)):
            if self._stopping.is_set() or self._gate.held_back or len(passed.groups) > MOST_PASSED:
                break
            if passed.holds(row):
                continue
            if self._ledger.moves.row(row.id).state is not MoveState.APPROVED:
                continue  # cancelled meanwhile, or skipped with its group
            if self._waits_for_a_person(row):
                continue  # it may take days, and what comes after is checked for room anyway
            group = self._group(row)
            without = first_dropped(group)
            if without is not None:
                done += self._skip(group, f"move {without.move.ordinal} ({without.move.key}) is {without.state}")
                if left_worse(self._group(row)):
                    break  # it is taken back before anything else begins
                continue
            if not passed.lets_pass(group):
                continue
            decision = self._gate.decision(group)
            if decision.answer is Admission.WAIT and self._gate.may_be_passed(group):
                passed.groups.append(group)
                continue
            if decision.answer is Admission.WAIT:
                break  # not continue: a later group may need the room that this one frees
            if decision.answer is Admission.NEVER:
                done += self._skip(group, decision.sentence)
                continue
            if self._is_in_vain(row):
                if not self._gate.may_be_passed(group):
                    break
                passed.groups.append(group)
                continue
            if row.proposal_id in spoiled or self._spoils(row, self._ledger.moves.require_trust):
                spoiled.add(row.proposal_id)
                continue  # what a forger did to one proposal holds up no other
            ended = self._run(row, group)
            done += ended
            # None: while its facts were read, someone else has ended what was to begin.
            if not ended or ended[-1].state in ACTIONABLE or left_worse(self._group(row)):
                break
        return done

    @property
    def spoiled(self) -> tuple[str, ...]:
        """Why proposals are left out whose rows in the audit chain no honest writer wrote."""
        return tuple(sentence for _, sentence in self._spoiled.values())

    def _sound(self, rows: Iterable[MoveRow]) -> list[MoveRow]:
        """The rows, without those of proposals that are spoiled and were looked at lately."""
        now = self._clock.monotonic()
        return [row for row in rows if self._spoiled.get(row.proposal_id, (now, ""))[0] <= now]

    def _at_engine(self) -> list[MoveRow]:
        """Unfinished moves of spoiled proposals for which the engine works, or holds something."""
        rows = self._ledger.moves.rows(database=self._database.name, states=ACTIONABLE)
        self._keep_spoiled(rows)
        begun = [row for row in rows if row.state in UNFINISHED]
        # What the engine does with a unit of a sound move is that move's, whatever forged rows say of another one.
        sound = {
            key for row in begun if row.proposal_id not in self._spoiled for key in row.move.route.bundle.unit_keys
        }
        left_out = [
            row
            for row in begun
            if row.proposal_id in self._spoiled and sound.isdisjoint(row.move.route.bundle.unit_keys)
        ]
        looks = ((row, self._reconciler.inspect(row)) for row in left_out)
        return [row for row, found in looks if found.running or found.paused]

    def _keep_spoiled(self, rows: Iterable[MoveRow]) -> None:
        """Forget spoiled proposals with nothing left to do: these are the rows of what is."""
        self._spoiled = {each: self._spoiled[each] for each in {row.proposal_id for row in rows} & self._spoiled.keys()}

    def _spoils(self, row: MoveRow, require: Callable[[MoveRow], None]) -> bool:
        """Whether the ledger cannot be trusted about a move's proposal; each statement asks so too.

        Args:
            row: the move.
            require: raises ``Spoiled`` or ``Untrusted`` where it cannot.

        Raises:
            Untrusted: it cannot be trusted at all.
        """
        self._spoiled.pop(row.proposal_id, None)
        try:
            require(row)
        except Spoiled as error:
            # What is in its chain does not mend itself: to judge it again every second would only cost reads.
            self._spoiled[row.proposal_id] = self._clock.monotonic() + LONG_REST_SECONDS, str(error)
            return True
        return False

    def _group(self, row: MoveRow) -> list[MoveRow]:
        """The moves of the same group with their present states, the move itself among them."""
        return group_of(self._ledger.moves.rows(proposal_id=row.proposal_id), row)

    def _waits_for_a_person(self, row: MoveRow) -> bool:
        """Whether a person has yet to carry out a move of its group that comes before it."""
        if row.state is not MoveState.APPROVED:
            return False
        handed = self._ledger.moves.rows(proposal_id=row.proposal_id, states={MoveState.HANDED_OVER})
        if not handed:
            return False
        before = {each.id for each in self._group(row) if each.move.ordinal < row.move.ordinal}
        return any(each.id in before for each in handed)

    def _is_in_vain(self, row: MoveRow) -> bool:
        """Whether a try would only wait for a lock, or fail because of a leftover; if so, put the move off."""
        blockers, foreground = self._reconciler.blockers(row), self._gate.foreground
        foreground.look(self._connector)
        unknown = "how long reads of sessions take is looked at before it begins" if foreground.unknown else ""
        why = self._leftovers.sentence(row.id) or foreground.crowded or in_words(blockers) or unknown
        if why:
            self._gate.put_off(row, why)
        elif blockers:
            self._tell(row, f"{'; '.join(blocker.sentence for blocker in blockers)}: expected to give way")
        return bool(why)

    def _skip(self, group: Sequence[MoveRow], reason: str) -> list[MoveRow]:
        """End the moves of a group that have not begun."""
        ended = []
        reason = reason if len(group) == 1 else _of_all(group, reason)
        for row in (self._ledger.moves.row(each.id) for each in group):
            request = self._requests.of(row.id)
            if row.state not in TO_BEGIN:
                continue
            step = drop_unbegun(row.state, self._gate.orders(request), reason)
            ended.append(self._to(row, step.state, step.reason))
            if step.reply:
                self._requests.answer_to(request, step.reply)
        return ended

    def _run(self, row: MoveRow, group: Sequence[MoveRow]) -> list[MoveRow]:
        """Begin the next move of a group if every remaining one can be carried out; returns the rows that ended."""
        row = self._to(row, MoveState.PRECHECK, "comparing the approval with the facts of now")
        # Closed before the first statement: a plan made while the space is emptied would else bring other units there.
        if row.move.reason == MoveReason.DRAIN:
            self._ledger.arrivals.close(
                row.database, row.move.from_space, who=f"proposal {row.proposal_id}", reason="it is being drained"
            )
        group = [row if each.id == row.id else each for each in group]
        left = _to_begin(group)
        answer = precheck_group(left, self._facts.read(left))
        # A way back is not skipped for want of room: its group has left sessions worse off, and nothing else begins
        # before it is done.
        if isinstance(answer, PrecheckRefusal) and row.move.is_way_back and answer.may_pass:
            row = self._to(row, MoveState.APPROVED, answer.sentence)
            self._gate.put_off(row, answer.sentence, LONG_REST_SECONDS)
            return [row]
        if isinstance(answer, PrecheckRefusal):
            return self._skip(group, answer.sentence)
        row = self._to(row, MoveState.RUNNING, f"{len(row.move.route.steps)} statement(s) by {row.move.route.name}")
        return [self._runner.run(row, Start())]

    # -- small parts ---------------------------------------------------------------------------------------------

    def _may_go_on(self, row: MoveRow) -> bool:
        return self._gate.may_go_on(row, again=self._clock.monotonic() >= self._look_at)

    def _look_again(self, unfinished: list[MoveRow]) -> None:
        """When unfinished moves are worth asking the engine about again."""
        held = all(row.state is MoveState.PAUSED for row in unfinished)
        pause = LOOK_AT_HELD_SECONDS if held else LOOK_AGAIN_SECONDS
        self._look_at = self._clock.monotonic() + pause if unfinished else -math.inf

    def _to(self, row: MoveRow, state: MoveState, reason: str) -> MoveRow:
        return self._reconciler.to(row, state, reason)

    def _tell(self, row: MoveRow, sentence: str) -> None:
        if self._hooks.listener is not None:
            self._hooks.listener(MoveEvent(move=row, sentence=sentence))


class _Passed:
    """Groups that wait for sessions, and which others may begin before them."""

    def __init__(self) -> None:
        self.groups: list[list[MoveRow]] = []

    def holds(self, row: MoveRow) -> bool:
        """Whether the move is one of theirs."""
        return any(each.id == row.id for group in self.groups for each in group)

    def lets_pass(self, group: list[MoveRow]) -> bool:
        """Whether a later group needs nothing of those that wait; if it does it waits with them."""
        free = all(_needs_nothing_of(each, group) for each in self.groups)
        if not free:
            self.groups.append(group)
        return free


def _needs_nothing_of(earlier: Sequence[MoveRow], later: Sequence[MoveRow]) -> bool:
    """Whether a group may begin before an earlier one: other objects, no room that the earlier one frees or needs."""
    units = {key for row in earlier for key in (row.move.key, *row.move.route.bundle.unit_keys)}
    if any(not units.isdisjoint((row.move.key, *row.move.route.bundle.unit_keys)) for row in later):
        return False
    targets = {row.move.to_space for row in later}
    if not targets.isdisjoint(row.move.from_space for row in earlier):
        return False
    # The moves of one proposal all fit in the end; those of two proposals may need the same room.
    same = earlier[0].proposal_id == later[0].proposal_id
    return same or targets.isdisjoint(row.move.to_space for row in earlier)


def _ways_back_first(rows: Iterable[MoveRow]) -> list[MoveRow]:
    """Approved moves in the order in which they may begin: what takes a group back comes before anything else."""
    # sorted is stable, so within both parts the order of the plan stands.
    return sorted(rows, key=lambda row: not row.move.is_way_back)


def _to_begin(group: Iterable[MoveRow]) -> list[MoveRow]:
    """The moves of a group that have not begun."""
    return [row for row in group if row.state in TO_BEGIN]


def _of_all(group: Sequence[MoveRow], reason: str) -> str:
    """The reason that each move of a group gets when the group is not begun or not completed."""
    ordinals = f"{group[0].move.ordinal} to {group[-1].move.ordinal}"
    if not any(row.state in IN_PLACE for row in group):
        return f"moves {ordinals} are one group, and none of them was moved: {reason}"
    return f"moves {ordinals} are one group, which cannot be completed: {reason}"
