"""A whole filegroup to another disk by its files: statements by hand, and the move over the drivers that are here."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.model.clock import SystemClock
from connectors.kit.contract import Connector, LockNotObtained, Paused, PrivilegeMissing, StatementFailed
from connectors.kit.settings import SecretSource
from connectors.model.moves import NoRoute, Route, Step
from connectors.model.observation import Home
from connectors.sqlserver.catalog import File, Volume, disk_of, disk_spaces, homes
from connectors.sqlserver.connector import SqlserverConnector
from connectors.sqlserver.ddl import ServerFeatures
from connectors.sqlserver.file_moves import EMPTY_PAGES, DatabaseCopies, FilePlace, file_route
from connectors.sqlserver.operations import FileStep, file_step_of
from connectors.sqlserver.settings import SqlserverSettings
from tests.contract.asking import bundle_of, run
from tests.labs.sqlserver.instance import Account
from tests.labs.sqlserver.lab import FIRST_PAGES_SOON, Lab, running_lab, wait_until
from tests.labs.sqlserver.world import MOVER, OWNER, SLOW, add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.made import bundle, settings

DISKS = {"slow": "D:\\", "fast": "S:\\"}
STANDARD = ServerFeatures(major=15, edition=2)


def file(number: int, name: str, *, space: str = "HDD", path: str = "", **values: object) -> File:
    """A file of 12,900 pages with 12,801 in use, which is a page more than 100 MB; it grows by 64 MB."""
    plain = File(2, space, 0, number, name, path or f"D:\\{name}.ndf", 12900, -1, 8192, "ONLINE", 12801)
    return replace(plain, **values)  # type: ignore[arg-type]  # fields by name


def found(
    *files: File,
    server: ServerFeatures = STANDARD,
    to_disk: str = "fast",
    replicated: bool = False,
    copies: DatabaseCopies | None = None,
) -> Route | NoRoute:
    """The route of filegroup HDD."""
    moved = bundle(space="slow", size=12801 * 8192)
    own = settings(move_by="filegroup", disks=DISKS)
    place = FilePlace(
        database="a]pp", server=server, replicated=replicated, settings=own, copies=copies or DatabaseCopies()
    )
    return file_route("HDD", moved, to_disk, files, place)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")


def test_the_statements_of_a_filegroup() -> None:
    """A new file for each old one, growing as it does; all are emptied before the first is removed."""
    route = found(file(3, "it's"), file(4, "two", max_size=25600, growth=10, percent_growth=1))
    assert isinstance(route, Route)
    made = f"hotplace_{route.steps[0].sql.split()[3]}"
    assert [step.sql.partition("*/ ")[2] for step in route.steps] == [
        (
            f"ALTER DATABASE [a]]pp] ADD FILE (NAME = [{made}_1], FILENAME = N'S:\\{made}_1.ndf', SIZE = 101MB, "
            "FILEGROWTH = 65536KB) TO FILEGROUP [HDD]"
        ),
        (
            f"ALTER DATABASE [a]]pp] ADD FILE (NAME = [{made}_2], FILENAME = N'S:\\{made}_2.ndf', SIZE = 101MB, "
            "MAXSIZE = 204800KB, FILEGROWTH = 10%) TO FILEGROUP [HDD]"
        ),
        "DBCC SHRINKFILE (N'it''s', EMPTYFILE)",
        "DBCC SHRINKFILE (N'two', EMPTYFILE)",
        "ALTER DATABASE [a]]pp] REMOVE FILE [it's]",
        "ALTER DATABASE [a]]pp] REMOVE FILE [two]",
    ]
    assert [step.pausable for step in route.steps] == [False, False, True, True, False, False]
    assert route.steps[2].resume_sql.partition("*/ ")[2] == "DBCC SHRINKFILE (N'it''s', EMPTYFILE)"
    assert route.online


def test_a_step_says_what_it_does() -> None:
    """Which file it adds, empties or removes, by its plain name."""
    route = found(file(3, "it's]"))
    assert isinstance(route, Route)
    made = f"hotplace_{route.steps[0].sql.split()[3]}_1"
    assert [file_step_of(step) for step in route.steps] == [
        FileStep("add", made, "HDD", "S:\\"),
        FileStep("empty", "it's]"),
        FileStep("remove", "it's]"),
    ]
    other = Step(sql="/* hotplace move 1 step 1 */ DROP INDEX [x] ON [dbo].[t]", purpose="stored before")
    assert file_step_of(other) is None


@pytest.mark.parametrize(
    ("files", "given", "code"),
    [
        ((file(1, "app"),), {}, "primary_file"),
        ((file(3, "f", path="S:\\f.ndf"),), {}, "already_there"),
        ((file(3, "f", read_only=1),), {}, "read_only_space"),
        ((file(3, "f"), file(4, "g", state="OFFLINE")), {}, "file_not_online"),
        ((file(3, "f"),), {"to_disk": "nowhere"}, "no_space"),
        ((file(3, "f"),), {"server": ServerFeatures(major=99, edition=8)}, "no_files"),
        ((file(3, "f", space="OTHER"),), {}, "no_files"),
    ],
)
def test_what_stays(files: tuple[File, ...], given: dict[str, object], code: str) -> None:
    """Pitfalls 27 and others: the primary file is never emptied; Managed Instance places files itself."""
    reason = found(*files, **given)  # type: ignore[arg-type]  # fields by name
    assert isinstance(reason, NoRoute)
    assert (reason.code, bool(reason.sentence)) == (code, True)


def test_pitfall_25_a_folder_has_to_be_on_every_replica() -> None:
    """Pitfall 25: ADD FILE into a folder that a replica has not suspends it, so somebody must say that it has."""
    reason = found(file(3, "f"), replicated=True)
    assert isinstance(reason, NoRoute)
    assert "disks_on_replicas" in reason.sentence


@pytest.mark.parametrize(("major", "allowed"), [(13, False), (14, True)])
def test_pitfall_44_old_versions_suspend_replicas(major: int, allowed: bool) -> None:
    """Pitfall 44: SHRINKFILE on 2012 to 2016 may suspend a replica (KB 3173471), whatever somebody says."""
    own = settings(move_by="filegroup", disks=DISKS, disks_on_replicas=True)
    moved = bundle(space="slow")
    server = ServerFeatures(major=major, edition=3)
    place = FilePlace(database="app", server=server, replicated=True, settings=own)
    answer = file_route("HDD", moved, "fast", [file(3, "f")], place)
    assert isinstance(answer, Route) is allowed


COPIES = [
    (DatabaseCopies(snapshot="before_release"), "snapshots", "before_release"),
    (DatabaseCopies(seen=False), "snapshots_unseen", "VIEW ANY DATABASE"),
    (DatabaseCopies(mirrored=True), "mirror", "disks_on_replicas"),
    (DatabaseCopies(encryption=True), "encryption", "given another key"),
    (DatabaseCopies(encryption=None), "encryption_unseen", "GRANT VIEW SERVER SECURITY STATE"),
]


@pytest.mark.parametrize(("copies", "code", "words"), COPIES, ids=[code for _, code, _ in COPIES])
def test_copies_of_the_database_that_files_matter_to(copies: DatabaseCopies, code: str, words: str) -> None:
    """A snapshot, or one that cannot be seen, keeps every file; a mirror needs the same folder."""
    reason = found(file(3, "f"), copies=copies)
    assert isinstance(reason, NoRoute)
    assert reason.code == code
    assert words in reason.sentence


def test_a_folder_that_log_backups_are_restored_to_is_named() -> None:
    """No view tells of log shipping, so whoever can back up the log is told, and nobody under SIMPLE."""
    shipped = found(file(3, "f"), copies=DatabaseCopies(log_backups=True))
    assert isinstance(shipped, Route)
    assert any("log_shipping_primary_databases" in note for note in shipped.notes)
    plain = found(file(3, "f"))
    assert isinstance(plain, Route)
    assert not any("log shipping" in note for note in plain.notes)


def test_disks_by_the_longest_folder() -> None:
    """A path belongs to the folder that says most of it, without case; a strange one to its own folder."""
    disks = {"any": "/data/", "fast": "/data/FAST/"}
    assert disk_of("/data/fast/x.ndf", disks) == "fast"
    assert disk_of("/data/x.ndf", disks) == "any"
    assert disk_of("E:\\old\\x.ndf", disks) == "E:\\old\\"


def test_pitfall_24_a_filegroup_on_two_disks_lies_where_most_of_it_is() -> None:
    """Pitfall 24: a file on another disk mixes tiers; both disks count what is on them: 10 and 30 pages of 8192."""
    files = [file(3, "a", used_pages=10), file(4, "b", path="S:\\b.ndf", used_pages=30)]
    assert homes(files, DISKS) == {"HDD": "fast"}
    volume = Volume("S:\\", 10**9, 5 * 10**8)
    slow, fast = disk_spaces(files, {4: volume}, DISKS)
    assert (slow.used_bytes, slow.free_bytes) == (81_920, None)
    assert (fast.used_bytes, fast.free_bytes, fast.path) == (245_760, 5 * 10**8, "S:\\")


@pytest.fixture
def lab() -> Iterator[Lab]:
    """An emulated Standard edition of 2019."""
    with running_lab(major=15, engine_edition=2) as running:
        add_table(running.shop, "orders", pages=4000)
        yield running


def connected(lab: Lab, driver: OdbcDriver, folder: Path, account: Account = OWNER) -> SqlserverConnector:
    """A connector that moves whole filegroups."""
    secret = folder / f"{account.name}.secret"
    secret.write_text(account.password)
    return SqlserverConnector(
        SqlserverSettings(
            host="127.0.0.1",
            port=lab.server.port,
            database=lab.shop.name,
            user=account.name,
            password=SecretSource(file=secret),
            driver=driver.path,
            encrypt="no",
            move_by="filegroup",
            disks=DISKS,
        ),
        SystemClock(),
    )


@pytest.fixture
def connector(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> Iterator[Connector]:
    """As db_owner."""
    this = connected(lab, driver, tmp_path)
    yield this
    this.close()


def route_of(connector: Connector, to_disk: str = "fast") -> Route:
    """The route of everything in filegroup hdd."""
    catalog = connector.catalog()
    answer = connector.routes(bundle_of(catalog, "[dbo].[orders]"), to_disk)
    assert isinstance(answer, tuple), answer
    return answer[0]


def pages_on(lab: Lab, mount: str) -> int:
    """Pages in use in the files of filegroup hdd on that disk, from the model itself."""
    group = lab.shop.storage.filegroup_named(SLOW)
    assert group is not None
    return sum(f.used for f in lab.shop.storage.files_of(group.space_id) if f.path.startswith(mount))


def test_there_and_back(lab: Lab, connector: Connector) -> None:
    """Everything in the filegroup is one bundle; all 4500 pages are on the other disk, and back by the undo."""
    moved = bundle_of(connector.catalog(), "[dbo].[orders]")
    assert set(moved.unit_keys) == {"[dbo].[orders]", "[dbo].[orders].[ix_orders]"}
    assert moved.space == "slow"
    route = route_of(connector)
    run(connector, route)
    seen = connector.inspect(route)
    assert (seen.home, seen.leftovers, seen.paused, seen.on_disk) == (Home.TARGET, (), False, True)
    assert (pages_on(lab, "D:"), pages_on(lab, "S:")) == (0, 4500)
    assert bundle_of(connector.catalog(), "[dbo].[orders]").space == "fast"
    run(connector, route, undo=True)
    seen = connector.inspect(route)
    assert (seen.home, seen.leftovers) == (Home.SOURCE, ())
    assert (pages_on(lab, "D:"), pages_on(lab, "S:")) == (4500, 0)


def test_reads_are_counted_by_disk(lab: Lab, connector: Connector) -> None:
    """The figures of a sample bear the names of the disks, as the catalog's spaces do."""
    table = next(iter(lab.shop.tables.values()))
    lab.instance.read_randomly(lab.shop, table.base.partitions[0], 10)
    spaces = connector.sample().spaces
    assert spaces is not None
    assert dict(zip(spaces.name, spaces.reads.tolist(), strict=True)) == {"slow": 10.0, "fast": 0.0}
    assert [space.name for space in connector.catalog().spaces] == ["slow", "fast"]


def test_a_database_snapshot_is_seen_before_anything_is_emptied(lab: Lab, connector: Connector) -> None:
    """When it is planned; and once more before it is sent, for one that was made since."""
    route = route_of(connector)
    lab.shop.database_snapshots.append("before_release")
    answer = connector.routes(bundle_of(connector.catalog(), "[dbo].[orders]"), "fast")
    assert isinstance(answer, NoRoute)
    assert answer.code == "snapshots"
    with pytest.raises(StatementFailed, match="before_release"):
        run(connector, route)
    assert (pages_on(lab, "D:"), pages_on(lab, "S:")) == (4500, 0)
    lab.shop.database_snapshots.clear()
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET


def test_a_mirror_that_began_since_it_was_planned_stops_it(lab: Lab, connector: Connector) -> None:
    """Before anything is sent: no file was added, none emptied."""
    route = route_of(connector)
    files = set(lab.shop.storage.files)
    lab.shop.mirrored = True
    with pytest.raises(StatementFailed, match="mirror"):
        run(connector, route)
    assert set(lab.shop.storage.files) == files
    assert (pages_on(lab, "D:"), pages_on(lab, "S:")) == (4500, 0)


@pytest.mark.parametrize("state", [2, 4, 5])
def test_a_change_of_encryption_is_seen_before_anything_is_emptied(lab: Lab, connector: Connector, state: int) -> None:
    """When it is planned and once more before it is sent; what is encrypted to its end moves."""
    route = route_of(connector)
    lab.shop.encryption_state = state
    answer = connector.routes(bundle_of(connector.catalog(), "[dbo].[orders]"), "fast")
    assert isinstance(answer, NoRoute)
    assert answer.code == "encryption"
    with pytest.raises(StatementFailed, match="no file can be removed"):
        run(connector, route)
    assert (pages_on(lab, "D:"), pages_on(lab, "S:")) == (4500, 0)
    lab.shop.encryption_state = 3
    assert route_of(connector)


def test_a_change_of_encryption_that_cannot_be_seen_is_not_taken_for_none(driver: OdbcDriver, tmp_path: Path) -> None:
    """Since 2022 that takes a right of its own, which only a login of an encrypted database is asked for."""
    with running_lab(major=16) as lab:
        add_table(lab.shop, "orders", pages=400)
        this = connected(lab, driver, tmp_path)
        bundle = bundle_of(this.catalog(), "[dbo].[orders]")
        assert not isinstance(this.routes(bundle, "fast"), NoRoute)
        lab.shop.encryption_state = 3
        answer = this.routes(bundle, "fast")
        assert isinstance(answer, NoRoute)
        assert answer.code == "encryption_unseen"
        sees = replace(OWNER, server_rights=OWNER.server_rights | {"VIEW SERVER SECURITY STATE"})
        lab.instance.accounts[OWNER.name] = sees
        other = connected(lab, driver, tmp_path)
        assert not isinstance(other.routes(bundle, "fast"), NoRoute)
        other.close()
        this.close()


def test_snapshots_that_cannot_be_seen_are_not_taken_for_none(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """VIEW ANY DATABASE was taken from public: sys.databases shows this database alone."""
    blind = replace(OWNER, name="blind", denied=frozenset({"VIEW ANY DATABASE"}))
    lab.instance.accounts[blind.name] = blind
    lab.shop.database_snapshots.append("hidden")
    this = connected(lab, driver, tmp_path, blind)
    answer = this.routes(bundle_of(this.catalog(), "[dbo].[orders]"), "fast")
    this.close()
    assert isinstance(answer, NoRoute)
    assert answer.code == "snapshots_unseen"


def half_way(lab: Lab, connector: Connector) -> Route:
    """The route, stopped while the file was being emptied."""
    route = route_of(connector)
    emptying = next(step for step in route.steps if step.pausable)
    before = pages_on(lab, "D:")
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])

        def hold() -> None:
            wait_until(lambda: pages_on(lab, "D:") < before - EMPTY_PAGES, "more than a new file's own pages has moved")
            progress.append(mover.progress())
            assert mover.pause()

        progress: list[object] = []
        holding = threading.Thread(target=hold)
        with lab.slow(FIRST_PAGES_SOON):
            holding.start()
            with pytest.raises(Paused):
                mover.execute(emptying)
            holding.join()
        assert progress[0] is not None
    return route


def test_an_emptied_file_is_held_and_goes_on(lab: Lab, connector: Connector) -> None:
    """What has moved stays moved; another session sends the same statement and the rest, and nothing twice."""
    route = half_way(lab, connector)
    seen = connector.inspect(route)
    assert (seen.home, seen.paused) == (Home.SPLIT, True)
    assert 0 < pages_on(lab, "D:") < 4500
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])  # the file is there: nothing is sent
        mover.resume(route.steps[1])
        mover.execute(route.steps[2])
        mover.execute(route.steps[2])  # the file is gone: nothing is sent
    assert connector.inspect(route).home is Home.TARGET
    assert pages_on(lab, "S:") == 4500


def test_a_held_one_is_given_up(lab: Lab, connector: Connector) -> None:
    """The new file is emptied and removed: everything is where it was."""
    route = half_way(lab, connector)
    left = connector.inspect(route).leftovers
    assert left == route.tidy_steps
    with connector.open_mover() as mover:
        mover.prepare(replace(route, steps=left))
        for step in left:
            mover.execute(step)
    seen = connector.inspect(route)
    assert (seen.home, seen.leftovers, seen.paused) == (Home.SOURCE, (), False)
    assert pages_on(lab, "D:") == 4500


def test_an_added_file_alone_is_only_a_leftover(lab: Lab, connector: Connector) -> None:
    """Stopped after its first statement nothing has moved, so nothing is held and the empty file goes."""
    route = route_of(connector)
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])
    seen = connector.inspect(route)
    assert (seen.home, seen.paused) == (Home.SOURCE, False)
    assert seen.leftovers == route.tidy_steps


def test_another_file_refuses_the_plan(lab: Lab, connector: Connector) -> None:
    """A file that somebody added since would stay behind on the slow disk."""
    route = route_of(connector)
    group = lab.shop.storage.filegroup_named(SLOW)
    assert group is not None
    lab.shop.add_file("late", group.space_id, next(iter(lab.shop.storage.files.values())).volume, pages=64)
    with connector.open_mover() as mover, pytest.raises(StatementFailed, match="late"):
        mover.prepare(route)


def test_pitfall_26_a_reader_of_a_snapshot_is_not_waited_for(lab: Lab, connector: Connector) -> None:
    """Pitfall 26: before 2022 SHRINKFILE would wait for it without end, so it is not sent while there is one."""
    route = route_of(connector)
    lab.instance.snapshots[40] = 600
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])
        with pytest.raises(LockNotObtained, match="600 s"):
            mover.execute(route.steps[1])
        lab.instance.snapshots.clear()
        mover.execute(route.steps[1])
    assert pages_on(lab, "D:") == 0


def test_pitfall_26_since_2022_it_gives_way(driver: OdbcDriver, tmp_path: Path) -> None:
    """Pitfall 26: at low priority it ends with error 49516, which is tried again later."""
    with running_lab(major=16) as lab:
        add_table(lab.shop, "orders", pages=400)
        lab.instance.minute = 0.2
        connector = connected(lab, driver, tmp_path)
        route = route_of(connector)
        lab.instance.snapshots[40] = 600
        with connector.open_mover() as mover:
            mover.prepare(route)
            mover.execute(route.steps[0])
            with pytest.raises(LockNotObtained):
                mover.execute(route.steps[1])
        connector.close()


def test_shrinking_needs_the_owner(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """A login that may alter tables only is told what it lacks, and the doctor says it before."""
    connector = connected(lab, driver, tmp_path, MOVER)
    route = route_of(connector)
    with connector.open_mover() as mover:
        mover.prepare(route)
        mover.execute(route.steps[0])
        with pytest.raises(PrivilegeMissing):
            mover.execute(route.steps[1])
    assert "ALTER ROLE db_owner ADD MEMBER [mover];" in [f.remedy for f in connector.doctor()]
    connector.close()
