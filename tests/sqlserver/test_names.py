"""No query finds an object of another user: views and procedures are those of the schema sys, where nobody creates."""

from __future__ import annotations

import re
from pathlib import Path

from connectors import sqlserver
from tests.over import over

QUERIES = sorted((Path(sqlserver.__file__).parent).rglob("sql/*.sql")) + sorted(
    path for path in (Path(sqlserver.__file__).parent / "claims").rglob("*.sql") if path.parent.name != "cases"
)
SOURCE = re.compile(r"\b(?:FROM|JOIN|APPLY|EXEC(?:UTE)?(?:\s+@\w+\s*=)?)\s+([A-Za-z_][\w.]*)")


@over("path", QUERIES)
def test_every_source_is_the_servers(path: Path) -> None:
    """Without a schema the user's default one and dbo would be searched, where others may create."""
    text = "\n".join(line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("--"))
    text = re.sub(r"N?'(?:[^']|'')*'", "''", text)
    common = set(re.findall(r"\b(\w+)\s*(?:\([\w, ]*\))?\s+AS\s*\(", text))
    assert [each for each in SOURCE.findall(text) if not each.startswith("sys.") and each not in common] == []
    assert "INFORMATION_SCHEMA" not in text
    assert not re.search(r"\bdbo\.", text)
