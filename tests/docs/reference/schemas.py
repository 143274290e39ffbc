"""The JSON Schemas of all documents, as files next to the page that lists them."""

from __future__ import annotations

import json
from pathlib import Path

from agent.pages.site import read_schema, schema_names
from tests.docs.reference.blocks import PAGES

FOLDER = PAGES / "reference" / "schemas"


def schema_files() -> dict[Path, str]:
    """Each file, with the text that belongs in it: one line, since they are for programs."""
    return {
        FOLDER / f"{name}.json": json.dumps(read_schema(name), ensure_ascii=False) + "\n" for name in schema_names()
    }


def write_schemas() -> list[Path]:
    """Write those that have changed, remove those that are of no document any more; which they were."""
    wanted, changed = schema_files(), []
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        if path not in wanted:
            path.unlink()
            changed.append(path)
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed
