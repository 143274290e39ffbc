"""`hotplace lab record` and `hotplace simulate --recording` on a real PostgreSQL."""

from __future__ import annotations

import gzip
import json
import re
import signal
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.site import SECONDS, Site, finish
from tests.conftest import MAJORS, NO_SERVER
from tests.labs.postgresql import Cluster, running_cluster

MARK = "zqx"  # in everything that a user can name or write
pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.xdist_group("recordings"),
    pytest.mark.skipif(not MAJORS, reason=NO_SERVER),
]


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    """The newest server there is."""
    with running_cluster(max(MAJORS)) as running:
        yield running


@contextmanager
def marked_database(server: Cluster) -> Iterator[str]:
    """A database in which every name, value, border, predicate and comment has the mark."""
    with server.database() as dbname, server.session(dbname) as dba:
        for statement in (
            "CREATE SCHEMA zqx_schema",
            "CREATE TABLE zqx_schema.zqx_sales (zqx_id int, zqx_region text) PARTITION BY LIST (zqx_region)",
            "ALTER TABLE zqx_schema.zqx_sales ALTER zqx_region SET DEFAULT 'zqx default'",
            "CREATE TABLE zqx_schema.zqx_north PARTITION OF zqx_schema.zqx_sales FOR VALUES IN ('zqx north')",
            "INSERT INTO zqx_schema.zqx_sales SELECT g, 'zqx north' FROM generate_series(1, 20000) AS g",
            "CREATE INDEX zqx_index ON zqx_schema.zqx_north (lower(zqx_region || 'zqx')) WHERE zqx_region <> 'zqx no'",
            'CREATE TABLE "Zqx ""quoted"" Table" (id int CHECK (id <> 42), "zqx col" text)',
            "COMMENT ON TABLE zqx_schema.zqx_north IS 'zqx comment'",
            "CREATE VIEW zqx_view AS SELECT 'zqx view' AS zqx",
            "CREATE ROLE zqx_login LOGIN SUPERUSER",
            "ANALYZE",
        ):
            dba.execute(statement)
        try:
            yield dbname
        finally:
            dba.execute("DROP ROLE zqx_login")


@pytest.fixture
def site(server: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The configuration of that database, marked too."""
    monkeypatch.setenv("NO_COLOR", "1")
    with marked_database(server) as dbname:
        database: dict[str, Any] = {
            "name": "zqx-shop",
            "engine": "postgresql",
            "connection": {"host": str(server.server.folder), "dbname": dbname, "user": "zqx_login"},
            "tiers": [
                {"name": "ssd", "spaces": ["fast"]},
                {"name": "zqx disks", "kind": "hdd", "spaces": [{"name": "slow", "capacity": "10 GiB"}]},
            ],
            "sample_every": "0.1s",
            "pins": [{"unit": "zqx*", "pin": "must", "reason": "zqx"}],
            "policy": {"minimum_history": "0s"},
        }
        yield Site(tmp_path, database)


def text_of(path: Path) -> str:
    """A recording without its compression."""
    return gzip.decompress(path.read_bytes()).decode()


def test_a_recording_has_nothing_that_a_user_wrote(site: Site) -> None:
    """No name, value, border, predicate, expression, default or comment: nor the host, login and pins."""
    path = site.folder / "a.recording"
    done = site.good("lab", "record", "--for", "0.2s", "--output", str(path), "--json").document
    assert done["samples"] >= 2
    assert done["names"] == "hashed"
    assert not done["dropped_columns"]
    assert not done["left_out_queries"]
    assert MARK not in text_of(path).lower()
    assert str(site.database["connection"]["host"]) not in text_of(path)
    for file in (path, Path(done["key"])):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(text_of(path).splitlines()) > done["queries"]
    assert re.search(r"\bn[0-9a-f]{16}\.n[0-9a-f]{16}\b", text_of(path))


def test_real_names_where_the_recording_was_made(site: Site) -> None:
    """With the file of names next to the key a replay shows them; the file is its owner's alone."""
    path = site.folder / "a.recording"
    done = site.good("lab", "record", "--for", "0.2s", "--output", str(path), "--json").document
    known = Path(done["names_file"])
    assert stat.S_IMODE(known.stat().st_mode) == 0o600
    hashed = site.good("simulate", "--recording", str(path), "--json").document
    shown = site.good("simulate", "--recording", str(path), "--names", str(known), "--json").document
    assert MARK not in json.dumps(hashed)
    assert "zqx" in json.dumps(shown)
    assert not re.search(r"n[0-9a-f]{16}", json.dumps(shown))
    other = site.folder / "other.json"
    other.write_text("[]")
    refused = site.run("simulate", "--recording", str(path), "--names", str(other))
    assert "does not say what pseudonyms stand for" in refused.err


def test_with_plain_names_there_are_names_and_still_no_data(site: Site) -> None:
    """What is left of the marks are names of tables, indexes and schemas."""
    path = site.folder / "a.recording"
    site.good("lab", "record", "--for", "0.2s", "--output", str(path), "--plain-names")
    text = text_of(path)
    assert "zqx_schema.zqx_north" in text
    for written in ("zqx default", "zqx north", "zqx no'", "zqx comment", "zqx view", "zqx_region", "zqx col", "zqx*"):
        assert written not in text


def test_the_same_key_gives_the_same_pseudonyms(site: Site) -> None:
    """Two recordings of one database can be compared; one with another key cannot."""
    units = []
    for name, key in (("a", "one.key"), ("b", "one.key"), ("c", "two.key")):
        path = site.folder / name
        site.good("lab", "record", "--for", "0.1s", "--output", str(path), "--key", str(site.folder / key))
        units.append(next(line for line in text_of(path).splitlines() if '"query":"units"' in line))
    keys = [[row[-1] for row in json.loads(line.partition(" ")[2])["rows"]] for line in units]
    assert keys[0] == keys[1]
    assert not set(keys[0]) & set(keys[2])


def test_a_key_that_others_can_read_is_refused(site: Site) -> None:
    """The file is not made either."""
    key = site.folder / "open.key"
    key.write_text("00" * 32)
    key.chmod(0o644)
    done = site.run("lab", "record", "--output", str(site.folder / "a"), "--key", str(key))
    assert done.code != 0
    assert f"chmod 600 {key}" in done.err
    assert not (site.folder / "a").exists()


def test_an_existing_file_is_left_alone(site: Site) -> None:
    """A recording overwrites nothing."""
    path = site.folder / "a"
    path.write_text("mine")
    done = site.run("lab", "record", "--for", "0.1s", "--output", str(path), "--plain-names")
    assert done.code != 0
    assert "exists" in done.err
    assert path.read_text() == "mine"


def test_a_server_that_does_not_answer_leaves_no_file(site: Site) -> None:
    """Not even an empty one."""
    site.database["connection"]["host"] = str(site.folder)
    site.write()
    path = site.folder / "a"
    assert site.run("lab", "record", "--for", "0.1s", "--output", str(path), "--plain-names").code != 0
    assert not path.exists()


def test_ctrl_c_leaves_a_whole_file(site: Site) -> None:
    """The recording ends with what was seen until then, and can be replayed without the configuration."""
    path = site.folder / "a.recording"
    process = site.start("lab", "record", "--for", "1h", "--output", str(path), "--json")
    until = time.monotonic() + SECONDS
    while not path.exists() or path.stat().st_size < 3000:
        assert time.monotonic() < until
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.code == 0, done
    assert done.document["ended"] == "interrupted"
    site.path.unlink()
    again = site.good("simulate", "--recording", str(path), "--json").document
    assert again["recording"]["ended"] == "interrupted"
    assert again["recording"]["samples"] == done.document["samples"]


def test_a_damaged_recording_names_the_place_and_plays_what_is_before_it(site: Site) -> None:
    """Cut off in the middle: an error with the place, and with --until-damage the samples that are whole."""
    path = site.folder / "a.recording"
    site.good("lab", "record", "--for", "0.4s", "--output", str(path), "--plain-names")
    data = path.read_bytes()
    lines = (zlib.decompressobj(31).decompress(data[:size]).split(b"\n")[:-1] for size in range(len(data)))
    size = next(size for size, whole in enumerate(lines) if sum(b'"work"' in line for line in whole) == 3)
    path.write_bytes(data[:size])  # two samples, and the mark of what comes next
    refused = site.run("simulate", "--recording", str(path))
    assert refused.code != 0
    assert "damaged at event" in refused.err
    again = site.good("simulate", "--recording", str(path), "--until-damage", "--json").document
    assert again["recording"]["samples"] == 2
    assert "damaged at event" in again["recording"]["damage"]


def test_a_recording_is_played_under_other_settings(site: Site) -> None:
    """The plan and the history both follow --policy; the text says where it comes from."""
    path = site.folder / "a.recording"
    site.good("lab", "record", "--for", "0.3s", "--output", str(path), "--plain-names")
    text = site.good("simulate", "--recording", str(path), "--policy", "minimum_history=9d").out
    assert "PostgreSQL, by hotplace" in text
    assert "names plain" in text
    document = site.good("simulate", "--recording", str(path), "--policy", "minimum_history=9d", "--json").document
    assert document["plan"]["moves"] == []
    assert document["intervals"] >= 1
