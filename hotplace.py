"""Starts the command line, if its packages are ours: their names are plain, and Python takes whichever comes first.

Imports nothing of hotplace before it has looked, so that it can tell when one of the packages is a stranger.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

OURS = {  # each package with its first words: two distributions in one folder write over each other's files
    "agent": '"""Everything that lives in time:',
    "connectors": '"""What an engine can tell and do.',
    "policies": '"""The decision which units deserve fast storage,',
}
CONFIGURATION = 3  # the exit code: what is installed has to be mended by a person
ADVICE = "Install hotplace into a virtual environment of its own (venv, pipx or uv tool), and unset PYTHONPATH."


def main() -> None:
    """Run the command line; end with a reason where another distribution has one of our packages' names."""
    foreign = foreign_packages(package_folders(), Path(__file__).resolve().parent)
    if foreign:
        listed = ", ".join(f"{name} from {place}" for name, place in foreign.items())
        sys.stderr.write(f"error: another program's package stands in the way of hotplace: {listed}\nnext: {ADVICE}\n")
        raise SystemExit(CONFIGURATION)
    from agent.cli.main import main as run  # only now, when it is known to be ours

    run()


def package_folders() -> dict[str, Path | None]:
    """The folder that each package is loaded from; None where there is none or where it is no ordinary package."""
    return {name: _folder(name) for name in OURS}


def foreign_packages(folders: Mapping[str, Path | None], home: Path) -> dict[str, str]:
    """Packages that do not lie in ``home``, or that another one was written over, each with the place it comes from."""
    return {
        name: str(folder) if folder else "nowhere"
        for name, folder in folders.items()
        if folder != home / name or not _is_ours(folder, OURS[name])
    }


def _folder(name: str) -> Path | None:
    spec = find_spec(name)
    return Path(spec.origin).resolve().parent if spec and spec.origin else None


def _is_ours(folder: Path, first_words: str) -> bool:
    try:
        return (folder / "__init__.py").read_text(encoding="utf-8").startswith(first_words)
    except OSError:
        return False


if __name__ == "__main__":
    main()
