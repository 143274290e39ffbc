"""Servers with an empty scratch schema, as a configuration names them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.studies.prove import bench
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.server import PROVER as DB2_PROVER
from tests.labs.db2.server import TS_FAST, TS_SLOW
from tests.labs.db2.sessions import User
from tests.labs.db2.text import DATABASE
from tests.labs.oracle.harness import PASSWORD, running_harness
from tests.labs.postgresql import installations, running_cluster
from tests.labs.sqlserver.instance import Account
from tests.labs.sqlserver.lab import Lab, running_lab
from tests.labs.sqlserver.world import OWNER as DATABASE_OWNER
from tests.labs.sqlserver.world import PROVER, add_scratch
from tests.labs.tds.drivers import OdbcDriver, drivers

OWNER = """
DO $$ BEGIN IF to_regrole('prover') IS NULL THEN CREATE ROLE prover LOGIN; END IF; END $$;
GRANT pg_monitor TO prover;
GRANT CREATE ON TABLESPACE fast, slow TO prover;
CREATE SCHEMA scratch AUTHORIZATION prover;
"""
SPARE = "spare"  # a space that is given away
BUILD_SECONDS, LAST_LOCK_SECONDS = 0.2, 0.15  # long enough to be seen by another session
WITNESS_SECONDS = 0.03  # between two looks of it: server and client share a processor here


def tiers(fast: str, slow: str) -> list[dict[str, Any]]:
    """Two of 1 GiB."""
    return [
        {"name": name, "spaces": [{"name": space, "capacity": "1 GiB"}]}
        for name, space in (("ssd", fast), ("hdd", slow))
    ]


@contextmanager
def postgresql(_: Path) -> Iterator[dict[str, Any]]:
    """The newest PostgreSQL of this machine."""
    with running_cluster(max(installations())) as cluster, cluster.database() as dbname:
        with cluster.session(dbname) as dba:
            dba.execute(OWNER)
        yield {
            "name": "real",
            "engine": "postgresql",
            "connection": {"host": str(cluster.server.folder), "dbname": dbname, "user": "prover"},
            "tiers": tiers("fast", "slow"),
        }


@contextmanager
def scratch_lab(*, major: int = 16, engine_edition: int = 3) -> Iterator[Lab]:
    """An emulated SQL Server whose builds take long enough to be seen."""
    with running_lab(major=major, engine_edition=engine_edition) as lab:
        add_scratch(lab.shop)
        lab.instance.build_seconds, lab.instance.last_lock_seconds = BUILD_SECONDS, LAST_LOCK_SECONDS
        lab.instance.minute = 60.0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bench, "EVERY_SECONDS", WITNESS_SECONDS)
            yield lab


def sqlserver_values(lab: Lab, folder: Path, driver: OdbcDriver | None = None, **other: Any) -> dict[str, Any]:
    """The database as the configuration has it, for the prover or another account."""
    account = other.pop("account", PROVER)
    password = folder / f"password of {account.name}"
    password.write_text(account.password, encoding="utf-8")
    password.chmod(0o600)
    driver = driver or next(each for each in drivers() if not each.missing)
    return {
        "name": "real",
        "engine": "sqlserver",
        "connection": {
            "host": "127.0.0.1",
            "port": lab.server.port,
            "database": lab.shop.name,
            "user": account.name,
            "password": {"file": str(password)},
            "driver": driver.path,
            "encrypt": "no",
            "lob_moves": True,
            **other,
        },
        "tiers": tiers("ssd", "hdd"),
    }


@contextmanager
def sqlserver(folder: Path) -> Iterator[dict[str, Any]]:
    """The emulated server, 2022 Enterprise; its DBA has installed what flushes, and given a filegroup away."""
    with scratch_lab() as lab:
        lab.instance.flushers = {PROVER.name}
        give_away(lab)
        yield sqlserver_values(lab, folder)


def give_away(lab: Lab) -> Account:
    """An empty filegroup on the slow disk, and the prover as an owner of the database, who may empty its files."""
    volume = next(each.volume for each in lab.shop.storage.files.values() if each.volume.seeks)
    lab.shop.add_filegroup(SPARE, volume, pages=2000)
    owner = replace(DATABASE_OWNER, name=PROVER.name, password=PROVER.password, owns=PROVER.owns)
    lab.instance.accounts[owner.name] = owner
    return owner


SCRATCH = "SCRATCH"  # as Db2 and Oracle have the name
LOCKED_SECONDS = 0.1  # that a copy by LOAD and a SWAP keep their locks


@contextmanager
def scratch_db2(version: str = "11.5") -> Iterator[Db2]:
    """An emulated Db2 with an empty scratch schema, whose locks last long enough to be seen."""
    with running_db2(version) as db2:
        db2.lab.create_schema(SCRATCH, DB2_PROVER.authid)
        db2.lab.grant(DB2_PROVER.authid, "SQLADM", "CREATETAB", f"USE {TS_SLOW}", f"USE {TS_FAST}")
        db2.lab.behave(locked_seconds=LOCKED_SECONDS)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bench, "EVERY_SECONDS", WITNESS_SECONDS)
            yield db2


def db2_values(db2: Db2, folder: Path, user: User = DB2_PROVER, **other: Any) -> dict[str, Any]:
    """The database as the configuration has it, for the prover or another user."""
    password = folder / f"password of {user.name}"
    password.write_text(user.password, encoding="utf-8")
    password.chmod(0o600)
    return {
        "name": "real",
        "engine": "db2",
        "connection": {
            "host": "127.0.0.1",
            "port": db2.port,
            "dbname": DATABASE,
            "user": user.name,
            "password": {"file": str(password)},
            "authentication": "SERVER",
            "move_by": "table",
            "foreign_keys": "drop_and_add",
            "lock_timeout": "1s",
            "poll_every": "50ms",
            **other,
        },
        "tiers": tiers(TS_FAST, TS_SLOW),
    }


@contextmanager
def db2(folder: Path) -> Iterator[dict[str, Any]]:
    """The emulated server, 11.5."""
    with scratch_db2() as server:
        yield db2_values(server, folder)


COPY_SECONDS = 0.05  # long enough to be seen by another session


@contextmanager
def oracle(folder: Path) -> Iterator[dict[str, Any]]:
    """The emulated server, 19c Enterprise Edition."""
    with running_harness("prove") as lab:
        lab.add_owner(SCRATCH)
        lab.database.least_seconds = COPY_SECONDS
        lab.database.add_tablespace(SPARE.upper(), "/hdd/oradata/spare01.dbf", 64 << 20, 1 << 30)
        user = lab.database.users[SCRATCH]
        user.quotas[SPARE.upper()] = -1
        user.privileges.add("ALTER DATABASE")
        password = folder / "password"
        password.write_text(PASSWORD, encoding="utf-8")
        password.chmod(0o600)
        yield {
            "name": "real",
            "engine": "oracle",
            "connection": {
                "host": "127.0.0.1", "port": lab.server.port, "service": "orclpdb1", "user": SCRATCH,
                "password": {"file": str(password)}, "lock_timeout": "1s",
            },
            "tiers": tiers("FAST", "SLOW"),
        }  # fmt: skip
