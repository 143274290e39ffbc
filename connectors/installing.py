"""How an optional part is added to the hotplace that runs.

hotplace is not published on a package index, so its name alone would fetch a stranger's package. What can be installed
is the folder, wheel or repository that this one came from, which pip recorded (``direct_url.json``, PEP 610), or the
packages of the part under their own names.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

NAME = "hotplace"
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


def install_command(extra: str, installed: Distribution | None = None) -> str:
    """The command line that adds an extra, for this environment's pip.

    Args:
        extra: a name of pyproject.toml's optional dependencies.
        installed: the distribution to add it to; None: the one that runs.
    """
    arguments = _arguments(extra, installed or _running())
    return " ".join([*_pip(), "install", *map(shlex.quote, arguments)])


def _running() -> Distribution | None:
    try:
        return distribution(NAME)
    except PackageNotFoundError:  # run from a checkout that was never installed
        return None


def _pip() -> list[str]:
    """This environment's pip, or another pip with this environment as its target."""
    own = Path(sys.prefix) / "bin" / "pip"
    if own.exists():
        return [shlex.quote(str(own))]
    if find_spec("pip"):
        return [shlex.quote(sys.executable), "-m", "pip"]
    return ["pip", "--python", shlex.quote(sys.executable)]


def _arguments(extra: str, installed: Distribution | None) -> list[str]:
    if installed is None:
        return ["--editable", f"{Path(__file__).resolve().parent.parent}[{extra}]"]
    return _origin(extra, json.loads(installed.read_text("direct_url.json") or "{}")) or _packages(extra, installed)


def _origin(extra: str, record: dict[str, dict[str, object]]) -> list[str]:
    """What it was installed from with the extra; nothing where that is not known or no longer there."""
    url = urlsplit(str(record.get("url", "")))
    if url.scheme == "file":
        path = Path(unquote(url.path))
        editable = ["--editable"] if record.get("dir_info", {}).get("editable") else []
        return [*editable, f"{path}[{extra}]"] if path.exists() else []
    if not url.scheme:
        return []
    system = record.get("vcs_info", {})
    kind, commit = (f"{system['vcs']}+", f"@{system['commit_id']}") if system else ("", "")
    return [f"{NAME}[{extra}] @ {kind}{url._replace(netloc=url.netloc.rpartition('@')[2]).geturl()}{commit}"]


def _packages(extra: str, installed: Distribution) -> list[str]:
    """The packages of the extra, as the distribution requires them."""
    parts = [(requirement, _EXTRA.search(requirement)) for requirement in installed.requires or []]
    return [requirement.partition(";")[0].strip() for requirement, found in parts if found and found[1] == extra]
