"""The file next to the key of a recording that says what its pseudonyms stand for."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from agent.what_if.recorded_settings import NotRecordable
from connectors.given_files import parse_json, read_given
from connectors.recording.real_names import RealNames

LARGEST_BYTES = 256 * 2**20
SUFFIX = ".json"  # in place of that of the key


def save_names(key_file: Path, known: Mapping[str, str]) -> Path:
    """Note names by pseudonym, added to those of earlier recordings with this key; the file, its owner's alone.

    Raises:
        NotRecordable: it cannot be written.
    """
    path = key_file.with_suffix(SUFFIX)
    every = {**(_read(path) if path.exists() else {}), **known}
    try:
        # Written anew next to it: whoever reads it meanwhile finds it whole.
        part = path.with_name(f"{path.name}.part")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
            json.dump(every, file, ensure_ascii=True, indent=0, sort_keys=True)
        part.replace(path)
    except OSError as error:
        raise NotRecordable(f"{path} cannot be written: {error.strerror}", advice="Name another --key.") from error
    return path


def load_names(path: Path) -> RealNames:
    """What pseudonyms stand for, by such a file.

    Raises:
        NotRecordable: it is none.
    """
    return RealNames(_read(path))


def _read(path: Path) -> dict[str, str]:
    advice = "hotplace lab record writes such a file next to its key."
    try:
        found = parse_json(read_given(path, LARGEST_BYTES).decode("ascii"))
    except (OSError, ValueError) as error:
        raise NotRecordable(f"{path} does not say what pseudonyms stand for: {error}", advice=advice) from error
    if not (isinstance(found, dict) and all(isinstance(name, str) for name in found.values())):
        raise NotRecordable(f"{path} does not say what pseudonyms stand for", advice=advice)
    return found
