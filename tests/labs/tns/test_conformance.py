"""An independent client, node-oracledb in thin mode, sees the same emulated server as python-oracledb does."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.components import NODE_MODULES
from tests.labs.oracle.harness import furnished
from tests.labs.oracle.model import BLOCK
from tests.labs.tns.echo import EchoDatabase, rows
from tests.labs.tns.server import TnsServer, serving
from tests.labs.tns.values import OracleType

SCRIPT = Path(__file__).parent / "conformance.mjs"
LARGE_BYTES = 64 << 20
COPY_SECONDS_PER_GB = 160.0  # the large table takes ten seconds: far longer than anybody waits for it here


pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="no node: apt-get install nodejs npm"),
    pytest.mark.skipif(not (NODE_MODULES / "oracledb").exists(), reason="no node-oracledb: see tests/components.py"),
]


def seen_by_node(script: Path, server: TnsServer) -> Any:
    """What the script prints; nothing may have been asked that the server lacks."""
    done = subprocess.run(
        ["node", str(script), str(server.port), str(NODE_MODULES)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert server.complaints == []
    return json.loads(done.stdout)


def test_it_reads_large_objects() -> None:
    """By locator, and inline where it is told so: text in Unicode, bytes as they are."""
    values = [("Ünïcödé 表 " * 5000, bytes(range(256)) * 200)]
    answer = rows([("C", OracleType.CLOB), ("B", OracleType.BLOB)], values)
    zone = rows([("ZONE", OracleType.VARCHAR)], [("+00:00",)])  # which this client asks for when it connects
    with serving(EchoDatabase(lambda _, sql, *__: zone if "TIMEZONE" in sql.upper() else answer)) as server:
        seen = seen_by_node(SCRIPT.with_name("lobs.mjs"), server)
    text, data = values[0][0], list(values[0][1])
    assert seen == {"lengths": [len(text), len(data)], "text": text, "data": data, "inline": [text, data]}


def test_an_independent_client_sees_the_same_emulated_server() -> None:
    """Login, refusals, types, many rows, binds, DDL, errors, time-out and break, with values worked out by hand."""
    database = furnished()
    orders = database.add_table("APP", "ORDERS", "SLOW", 3 * BLOCK)
    database.add_table("APP", "LARGE", "SLOW", LARGE_BYTES)
    for segment in (*orders.segments, *database.tables["APP", "LARGE"].segments):
        database.read_randomly(segment, 10)
    database.seconds_per_gb = COPY_SECONDS_PER_GB
    with serving(database) as server:
        seen = seen_by_node(SCRIPT, server)
    assert seen == {
        "thin": True,
        "wrongPassword": "ORA-01017",
        "wrongService": "NJS-518",
        "version": "19.22.0.0.0",
        "segments": [["LARGE", LARGE_BYTES], ["ORDERS", 3 * BLOCK]],
        "many": 2 * 19,
        "started": [2026, 1, 5, 6],
        "empty": [],
        "unknownView": "ORA-00942",
        "moved": "no error",
        "home": [["FAST"]],
        "timeout": "NJS-123",
        "reused": [["SLOW"]],
        "broken": "ORA-01013",
        "after": [[1]],
    }
