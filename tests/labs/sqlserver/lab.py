"""The emulated server, running: what tests start and disturb."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.labs.sqlserver.instance import Account, Connected, Database, Instance
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.session import SqlserverBackend
from tests.labs.sqlserver.world import FAST, make_instance
from tests.labs.tds.certificate import tls_context
from tests.labs.tds.drivers import OdbcDriver
from tests.labs.tds.login import Encryption
from tests.labs.tds.server import TdsServer, running_server
from tests.waiting import wait_for

WAIT_SECONDS = 60.0  # for what comes at once on an idle machine, the start of a program included
SLOW_BUILD_SECONDS = 30.0  # enough to be caught in the middle, however slow the machine is
FIRST_PAGES_SOON = 10.0  # as well, and the first twentieth is there before long
SOMEBODY = 40  # a session that is not over the wire


@dataclass(frozen=True, slots=True)
class Lab:
    """An emulated server with the database ``shop``."""

    instance: Instance
    shop: Database
    server: TdsServer

    def string(self, driver: OdbcDriver, account: Account) -> str:
        """A connection string for that driver and account."""
        return driver.string(self.server.port, account.name, account.password, self.shop.name)

    @contextmanager
    def held(self, table: Table, mode: str = "X", *, since_seconds: float = 0.0) -> Iterator[None]:
        """Somebody else holds a lock of that mode on the table inside, in a transaction that old."""
        with self.instance.lock:
            table.lock_holders[SOMEBODY] = mode
            self.instance.transactions[SOMEBODY] = since_seconds
        try:
            yield
        finally:
            with self.instance.lock:
                del table.lock_holders[SOMEBODY]
                self.instance.transactions.pop(SOMEBODY, None)

    @contextmanager
    def full(self, filegroup: str = FAST) -> Iterator[None]:
        """The filegroup has no room left inside."""
        group = self.shop.storage.filegroup_named(filegroup)
        assert group is not None, f"no filegroup {filegroup}"
        files = self.shop.storage.files_of(group.space_id)
        before = [(file.max_size, file.growth, file.size) for file in files]
        for file in files:
            file.max_size, file.growth, file.size = file.used, 0, file.used
        try:
            yield
        finally:
            for file, (max_size, growth, size) in zip(files, before, strict=True):
                file.max_size, file.growth, file.size = max_size, growth, max(size, file.used)

    @contextmanager
    def stopped_at(self, text: str) -> Iterator[None]:
        """The next statement that has this text stands still inside; wait for ``instance.stopped`` to see it there."""
        self.instance.stopped.clear()
        self.instance.stop_at = text
        try:
            yield
        finally:
            self.instance.stop_at = ""

    @contextmanager
    def slow(self, seconds: float = SLOW_BUILD_SECONDS) -> Iterator[None]:
        """Every copy takes that long inside."""
        before, self.instance.build_seconds = self.instance.build_seconds, seconds
        try:
            yield
        finally:
            self.instance.build_seconds = before

    def running(self, sql: str) -> Connected:
        """The session that runs exactly this, waiting for it to begin.

        Raises:
            AssertionError: none does.
        """
        found: list[Connected] = []

        def look() -> bool:
            with self.instance.lock:
                sessions = list(self.instance.sessions.values())
            found[:] = [s for s in sessions if s.request is not None and s.request.sql == sql]
            return bool(found)

        wait_until(look, "the statement runs")
        return found[0]


def wait_until(true: Callable[[], bool], what: str, seconds: float = WAIT_SECONDS) -> None:
    """As ``tests.waiting.wait_for``."""
    wait_for(true, what, seconds, every=0.005)


@contextmanager
def running_lab(*, major: int = 16, engine_edition: int = 3, certificate: Path | None = None) -> Iterator[Lab]:
    """A lab of its own, stopped at the end; with a certificate it encrypts for whoever asks."""
    instance, shop = make_instance(major=major, engine_edition=engine_edition)
    encryption = Encryption.FULL if certificate else Encryption.NOT_SUPPORTED
    tls = tls_context(certificate) if certificate else None
    with running_server(SqlserverBackend(instance), encryption=encryption, tls=tls) as server:
        yield Lab(instance, shop, server)
