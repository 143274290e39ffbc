"""Files for the surroundings of hotplace: scripts for privileges, the unit, alert rules, manifests, scratch databases.

They lie in ``deploy/`` of a checkout. A wheel carries them as ``agent/deploy`` (sources in pyproject.toml).
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

_AGENT = Path(__file__).resolve().parents[1]


class FileKind(StrEnum):
    """A folder of ``deploy/``."""

    PRIVILEGES = "privileges"
    REMOVAL = "removal"  # of what those give
    SYSTEMD = "systemd"
    PROMETHEUS = "prometheus"
    GRAFANA = "grafana"
    KUBERNETES = "kubernetes"
    LIVE = "live"


def folder(kind: FileKind) -> Path:
    """Where the files of a kind are, in a checkout or in what a wheel has installed."""
    checkout = _AGENT.parent / "deploy"
    return (checkout if checkout.is_dir() else _AGENT / "deploy") / kind


def files(kind: FileKind) -> tuple[Path, ...]:
    """Every file of a kind, by name."""
    return tuple(sorted(path for path in folder(kind).iterdir() if path.is_file()))


def engines() -> tuple[str, ...]:
    """Engines that there are scripts for, sorted."""
    return tuple(sorted({path.name.partition("-")[0] for path in files(FileKind.PRIVILEGES)}))


def files_of_engine(kind: FileKind, engine: str) -> tuple[Path, ...]:
    """The files of a kind that are for one engine, by name."""
    return tuple(path for path in files(kind) if path.name.startswith(f"{engine}-"))


_GRANT = re.compile(r"^GRANT ", re.MULTILINE)
_OF_ROUTINE = re.compile(r"EXECUTE ON (?:FUNCTION|PROCEDURE)\b")


def revokes(script: str) -> str:
    r"""A script that takes back what the GRANTs of another one give, the last one first.

    For engines whose logins are those of the operating system, so that no DROP of a login takes its rights along.

    >>> revokes("GRANT SELECT ON A.B TO USER U;\nGRANT EXECUTE ON FUNCTION A.F TO USER U;\n")
    'REVOKE EXECUTE ON FUNCTION A.F FROM USER U RESTRICT;\nREVOKE SELECT ON A.B FROM USER U;\n'
    """
    lines = []
    for given in _GRANT.split(script)[1:]:
        what, _, whom = " ".join(given.partition(";")[0].split()).rpartition(" TO ")
        lines.append(f"REVOKE {what} FROM {whom}{' RESTRICT' if _OF_ROUTINE.match(what) else ''};\n")
    return "".join(reversed(lines))
