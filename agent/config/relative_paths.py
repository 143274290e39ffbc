"""Relative paths of the configuration are meant from its folder, wherever hotplace is started."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationInfo


def resolve_against_config_file(path: Path | None, info: ValidationInfo) -> Path | None:
    """The path, absolute where the folder of the configuration is known."""
    folder = (info.context or {}).get("folder")
    if path is None:
        return None
    return Path(os.path.abspath(folder / path.expanduser())) if folder else path  # noqa: PTH100  # keep symlinks
