"""Between IBM's driver and Derby: one instance a connection, two threads, one a direction.

Towards Derby it changes who the client says it is, swallows what Derby does not know and turns SQL for Db2 into SQL for
Derby. Towards the driver it mends the answer to the login, and gives outcomes the codes that Db2 would. Everything else
passes untouched.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

from tests.labs.db2 import refusals
from tests.labs.db2.documented import View
from tests.labs.db2.sessions import Session, User
from tests.labs.db2.statements import Statements, hostile_call, is_ours
from tests.labs.db2.tables.statements import Change, Tables
from tests.labs.db2.text import Rewriter
from tests.labs.db2.views.projection import SCHEMA, Projection
from tests.labs.db2.wire.calls import call_text
from tests.labs.db2.wire.dss import CHAINED, OBJECT, SAME_CORRELATION, Code, Dss, obj, objects, read_dss
from tests.labs.db2.wire.requester import exactly
from tests.labs.db2.wire.sqlca import Sqlca, read_sqlca, sqlcard
from tests.labs.db2.world import World

LEASE = "HOTPLACE.LEASE"
HARMLESS = f"LOCK TABLE {SCHEMA}.NOTHING IN SHARE MODE"
IMPOSSIBLE = "REFUSED BY THE LAB"  # Derby refuses it too, so that its answers come in the order of a refusal
CODE_PAGES = bytes.fromhex("0006119C04B8 0006119D04B0 0006119E04B8")
DERBY_PRODUCT = b"DNC10140"
BIG = ">"  # Derby's byte order
# Derby's SQLSTATE -> what Db2 says instead; the tokens stay
TRANSLATED = {
    "42X05": (-204, "42704"), "42Y07": (-204, "42704"), "42X04": (-206, "42703"), "42X03": (-203, "42702"),
    "42X01": (-104, "42601"), "42X02": (-104, "42601"), "42Y03": (-440, "42884"), "23505": (-803, "23505"),
    "23513": (-545, "23513"),
}  # fmt: skip
LOCK_TIMEOUT = -911
LOCKED = {"40XL1": "68", "40XL2": "68", "X0X02": "68", "40001": "2"}


class Shared:
    """What all connections of one server share."""

    def __init__(self, world: World, views: dict[str, View], projection: Projection, users: dict[str, User]) -> None:
        self.world = world
        self.views = views
        self.projection = projection
        self.users = users
        self.connections: dict[int, Shim] = {}
        self.statements = Statements(world, self.force)
        self.tables = Tables(world)
        self.sent: list[str] = []  # what the lab itself executed, for tests
        self.looks = 0  # queries of rebalances, for tests

    def drop_tables(self, *names: tuple[str, str]) -> None:
        """Take tables that statements made out of Derby: those, or all."""
        made = [name for name, table in self.world.tables.items() if table.made is not None]
        for name in names or made:
            if name in made:
                self.projection.forget(*name)

    def force(self, handle: int) -> None:
        """FORCE APPLICATION: whatever it runs ends, and the connection with it."""
        if handle in self.connections:
            self.connections[handle].session.forced.set()


class Shim:
    """One connection."""

    def __init__(self, handle: int, client: socket.socket, derby: socket.socket, shared: Shared) -> None:
        self.session = Session(handle, User("nobody", ""), shared.world.behaviour.lock_seconds, lost=self._lost)
        for end in (client, derby):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client = client
        self._derby = derby
        self._shared = shared
        self._commands: dict[int, Dss] = {}  # correlation -> the command whose objects follow
        self._prepared: dict[bytes, str] = {}  # section -> the lab's own statement
        self._changes: dict[bytes, Change] = {}  # section -> a statement about a table of a schema of the lab
        self._doing: dict[int, Change] = {}  # correlation -> the one that Derby carries out
        self._answers: dict[int, Sqlca] = {}  # correlation -> outcome that the lab gives
        self._last = False

    def start(self) -> None:
        """Begin to serve."""
        for source, handle, sink in (
            (self._client, self._to_derby, self._derby),
            (self._derby, self._to_client, self._client),
        ):
            threading.Thread(target=self._pump, args=(source, handle, sink), daemon=True).start()

    def cut(self) -> None:
        """End it in both directions, at once."""
        for end in (self._client, self._derby):
            with suppress(OSError):  # it may be closed already
                end.shutdown(socket.SHUT_RDWR)

    def _lost(self) -> bool:
        """Whether the client is gone, as a server notices that looks from time to time (DB2CHECKCLIENTINTERVAL)."""
        if not self._shared.world.behaviour.looks_for_clients:
            return False
        try:
            return not self._client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _pump(self, source: socket.socket, handle: Callable[[Dss], Iterator[Dss]], sink: socket.socket) -> None:
        try:
            while True:
                for going in handle(read_dss(lambda count: exactly(source, count))):
                    sink.sendall(going.wire())
        except (EOFError, OSError, refusals.Refusal):  # the last: forced off while the server was silent
            self.session.forced.set()
        finally:
            self.cut()
            self._unlock()
            self._shared.connections.pop(self.session.handle, None)
            self._shared.world.wire.pop(self.session.handle, None)

    def _to_derby(self, dss: Dss) -> Iterator[Dss]:
        self.session.wait(lambda: not self._shared.world.behaviour.silent, float("inf"))
        if dss.kind == OBJECT:
            yield from self._object_of(self._commands.get(dss.correlation), dss)
            return
        self._commands[dss.correlation] = dss
        if dss.code == Code.ACCRDB:
            # Derby answers SYNTAXRM 14 to a client that calls itself SQL12014, as the driver does.
            yield dss.with_body(_replaced(dss.body, {Code.PRDID: DERBY_PRODUCT}))
        elif dss.code == Code.EXCSQLSET:
            # SET CLIENT and SET CURRENT LOCALE come with a parameter (210E) to which Derby answers SYNTAXRM 1D.
            self._swallow(dss)
        elif dss.code == Code.CNTQRY and self._shared.world.behaviour.cut_between_blocks:
            self.cut()
        elif dss.code == Code.EXCSQLSTT and _procedure(dss):
            pass  # its parameters follow; Derby has no such procedure
        else:
            self._note(dss)
            yield dss

    def _note(self, dss: Dss) -> None:
        """Logins, executions of the lab's own statements, ends of transactions."""
        self._doing.pop(dss.correlation, None)  # of a command that came after one that failed
        if dss.code == Code.SECCHK:
            self._login(dss)
        elif dss.code == Code.EXCSQLSTT and _section(dss) in self._prepared:
            self._execute(dss.correlation, self._prepared[_section(dss)])
        elif dss.code in (Code.EXCSQLSTT, Code.OPNQRY) and _section(dss) in self._changes:
            self._lock(dss.correlation, self._changes[_section(dss)])
        elif dss.code == Code.RDBCMM:
            self._commit()
        elif dss.code == Code.RDBRLLBCK:
            self.session.pending.clear()
            self._unlock()

    def _lock(self, correlation: int, change: Change) -> None:
        """Wait for its lock of the table; Derby does it all the same where that is not to be had."""
        world, handle = self._shared.world, self.session.handle

        def locked() -> bool:
            with world.lock:
                return world.lock_table(handle, change.table, change.mode)

        if self.session.wait(locked, self.session.lock_seconds):
            self._doing[correlation] = change
        else:
            self._answers[correlation] = refusals.lock_timeout().answer

    def _unlock(self) -> None:
        with self._shared.world.lock:
            self._shared.world.unlock(self.session.handle)

    def _login(self, dss: Dss) -> None:
        parameters = dict(objects(next(objects(dss.body))[1]))
        name = parameters.get(Code.USRID, b"").decode()
        self.session.user = self._shared.users.get(name.lower(), User(name, ""))

    def _object_of(self, command: Dss | None, dss: Dss) -> Iterator[Dss]:
        if command is not None and dss.code == Code.SQLDTA and _procedure(command):
            self._call(_procedure(command), dss)
        elif command is None or dss.code != Code.SQLSTT:
            yield dss
        elif command.code == Code.EXCSQLSET:
            self._swallow(dss)
        elif command.code in (Code.PRPSQLSTT, Code.EXCSQLIMM):
            text = self._derbys(command, _statement(dss.body))
            yield dss.with_body(_with_statement(text))
        else:
            yield dss

    def _swallow(self, dss: Dss) -> None:
        """Answer in Derby's place when its last object has come."""
        if not dss.flags & SAME_CORRELATION:
            self._client.sendall(Dss(OBJECT, 0, dss.correlation, sqlcard(None, BIG)).wire())

    def _call(self, procedure: str, dss: Dss) -> None:
        """The driver takes CALL apart; its comments never leave the client."""
        try:
            text = call_text(procedure, dss.body)
            self._may_end(text)
            self._shared.statements.check(text)
            self._execute(dss.correlation, text)
        except refusals.Refusal as refusal:
            self._answers[dss.correlation] = refusal.answer
            self._last = refusal.hangs_up
        flags = dss.flags & CHAINED
        answer = sqlcard(self._answers.pop(dss.correlation, None), BIG)
        self._client.sendall(Dss(OBJECT, flags, dss.correlation, answer).wire())
        if self._last:
            self.cut()

    def _derbys(self, command: Dss, text: str) -> str:
        """What Derby is given instead."""
        self._prepared.pop(_section(command), None)
        self._changes.pop(_section(command), None)
        try:
            self._may_end(text)
            self._resolve(text)
            about_table = self._about_table(command, text)
            if about_table:
                return about_table
            if is_ours(text):
                self._shared.statements.check(text)
                if command.code == Code.EXCSQLIMM:
                    self._execute(command.correlation, text)
                else:
                    self._prepared[_section(command)] = text
                return HARMLESS
            return self._query(text)
        except refusals.Refusal as refusal:
            self._answers[command.correlation] = refusal.answer
            self._last = refusal.hangs_up
            return IMPOSSIBLE

    def _about_table(self, command: Dss, text: str) -> str:
        """What Derby is given of a statement about a table of a schema of the lab; "" where it is another."""
        with self._shared.world.lock:
            change = self._shared.tables.understand(self.session.user, text)
        if change is None:
            return ""
        if command.code == Code.EXCSQLIMM:
            self._lock(command.correlation, change)
        else:
            self._changes[_section(command)] = change
        return change.derby or HARMLESS

    def _may_end(self, text: str) -> None:
        """Whether a test wants this connection to end here.

        Raises:
            Refusal: with the code that it wants.
        """
        wanted = self._shared.world.behaviour
        code, wanted.end_with = wanted.end_with, 0
        if text.startswith(("ALTER", "CALL SYSPROC")):
            code, wanted.end_next_change_with = code or wanted.end_next_change_with, 0
        if code:
            raise refusals.ended(code)

    def _resolve(self, text: str) -> None:
        """Whether each function that is named without a schema is the server's.

        Raises:
            Refusal: SQL0438N, which a hostile function of the user's schema raises.
        """
        reached = self._shared.world.behaviour.hostile_functions and self.session.own_schema_in_path
        if reached and (name := hostile_call(text)):
            raise refusals.Refusal(-438, "75000", f"{self.session.user.authid}.{name} of another user was called")

    def _query(self, text: str) -> str:
        """A statement of Derby's, over a catalog that is up to date."""
        rewriter = Rewriter(text, self._shared.views, self.session.handle)
        found = rewriter.text()
        user = self.session.user
        for name in sorted(rewriter.asked):
            view = self._shared.views[name]
            if name == "SYSTOOLS.ADMIN_MOVE_TABLE" and not self._shared.world.protocol_exists:
                raise refusals.undefined(name)
            if view.plain in user.may_not_use - self._shared.world.executable[user.authid]:
                raise _not_for(user, view)
        self._shared.projection.refresh(rewriter.asked)
        self._shared.looks += "MON_GET_REBALANCE_STATUS" in rewriter.asked
        # An uncommitted read takes an IN lock of the table, with which an exclusive lock agrees; Derby would wait.
        return found.replace(LEASE, f"{SCHEMA}.NOTHING") if found.rstrip().endswith("WITH UR") else found

    def _execute(self, correlation: int, text: str) -> None:
        self.session.running = text
        if not text.startswith("SET CURRENT PATH"):  # each session says it first; it changes nothing of the database
            self._shared.sent.append(text)
        try:
            self._shared.statements.execute(self.session, text)
        except refusals.Refusal as refusal:
            self._answers[correlation] = refusal.answer
            self._last = refusal.hangs_up
            if refusal.answer.code == LOCK_TIMEOUT:
                self.session.pending.clear()
        finally:
            self.session.running = ""

    def _commit(self) -> None:
        with self._shared.world.lock:
            for action in self.session.pending:
                action()
            self.session.pending.clear()
            self._shared.world.unlock(self.session.handle)
            self._shared.world.touch()

    def _to_client(self, dss: Dss) -> Iterator[Dss]:
        if dss.code == Code.ACCRDBRM:
            # With a code page for double-byte characters too, or the driver says "Parser Invalid Value". Derby's
            # product id stays: the driver knows it, and crashes over results of a server that claims to be Db2.
            kept = _replaced(dss.body, {Code.TYPDEFOVR: CODE_PAGES, Code.PKGDFTCST: None, Code.USRID: None})
            yield dss.with_body(kept).unchained()
        elif dss.code == Code.QRYDTA and self._shared.world.behaviour.cut_mid_answer:
            self._client.sendall(dss.wire()[: len(dss.wire()) // 2])
            self.cut()
        elif dss.code in (Code.OPNQRYRM, Code.QRYDSC) and dss.correlation in self._doing:
            self._done(self._doing.pop(dss.correlation), 0)
            yield dss
        elif dss.code == Code.SQLCARD:
            yield dss.with_body(self._outcome(dss))
            if self._last:
                self.cut()
        elif dss.code != Code.SESSION_DATA:
            yield dss

    def _done(self, change: Change, rows: int) -> None:
        world = self._shared.world
        with world.lock:
            before = world.read_by_sessions()
            change.done(rows)
            world.count_for(self.session.handle, self.session.user.authid, before)
            world.touch()

    def _outcome(self, dss: Dss) -> bytes:
        """The lab's own answer, or Derby's with Db2's code."""
        if dss.correlation in self._answers:
            return sqlcard(self._answers.pop(dss.correlation), BIG)
        said = read_sqlca(next(objects(dss.body))[1], BIG)
        change = self._doing.pop(dss.correlation, None)
        if said is None or said.code >= 0:
            if change is not None:
                self._done(change, 0 if said is None else said.rows)
            return dss.body
        if said.state in LOCKED:
            return sqlcard(Sqlca(LOCK_TIMEOUT, "40001", LOCKED[said.state]), BIG)
        code, state = TRANSLATED.get(said.state, (said.code, said.state))
        return sqlcard(Sqlca(code, state, said.message.rpartition("\x14")[0]), BIG)


def _not_for(user: User, view: View) -> refusals.Refusal:
    """A function without EXECUTE is not among those that a name could mean; a view is known and refused."""
    if view.function:
        return refusals.no_routine(view.plain, "FUNCTION")
    return refusals.not_allowed(user.authid, "SELECT", view.name)


def _section(dss: Dss) -> bytes:
    """Name of the section that a command is about."""
    return dict(objects(next(objects(dss.body))[1])).get(Code.PKGNAMCSN, b"")


def _procedure(command: Dss) -> str:
    """The procedure that a command calls; "" if it calls none."""
    return dict(objects(next(objects(command.body))[1])).get(Code.PRCNAM, b"").decode()


def _replaced(body: bytes, parameters: dict[Code, bytes | None]) -> bytes:
    """The command with other parameters; None: without it."""
    command, inside = next(objects(body))
    kept: list[tuple[int, bytes]] = []
    for code, old in objects(inside):
        new = parameters[Code(code)] if code in parameters else old
        if new is not None:
            kept.append((code, new))
    return obj(command, *(obj(code, value) for code, value in kept))


def _statement(body: bytes) -> str:
    """The text in a SQLSTT: null flag and length of the mixed form, then the single-byte one."""
    inside = next(objects(body))[1]
    at = 0 if inside[0] == 0 else 1
    (length,) = struct.unpack_from(">I", inside, at + 1)
    return inside[at + 5 : at + 5 + length].decode()


def _with_statement(text: str) -> bytes:
    raw = text.encode()
    return obj(Code.SQLSTT, b"\x00", struct.pack(">I", len(raw)), raw, b"\xff")
