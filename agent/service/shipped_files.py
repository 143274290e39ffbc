"""Files for the surroundings of hotplace: scripts for privileges, the unit, alert rules, manifests, scratch databases.

They lie in ``deploy/`` of a checkout. A wheel carries them as ``agent/deploy`` (sources in pyproject.toml).
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

_AGENT = Path(__file__).resolve().parents[1]


class FileKind(StrEnum):
    """A folder of ``deploy/``."""

    PRIVILEGES = "privileges"
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
