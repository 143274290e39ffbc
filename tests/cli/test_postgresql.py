"""The command line against real servers."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

from connectors.model.formatting import escaped
from tests.cli.site import Site
from tests.labs.postgresql import PASSWORD, WRONG_PASSWORD, Cluster

NAME = 'we"ird [red]Größe.x\n; DROP TABLE y --'
ON_ONE_LINE = NAME.replace("\n", " ")
LONGEST = "ü" * 31 + "x"  # 63 bytes


@pytest.fixture
def database(cluster: Cluster, dbname: str) -> dict[str, Any]:
    """The configuration of a database with two tables of awkward names on the slow tablespace."""
    with cluster.session(dbname) as dba:
        for name in (NAME, LONGEST):
            table = sql.Identifier("public", name)
            dba.execute(sql.SQL("CREATE TABLE {} AS SELECT g AS id FROM generate_series(1, 5000) AS g").format(table))
    return {
        "name": "real",
        "engine": "postgresql",
        "connection": {"host": str(cluster.server.folder), "dbname": dbname, "user": "postgres"},
        "tiers": [
            {"name": "ssd", "spaces": ["fast"]},
            {"name": "hdd", "spaces": [{"name": "slow", "capacity": "1 GiB"}]},
        ],
        "sample_every": "0.2s",
        "pins": [{"unit": "*ird*", "pin": "must"}],
        "policy": {"minimum_history": "0s"},
    }


@pytest.fixture
def real(tmp_path: Path, database: dict[str, Any]) -> Site:
    """A site with that database."""
    return Site(tmp_path, database)


def test_a_name_that_would_be_a_statement(real: Site, cluster: Cluster, dbname: str) -> None:
    """Pinned, planned, printed, proposed, approved and moved: only the table of that name moves."""
    proposal = real.good("plan", "--observe", "0.3", "--propose", "--json").document
    (move,) = proposal["moves"]
    assert "[red]" in move["unit"]
    text = real.good("units", "--all").out
    assert "[red]Größe" in text
    assert LONGEST in text
    number, digest = proposal["proposal"]["id"], proposal["proposal"]["digest"]
    script = real.good("show", str(number), "--sql").out
    assert f"--   {escaped(move['statements'][0]['sql'])};" in script.split("\n")
    for text in (script, real.good("show", str(number)).out):
        assert all(line.isprintable() and not line.startswith(("; DROP", "DROP")) for line in text.split("\n"))
        assert not [line for line in text.split("\n") if line.startswith("ALTER") and "DROP" in line]
    real.good("approve", str(number), "--digest", digest)
    done = real.good("run", "--once", "--json").document
    assert [row["state"] for row in done["moves"]] == ["placed"]
    with cluster.session(dbname) as dba:
        query = "SELECT relname FROM pg_class JOIN pg_tablespace AS t ON t.oid = reltablespace WHERE spcname = 'fast'"
        assert (NAME,) in dba.execute(query).fetchall()


def test_the_script_runs_in_psql(real: Site, cluster: Cluster, dbname: str) -> None:
    """What show --sql prints is a script: psql runs it to the end, and the table is where it should be.

    A table whose name breaks the line is not moved by it, though ``run`` would.
    """
    with cluster.session(dbname) as dba:
        table = sql.Identifier("public", ON_ONE_LINE)
        dba.execute(sql.SQL("CREATE TABLE {} AS SELECT g AS id FROM generate_series(1, 5000) AS g").format(table))
    number = real.good("plan", "--observe", "0.3", "--propose", "--json").document["proposal"]["id"]
    script = cluster.server.folder / f"{dbname}.sql"
    script.write_text(real.good("show", str(number), "--sql").out, encoding="utf-8")
    script.chmod(0o644)  # for the server's user, whatever our umask
    cluster.server.run(
        "psql", "-X", "-v", "ON_ERROR_STOP=1", "-h", str(cluster.server.folder), "-U", "postgres", "-d", dbname,
        "-f", str(script),
    )  # fmt: skip
    with cluster.session(dbname) as dba:
        query = "SELECT relname FROM pg_class JOIN pg_tablespace AS t ON t.oid = reltablespace WHERE spcname = 'fast'"
        assert dba.execute(query).fetchall() == [(ON_ONE_LINE,)]


def test_what_a_failed_try_may_leave_is_named_in_a_line_and_written_out_with_all(
    real: Site, cluster: Cluster, dbname: str
) -> None:
    """An index's ten names of each kind are one line in plan and show; --all and --json have each statement in full."""
    with cluster.session(dbname) as dba:
        dba.execute("CREATE TABLE thing AS SELECT g AS id FROM generate_series(1, 50000) AS g")
        dba.execute("CREATE INDEX thing_key ON thing (id)")
    real.database["pins"] = [{"unit": "*thing_key*", "pin": "must"}]
    real.write()
    planned = real.good("plan", "--observe", "0.3", "--propose", "--sql").out
    shown = real.good("show", "1", "--json").document
    (move,) = shown["moves"]
    every = [sql for step in move["if_interrupted"]["statements"] for sql in (step["sql"], *step["variants"])]
    assert len(every) == len({*every}) == 20
    compact = [line for line in real.good("show", "1", "--sql").out.splitlines() if "DROP INDEX" in line]
    assert len(compact) == 2
    assert '"thing_key_ccnew"; -- or, in place of this name, "thing_key_ccnew1" to "thing_key_ccnew9"' in compact[0]
    for text in (planned, real.good("show", "1").out):
        assert [line for line in text.splitlines() if "DROP INDEX" in line] == compact
    for options in (("--sql", "--all"), ("--all",)):
        script = real.good("show", "1", *options).out.splitlines()
        assert [line for line in script if "DROP INDEX" in line] == [f"--   {sql};" for sql in every]


def test_throughput_is_what_the_server_counted(real: Site, cluster: Cluster, dbname: str) -> None:
    """One client that thinks a little: plan says about as many transactions as it did, by one session at most."""
    done, enough = [0], threading.Event()

    def work() -> None:
        with cluster.session(dbname) as session:
            while not enough.is_set():
                session.execute(sql.SQL("SELECT sum(id) FROM {}").format(sql.Identifier("public", LONGEST)))
                done[0] += 1
                enough.wait(0.01)  # so that it keeps its pace whatever else the machine does

    worker = threading.Thread(target=work)
    worker.start()
    try:
        begun, at = done[0], time.monotonic()
        forecast = real.good("plan", "--observe", "3", "--json").document["forecast"]
        rate = (done[0] - begun) / (time.monotonic() - at)
    finally:
        enough.set()
        worker.join()
    assert forecast["work"] == "transactions"
    assert rate / 2 < forecast["per_second_now"] < rate * 2
    assert 0.001 < forecast["per_second_now"] * forecast["latency_now_seconds"] < 1.5, forecast  # a query of 0.3 ms
    known = forecast["per_second"] is not None
    assert known is (forecast["why_not"] is None)
    assert not known or forecast["per_second_low"] <= forecast["per_second"] <= forecast["per_second_high"]


def test_doctor(real: Site) -> None:
    """Against a sound server doctor names it; the superuser lacks nothing."""
    done = real.run("doctor", "--json")
    assert done.code == 0, done
    sentences = " ".join(f["sentence"] for f in done.document["databases"][0]["findings"])
    assert "PostgreSQL" in sentences or "postgresql" in sentences


def test_sizing(real: Site) -> None:
    """The curve of a real database, for a login that may only look; what is pinned comes first."""
    real.database["connection"]["user"] = "looker"
    real.write()
    document = real.good("sizing", "--json").document
    assert document["managed_units"] >= 2
    assert 0 < document["pinned_bytes"] < document["managed_bytes"]
    assert document["points"][-1]["bytes"] >= document["managed_bytes"]
    assert "must be on it" in real.good("sizing").out


def test_wrong_password(real: Site) -> None:
    """Refused at the door: 4, with no secret in the message; doctor shows it as a finding."""
    secret = real.folder / "password"
    secret.write_text(WRONG_PASSWORD)
    real.database["connection"] |= {"user": "guarded", "password": {"file": str(secret)}}
    real.write()
    done = real.run("plan", "--debug")
    assert done.code == 4, done
    assert WRONG_PASSWORD not in done.err
    doctor = real.run("doctor")
    assert doctor.code == 5
    assert "authentication" in doctor.out
    assert WRONG_PASSWORD not in doctor.out
    secret.write_text(PASSWORD)
    assert real.run("plan").code in {0, 3, 5}, "it is let in now"


def test_a_secret_that_is_not_there(real: Site) -> None:
    """A password file that does not exist is a matter of the configuration."""
    real.database["connection"]["password"] = {"file": str(real.folder / "nosuch")}
    real.write()
    done = real.run("plan")
    assert done.code == 3
    assert "nosuch" in done.err


def test_unreachable_host(real: Site) -> None:
    """Nobody listens there: 4, and the message names the address."""
    real.database["connection"] |= {"host": "127.0.0.1", "port": 1, "connect_timeout": "2s"}
    real.write()
    done = real.run("plan")
    assert done.code == 4
    assert "127.0.0.1" in done.err
    assert "next: " in done.err


def test_a_login_that_may_only_look(real: Site) -> None:
    """A move without the privilege fails with the GRANT that mends it, and nothing has moved."""
    number = real.good("plan", "--observe", "0.3", "--propose", "--json").document["proposal"]["id"]
    real.good("approve", str(number), "--yes")
    real.database["move_connection"] = {**real.database["connection"], "user": "looker"}
    real.write()
    done = real.run("run", "--once", "--json")
    assert done.code == 8, done
    assert [row["state"] for row in done.document["moves"]] == ["failed"]


def test_a_partition_from_plan_to_undo(real: Site, cluster: Cluster, dbname: str) -> None:
    """One partition is planned by its pin, approved, moved and taken back; all others stay where they are."""
    with cluster.session(dbname) as dba:
        dba.execute("CREATE TABLE log (day date) PARTITION BY RANGE (day)")
        for month in (1, 2):
            bounds = f"FROM ('2030-0{month}-01') TO ('2030-0{month + 1}-01')"
            dba.execute(f"CREATE TABLE log_{month} PARTITION OF log FOR VALUES {bounds} TABLESPACE slow")
            dba.execute(f"INSERT INTO log SELECT '2030-0{month}-01' FROM generate_series(1, 5000)")
    real.database["pins"] = [{"unit": "public.log_2", "pin": "must"}]
    real.write()
    found = real.good("plan", "--observe", "0.3", "--propose", "--json").document
    assert [move["unit"] for move in found["moves"]] == ["public.log_2"]
    number, digest = str(found["proposal"]["id"]), found["proposal"]["digest"]
    real.good("approve", number, "--digest", digest)
    assert [row["state"] for row in real.good("run", "--once", "--json").document["moves"]] == ["placed"]
    assert homes(cluster, dbname) == {"log": "slow", "log_1": "slow", "log_2": "fast"}
    real.database["pins"] = []
    real.write()
    undo = real.good("undo", "--proposal", number, "--json").document
    real.good("approve", str(undo["proposal"]), "--digest", undo["digest"])
    real.good("run", "--once")
    assert homes(cluster, dbname) == {"log": "slow", "log_1": "slow", "log_2": "slow"}
    real.good("audit", "verify")


def homes(cluster: Cluster, dbname: str) -> dict[str, str]:
    """Tablespace of the table and of each of its partitions."""
    with cluster.session(dbname) as dba:
        query = (
            "SELECT relname, spcname FROM pg_class JOIN pg_database ON datname = current_database() "
            "JOIN pg_tablespace AS t ON t.oid = COALESCE(NULLIF(reltablespace, 0), dattablespace) "
            "WHERE relname LIKE 'log%'"
        )
        return dict(dba.execute(query).fetchall())


def test_a_database_that_has_no_fast_storage_yet(tmp_path: Path, cluster: Cluster) -> None:
    """With pg_default alone every command answers: what there is, what an SSD would save, and what to do next."""
    name = "only_default"
    with cluster.session() as dba:
        dba.execute(sql.SQL("CREATE DATABASE {} TABLESPACE pg_default").format(sql.Identifier(name)))
    try:
        cluster.wait_until_counted(name)
        with cluster.session(name) as dba:
            dba.execute(
                "CREATE TABLE big AS SELECT g AS id, repeat('x', 500) AS pad FROM generate_series(1, 20000) AS g"
            )
            dba.execute("CREATE INDEX ON big (id)")
        site = Site(tmp_path, {
            "name": "real", "engine": "postgresql",
            "connection": {"host": str(cluster.server.folder), "dbname": name, "user": "postgres"},
            "tiers": [{"name": "hdd", "spaces": [{"name": "pg_default", "capacity": "10 GiB"}]}],
            "policy": {"minimum_history": "0s"},
        })  # fmt: skip
        assert "one_tier: Next: what faster storage would save: hotplace sizing" in site.good("doctor").out
        done = threading.Event()
        reader = threading.Thread(target=_read_at_random, args=(cluster, name, done))
        reader.start()
        try:
            plan = site.good("plan", "--observe", "2").out
        finally:
            done.set()
            reader.join()
        assert plan.startswith("hdd is the only tier that has a space")
        found = site.good("sizing", "--tier", "ssd", "--random-read", "0.1us", "--size", "4MiB", "--json").document
        assert found["planned_tier"]["capacity_bytes"] == 4 * 2**20
        assert found["managed_units"] >= 2
        assert 0 < found["present"]["wait_saved_per_hour_seconds"] <= found["all_fast_wait_saved_per_hour_seconds"]
        assert "what ssd saves over hdd" in site.good("sizing").out, "without any option too"
        assert "next: what faster storage would save" in site.good("status").out
    finally:
        with cluster.session() as dba:
            dba.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _read_at_random(cluster: Cluster, dbname: str, done: threading.Event) -> None:
    with cluster.session(dbname) as client:
        while not done.is_set():
            client.execute("SELECT pad FROM big WHERE id = (SELECT (random() * 20000)::int)")
