"""Moves by hand on a simulated IBM i and z/OS, from a plan by file and approval to the outcome, by commands alone.

The files are held whole (``golden/``); next to each kind of statement ``sources.md`` names IBM's page. What carries
them out, ``by_hand_worlds``, knows the syntax of those pages and refuses the rest.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

import pytest

from connectors.db2.plan_only import session
from tests.cli.site import Finished, Site
from tests.db2.by_hand_worlds import FAST, SLOW, Held, Refused, SimulatedI, SimulatedZ, Space, statements
from tests.db2.hand_made import GIB

GOLDEN = Path(__file__).parent / "golden"


def site_of(folder: Path, platform: str, spaces: tuple[str, str], **connection: Any) -> Site:
    """A folder with a configuration that decides at once."""
    (folder / "pw").write_text("x")
    (folder / "pw").chmod(0o600)
    connection |= {"platform": platform, "host": "h", "dbname": "APP", "user": "U",
                   "password": {"file": str(folder / "pw")}}  # fmt: skip
    tiers = [
        {"name": name, "kind": name, "spaces": [space]} for name, space in zip(("ssd", "hdd"), spaces, strict=True)
    ]
    database = {
        "name": "app", "engine": "db2", "connection": connection, "tiers": tiers, "sample_every": "0.2s",
        "settle": "0.2s", "policy": {"minimum_history": "0s", "regret": 0},
    }  # fmt: skip
    site = Site(folder, database)
    site.values["dry_run"] = True  # nothing of it needs a session that could write
    site.write()
    return site


@pytest.fixture
def power(monkeypatch: pytest.MonkeyPatch) -> SimulatedI:
    """Two hot tables and a hot index on a hard disk, and a large cold table."""
    world = SimulatedI(
        Held("ORDERS", 40_000, size=6 * GIB), Held("ITEMS", 15_000, size=4 * GIB), Held("OLD", 0, size=20 * GIB),
        Held("ORDERS_IX", 9_000, table="ORDERS"),
    )  # fmt: skip
    monkeypatch.setattr(session, "open_i", lambda _: (world, "DB2/400 SQL", "07.05"))
    return world


@pytest.fixture
def on_i(power: SimulatedI, tmp_path: Path) -> Site:
    """Of that system."""
    assert power.held
    return site_of(tmp_path, "i", ("ASP1 SSD", "ASP1 HDD"))


def fixed(text: str) -> str:
    """A script without what differs from run to run: times, digests, figures of demand."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "TIME", text)
    text = re.sub(r"digest [0-9a-f]{12}", "digest DIGEST", text)
    return re.sub(r"(saves|costs) -?[0-9.,e+-]+ waiting", r"\1 N waiting", text)


def check_golden(name: str, text: str) -> None:
    """Compare with the stored file."""
    assert fixed(text) == (GOLDEN / name).read_text(encoding="utf-8")


def propose(site: Site, *more: str) -> tuple[dict[str, Any], str]:
    """A stored proposal, as --json has the plan, and the file of it."""
    path = site.folder / "moves.sql"
    document = site.good("plan", "--observe", "0.4", "--propose", "--script", str(path), *more, "--json").document
    assert document["script"] == str(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return document, path.read_text(encoding="utf-8")


def states(site: Site) -> list[tuple[str, str]]:
    """Unit and state of each move, in the order of their numbers."""
    moves = site.good("history", "--json").document["moves"]
    return [(move["unit"], move["state"]) for move in sorted(moves, key=lambda each: each["id"])]


def test_a_life_on_i(on_i: Site, power: SimulatedI) -> None:
    """Planned with its value, written, approved, run by a person, seen, measured; nothing was sent by hotplace."""
    document, text = propose(on_i)
    check_golden("i.sql", text)
    assert [move["route"] for move in document["moves"]] == ["by hand"] * 3
    assert all(move["wait_saved_per_hour_seconds"] > 0 and move["statements"] == [] for move in document["moves"])
    assert document["moves"][0]["by_hand"]["statements"] == ["CL: CHGLF FILE(SHOP/ORDERS_IX) UNIT(*SSD);"]
    number = document["proposal"]["id"]
    approved = on_i.good("approve", str(number), "--yes")
    assert f"hotplace show {number} --sql prints the file" in approved.out
    assert {state for _, state in states(on_i)} == {"handed_over"}
    assert on_i.good("show", str(number), "--sql").out == text
    power.run(text)
    on_i.good("run", "--once")
    assert {state for _, state in states(on_i)} == {"handed_over"}  # a preference is no place: the balance runs
    power.balance()
    on_i.good("run", "--once")
    on_i.good("run", "--once")
    assert {state for _, state in states(on_i)} <= {"settling", "kept"}
    assert on_i.good("history", "--audit", "--json").out.count("a person carried it out") == 3
    assert on_i.good("audit", "verify").out.startswith("all ")
    assert all(sent.startswith("SELECT") for sent in power.sent)


@pytest.mark.parametrize("busy", ["balancing", "tracing", "not shown"])
def test_a_balance_or_a_trace_stops_the_file_before_anything(busy: str, on_i: Site, power: SimulatedI) -> None:
    """The check is a statement: what runs in the ASP, or cannot be seen, ends the file, and nothing is preferred."""
    _, text = propose(on_i)
    power.balancing, power.tracing, power.shows_asps = busy == "balancing", busy == "tracing", busy != "not shown"
    with pytest.raises(Refused, match="75001: ASP 1 is balanced or traced, or cannot be seen"):
        power.run(text)
    assert not any(each.preferred for each in power.held.values())
    power.balancing, power.tracing, power.shows_asps = False, False, True
    power.run(text)
    assert power.balancing


def test_others_are_planned_around_what_a_person_carries_out(on_i: Site, power: SimulatedI) -> None:
    """While a move is handed over, new ones of other objects are stored, and what it will take is not given away."""
    for name in ("ITEMS", "ORDERS_IX"):
        power.held[name].random_reads = 0
    document, first = propose(on_i)
    assert [move["unit"] for move in document["moves"]] == ["SHOP.ORDERS"]
    on_i.good("approve", str(document["proposal"]["id"]), "--yes")
    power.held["ITEMS"].random_reads = 90_000
    on_i.database["tiers"][0]["spaces"] = [{"name": "ASP1 SSD", "capacity": "10 GiB"}]
    on_i.write()
    tight = on_i.good("plan", "--observe", "1.2", "--propose")
    assert "a person is to bring it to ASP1 SSD (move 1), which hotplace looks for until" in re.sub(
        r"\s+", " ", tight.out
    )
    assert "there is nothing to propose" in tight.out  # 4 GiB beside the 6 GiB of ORDERS are more than its head-room
    on_i.database["tiers"][0]["spaces"] = [{"name": "ASP1 SSD", "capacity": "20 GiB"}]
    on_i.write()
    (on_i.folder / "moves.sql").unlink()
    document, second = propose(on_i)
    assert [move["unit"] for move in document["moves"]] == ["SHOP.ITEMS"]
    on_i.good("approve", str(document["proposal"]["id"]), "--yes")
    for script in (first, second):
        power.run(script)
        power.balance()
    for _ in range(2):
        on_i.good("run", "--once")
    assert {state for _, state in states(on_i)} <= {"settling", "kept"}


def test_each_asp_has_its_own_media(on_i: Site, power: SimulatedI, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ASPs in one tier: what is hot goes to the SSD of its own one; with one medium there, the reason is said."""
    look = SimulatedI.look

    def two_asps(self: SimulatedI) -> None:
        look(self)
        units = self.rows["QSYS2.SYSDISKSTAT"]
        roomier = {"UNIT_STORAGE_CAPACITY": 900 * GIB, "UNIT_SPACE_AVAILABLE": 900 * GIB}
        self.rows["QSYS2.SYSDISKSTAT"] = [
            *units, *({**unit, **roomier, "ASP_NUMBER": 2, "UNIT_NUMBER": 10 + unit["UNIT_NUMBER"]} for unit in units),
            {**units[1], "ASP_NUMBER": 3, "UNIT_NUMBER": 30},
        ]  # fmt: skip
        self.rows["QSYS2.SYSPARTITIONDISK"] = [
            {**row, "ASP_NUMBER": {"ITEMS": 2, "OLD": 3}.get(row["TABLE_NAME"], 1)}
            for row in self.rows["QSYS2.SYSPARTITIONDISK"]
        ]

    monkeypatch.setattr(SimulatedI, "look", two_asps)
    power.held["OLD"].random_reads = 30_000
    on_i.values["databases"][0]["tiers"] = [
        {"name": "ssd", "kind": "ssd", "spaces": ["ASP1 SSD", "ASP2 SSD"]},
        {"name": "hdd", "kind": "hdd", "spaces": ["ASP1 HDD", "ASP2 HDD", "ASP3 HDD"]},
    ]
    on_i.write()
    document, text = propose(on_i)
    assert {(move["unit"], move["to_space"]) for move in document["moves"]} == {
        ("SHOP.ORDERS", "ASP1 SSD"), ("index SHOP.ORDERS_IX", "ASP1 SSD"), ("SHOP.ITEMS", "ASP2 SSD"),
    }  # fmt: skip
    assert text.count("CL: STRASPBAL TYPE(*MP)") == 2
    assert "units stay in ASP3, and ASP3 HDD is its only space in any tier" in on_i.good("explain", "SHOP.OLD").out


def test_a_file_is_not_overwritten(on_i: Site) -> None:
    """Said before anything is watched; and where nothing is by hand, or proposed, no file comes."""
    path = on_i.folder / "mine.sql"
    path.write_text("mine")
    done = on_i.run("plan", "--observe", "60", "--script", str(path))
    assert (done.code, path.read_text()) == (6, "mine")
    assert "exists already, and is not overwritten" in done.err
    nowhere = on_i.run("plan", "--observe", "0.4", "--script", str(on_i.folder / "no" / "x.sql"))
    assert "cannot be written" in nowhere.err


def test_nothing_by_hand_is_an_error(tmp_path: Path) -> None:
    """On an engine whose moves hotplace carries out, and in a plan without moves: no file, and nothing is stored."""
    site, path = Site(tmp_path), tmp_path / "x.sql"
    done = site.run("plan", "--observe", "0.3", "--propose", "--script", str(path))
    assert "hotplace carries out every move of this itself" in done.err
    assert (done.code, path.exists()) == (6, False)
    assert site.good("proposals", "--json").document["proposals"] == []
    done = site.run("plan", "--mode", "capacity", "--script", str(path))
    assert path.exists() is False
    assert done.code == 6


def test_pins_are_by_hand(on_i: Site, power: SimulatedI) -> None:
    """A pin is planned like any other move, and so is its way back."""
    on_i.good("pin", "SHOP.OLD", "must")
    document, text = propose(on_i, "--mode", "preference")
    assert [(move["unit"], move["reason"]) for move in document["moves"]] == [("SHOP.OLD", "pin")]
    assert 'ALTER TABLE "SHOP"."OLD" ALTER UNIT SSD;' in statements_of(text)
    on_i.good("approve", str(document["proposal"]["id"]), "--yes")
    power.run(text)
    power.balance()
    for _ in range(2):
        on_i.good("run", "--once")
    back = str(on_i.good("undo", "1", "--json").document["proposal"])
    on_i.good("approve", back, "--yes")
    script = on_i.good("show", back, "--sql").out
    assert 'ALTER TABLE "SHOP"."OLD" ALTER UNIT ANY;' in statements_of(script)
    power.run(script)
    power.balance()
    for _ in range(2):
        on_i.good("run", "--once")
    assert dict(states(on_i))["SHOP.OLD"] in {"settling", "kept", "undone"}
    assert power.held["OLD"].unit == SLOW


def test_a_drain_is_by_hand(on_i: Site, power: SimulatedI) -> None:
    """All of a medium, which the balancer empties once nothing prefers it."""
    power.held["OLD"].unit, power.held["OLD"].preferred = FAST, True
    power.look()
    document, text = propose(on_i, "--mode", "drain", "--space", "ASP1 SSD")
    assert [move["unit"] for move in document["moves"]] == ["SHOP.OLD"]
    power.run(text)
    power.balance()
    assert power.held["OLD"].unit == SLOW


def statements_of(text: str) -> list[str]:
    """The statements of a script, each with its semicolon."""
    return [f"{each};" for each in statements(text)]


@pytest.fixture
def mainframe(monkeypatch: pytest.MonkeyPatch) -> SimulatedZ:
    """Spaces of each kind, and indexes, on a group of hard disks."""
    world = SimulatedZ(
        Space("SHOPDB", "ORDERS", "SGHDD", "R", 1), Space("SHOPDB", "ORDERS", "SGHDD", "R", 2),
        Space("SHOPDB", "GROWS", "SGHDD", "G", 1), Space("SHOPDB", "GROWS", "SGHDD", "G", 2),
        Space("SHOPDB", "LOBS", "SGHDD", "O"), Space("SHOPDB", "PLAIN", "SGHDD", " "),
        Space("SHOPDB", "ORDIX", "SGHDD", index=("SHOP", "ORDERS_BY_DAY")),
        Space("SHOPDB", "PARTIX", "SGHDD", partition=1, index=("SHOP", "PARTS")),
    )  # fmt: skip
    monkeypatch.setattr(session, "open_zos", lambda _: (world, "DB2", "12.01"))
    return world


def on_zos(folder: Path) -> Site:
    """Of that system."""
    site = site_of(folder, "zos", ("SGSSD", "SGHDD"), storage_groups=["SGSSD"])
    site.database["tiers"][0]["spaces"] = [{"name": "SGSSD", "capacity": "100 GiB"}]
    site.write()
    return site


def test_a_life_on_zos(mainframe: SimulatedZ, tmp_path: Path) -> None:
    """Nothing is ranked there, so what is known to be hot is pinned: each kind of space and index by its own REORG."""
    site = on_zos(tmp_path)
    for pattern in ("SHOPDB.*", "index SHOP.*"):
        site.good("pin", pattern, "must")
    document, text = propose(site, "--mode", "preference")
    check_golden("zos.sql", text)
    assert len(document["moves"]) == 7  # partitions that come as a space grows go together
    site.good("approve", str(document["proposal"]["id"]), "--yes")
    mainframe.run(text)
    assert {each.group for each in mainframe.spaces} == {"SGSSD"}
    assert not any(each.stopped for each in mainframe.spaces)
    for _ in range(2):
        site.good("run", "--once")
    assert {state for _, state in states(site)} <= {"settling", "kept"}
    assert all(sent.startswith("SELECT") for sent in mainframe.sent)


def test_modes_of_zos_are_by_hand(mainframe: SimulatedZ, tmp_path: Path) -> None:
    """What the page on the ASP Balancer says: fill among the groups of a tier, and a group that is emptied."""
    site = on_zos(tmp_path)
    groups = [{"name": name, "capacity": "20 GiB"} for name in ("SGHDD", "SGMORE")]
    site.database["tiers"][1]["spaces"] = groups
    site.database["connection"]["storage_groups"] = ["SGSSD", "SGMORE"]
    site.write()
    evened = site.good("plan", "--mode", "capacity", "--json").document["moves"]
    assert {(move["to_space"], move["route"]) for move in evened} == {("SGMORE", "by hand")}
    document, text = propose(site, "--mode", "drain", "--space", "SGHDD")
    assert len(document["moves"]) == 7
    mainframe.run(text)
    assert "SGHDD" not in {each.group for each in mainframe.spaces}


def test_an_alter_of_a_space_that_is_not_stopped_is_refused(mainframe: SimulatedZ) -> None:
    """The double holds what IBM says of -626: the script without its -STOP fails there."""
    with pytest.raises(Refused, match="-626"):
        mainframe.run('ALTER TABLESPACE "SHOPDB"."LOBS" USING STOGROUP "SGSSD";')
    with pytest.raises(Refused, match="does not take that"):
        mainframe.run(
            "CALL SYSPROC.DSNUTILU('HOTPLACE', 'NO', 'TEMPLATE A DSN(&US.) UNIT(SYSALLDA) DISP(NEW,CATLG,CATLG) "
            "REORG TABLESPACE SHOPDB.LOBS SHRLEVEL REFERENCE COPYDDN(A) SORTDEVT SYSALLDA', ?);"
        )


def test_what_zos_does_not_show_is_not_observed_here(mainframe: SimulatedZ, tmp_path: Path) -> None:
    """No counter of z/OS is read, so more history would not help: the reason says so."""
    assert mainframe.spaces
    done: Finished = on_zos(tmp_path).good("plan", "--observe", "0.4")
    assert "not observed here" in done.out
    assert "not enough history" not in done.out
    assert "nothing was watched yet" not in done.out
    site = on_zos(tmp_path)
    site.database["tiers"] = [{"name": "hdd", "spaces": ["SGHDD"]}]
    site.write()
    sized = site.good("sizing", "--tier", "ssd", "--size", "10GiB").out
    assert "how much it would serve is not known" in sized
    assert "nothing is ranked: pin what you know to be hot" in sized


HOSTILE = 'A"; DROP TABLE "X\n; CL: DLTLIB LIB(SHOP);\n--'


def test_no_name_becomes_a_statement(on_i: Site, power: SimulatedI) -> None:
    """A table with line feeds, quotation marks and semicolons in its name stands in the file as a comment."""
    power.held = {"ORDERS": power.held["ORDERS"], HOSTILE: Held(HOSTILE, 50_000, size=GIB)}
    power.look()
    document, text = propose(on_i)
    assert len(document["moves"]) == 2
    check, *others = statements_of(text)
    assert check.startswith("BEGIN IF NOT EXISTS (SELECT 1 FROM QSYS2.ASP_INFO ")
    assert others == [
        'ALTER TABLE "SHOP"."ORDERS" ALTER UNIT SSD;',
        "CL: STRASPBAL TYPE(*MP) ASP(1) SUBTYPE(*CALC) TIMLMT(120) PRIORITY(*LOW);",
    ]
    assert "not to be run as it stands" in text
    starts = ("--", "BEGIN IF", "ALTER TABLE", "CL: STRASP")
    assert not [line for line in text.split("\n") if line and not line.startswith(starts)]


def test_no_name_of_zos_becomes_a_statement(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Indexes and storage groups with such names: all statements of a move are comments, its -STOP too."""
    world = SimulatedZ(
        Space("SHOPDB", "PLAIN", "SGHDD", " "), Space("SHOPDB", "BADIX", "SGHDD", index=("SHOP", HOSTILE)),
        Space("SHOPDB", "OTHER", HOSTILE, " "),
    )  # fmt: skip
    monkeypatch.setattr(session, "open_zos", lambda _: (world, "DB2", "12.01"))
    site = on_zos(tmp_path)
    for pattern in ("SHOPDB.*", "index SHOP.*"):
        site.good("pin", pattern, "must")
    _, text = propose(site, "--mode", "preference")
    found = statements_of(text)
    assert any('ALTER TABLESPACE "SHOPDB"."PLAIN"' in each for each in found)
    assert not [each for each in found if "BADIX" in each or each.startswith(("DROP", "CL:"))]
    assert not [line for line in text.split("\n") if line and not line.startswith(("--", "CALL", "ALTER", "COMMIT"))]
    world.run(text)
    assert world.spaces[0].group == "SGSSD"
    assert not any(each.stopped for each in world.spaces)
