"""What a ledger's file holds, without what is random."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

from tests.frozen.rounding import written

# Digests are over figures to the last bit, in which processors differ; processes have another number in each run.
DIGEST = re.compile(r"\b[0-9a-f]{16,64}\b|(?<=\bpid )\d+")


def recorded_in(folder: Path) -> dict[str, str]:
    """Chain and proposals of the ledgers of a run, without what is random: processes, digests, hashes."""
    chain, plans = list[str](), list[str]()
    for path in sorted(folder.rglob("ledger.db")):
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            for at, event, subject, facts in connection.execute(
                "SELECT at, event, subject, facts FROM audit ORDER BY id"
            ):
                chain.append(f"{at} {event} {subject} {DIGEST.sub('#', written(json.loads(facts)))}")
            for number, state, body in connection.execute("SELECT id, state, body FROM proposals ORDER BY id"):
                plans.append(f"{number} {state} {written(json.loads(body))}")
        except sqlite3.DatabaseError as error:  # a fault of the disk may leave it damaged
            chain.append(f"{path.name}: {type(error).__name__}")
        finally:
            connection.close()
    return {"chain": "\n".join(chain), "plans": "\n".join(plans)}
