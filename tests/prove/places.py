"""Servers with an empty scratch schema, as a configuration names them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.prove import witness
from tests.labs.postgresql import installations, running_cluster
from tests.labs.sqlserver.lab import Lab, running_lab
from tests.labs.sqlserver.world import PROVER, add_scratch
from tests.labs.tds.drivers import OdbcDriver, drivers

OWNER = """
DO $$ BEGIN IF to_regrole('prover') IS NULL THEN CREATE ROLE prover LOGIN; END IF; END $$;
GRANT pg_monitor TO prover;
GRANT CREATE ON TABLESPACE fast, slow TO prover;
CREATE SCHEMA scratch AUTHORIZATION prover;
"""
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
            patch.setattr(witness, "EVERY_SECONDS", WITNESS_SECONDS)
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
    """The emulated server, 2022 Enterprise."""
    with scratch_lab() as lab:
        yield sqlserver_values(lab, folder)
