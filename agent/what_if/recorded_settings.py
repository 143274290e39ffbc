"""What a recording tells of the configuration, and how it writes names."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from agent.config import DatabaseConfig, read_config
from agent.config.document import read_document
from agent.config.tiers import KINDS
from connectors.base import HotplaceError
from connectors.recording.columns import table_of
from connectors.recording.names import HashedNames, Names, PlainNames

KEY_BYTES = 32
# Keys of a database that hold figures and times only. What has names in it, or leads to the server, is not among them.
FIGURES = frozenset(
    {
        *("sample_every", "plan_every", "settle", "proposal_expires", "retries", "windows", "time_zone"),
        *("excluded_days", "window_bytes", "window_copy_time", "copy_safety", "measured", "not_measured", "policy"),
        *("block_looks", "border_values", "read_time_limit", "read_time_abort"),
    }
)


class NotRecordable(HotplaceError):
    """The engine, the key or the file does not allow a recording."""


def names_of(database: DatabaseConfig, key_file: Path | None) -> Names:
    """How names are written: pseudonyms under the key of that file, which is made where it is missing; None: plain.

    Raises:
        NotRecordable: the file cannot be used.
    """
    if key_file is None:
        return PlainNames()
    table = table_of(database.engine)
    if table is None:
        raise _no_table(database.engine)
    return HashedNames(_key_of(key_file), table.vendor, table.vendor_patterns)


def _key_of(path: Path) -> bytes:
    try:
        with suppress(FileExistsError), _new_private_file(path) as file:
            file.write(f"{secrets.token_hex(KEY_BYTES)}\n")
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise NotRecordable(f"{path} can be read by others", advice=f"Make it yours alone: chmod 600 {path}")
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise NotRecordable(
            f"{path} is no key for names: {error}",
            advice="Name another file with --key; it is made where it is missing.",
        ) from error
    if len(key) < KEY_BYTES:
        raise NotRecordable(f"{path} holds a key of {len(key)} bytes", advice=f"It needs {KEY_BYTES}; remove the file.")
    return key


def _new_private_file(path: Path) -> IO[str]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w", encoding="ascii")


def written_entry(config_path: Path, name: str) -> dict[str, Any]:
    """The entry of a database as the configuration file has it."""
    values = read_document(read_config(config_path), str(config_path)).values
    found: dict[str, Any] = next(entry for entry in values["databases"] if entry["name"] == name)
    return found


def head_of(entry: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """What a recording tells of the configuration: all that shapes a plan, and nothing that leads to the server.

    Args:
        entry: of the database, as the configuration file has it.
        names: how to write them.

    Raises:
        NotRecordable: the engine cannot be recorded.
    """
    table = table_of(str(entry["engine"]))
    if table is None:
        raise _no_table(str(entry["engine"]))
    figures = {key: value for key, value in entry.items() if key in FIGURES}
    return {
        "hotplace": version("hotplace"),
        "names": names.word,
        "columns": table.column_names(),
        "database": {
            **figures,
            "name": names.name(str(entry["name"])),
            "engine": entry["engine"],
            "connection": table.connection(entry.get("connection") or {}, names),
            "tiers": [_tier(tier, names) for tier in entry["tiers"]],
        },
    }


def _no_table(engine: str) -> NotRecordable:
    return NotRecordable(
        f"a database of engine {engine} cannot be recorded", advice="PostgreSQL, Db2, SQL Server and Oracle can."
    )


def _tier(tier: Mapping[str, Any], names: Names) -> dict[str, Any]:
    name = str(tier["name"])
    return {
        **tier,
        "name": name if name in KINDS else names.name(name),
        "spaces": [_space(space, names) for space in tier["spaces"]],
    }


def _space(space: Any, names: Names) -> Any:  # noqa: ANN401  # a name, or a name with a capacity
    if isinstance(space, Mapping):
        return {**space, "name": _space(space["name"], names)}
    is_place = space.startswith(("/", "+")) or space[1:3] == ":\\"
    return names.path(space) if is_place else names.name(space)
