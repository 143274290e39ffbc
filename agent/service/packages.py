"""Are the three top-level packages really ours? Their names are generic, and Python takes whichever comes first.

Imports nothing of hotplace, so that it can still tell when one of the others is a stranger.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

OURS = ("agent", "connectors", "policies")


def package_folders() -> dict[str, Path | None]:
    """The folder that each package is loaded from; None where there is none or where it is no ordinary package."""
    return {name: _folder(name) for name in OURS}


def foreign_packages(folders: Mapping[str, Path | None], home: Path) -> dict[str, str]:
    """Packages that do not lie in ``home``, each with the place it comes from instead."""
    return {name: str(folder) if folder else "nowhere" for name, folder in folders.items() if folder != home / name}


def _folder(name: str) -> Path | None:
    spec = find_spec(name)
    return Path(spec.origin).resolve().parent if spec and spec.origin else None
