"""Databases that somebody else places: Autonomous Database and Amazon RDS."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from connectors.findings import Finding
from connectors.oracle.reading.spaces import DataFile

RDS_FOLDER = "/rdsdbdata"  # of its first volume; others have a number behind it


def cloud_findings(services: Sequence[str | None], files: Sequence[DataFile]) -> Iterator[Finding]:
    """What such a database means for moving.

    Args:
        services: of ``sql/cloud.sql``.
        files: data files of the database.
    """
    for service in services:
        if service:
            sentence = f"this is an Autonomous Database ({service}): Oracle chooses where its data are"
            yield Finding.warning("autonomous", sentence, "Leave the level at observe.", about_moving=True)
    volumes = sorted({file.path.split("/")[1] for file in files if file.path.startswith(RDS_FOLDER)})
    if len(volumes) == 1:
        sentence = f"this is Amazon RDS with one volume (/{volumes[0]}): all its tablespaces are equally fast"
        remedy = "Add a volume of another speed, or leave the level at observe."
        yield Finding.warning("rds", sentence, remedy, about_moving=True)
    elif volumes:
        sentence = f"this is Amazon RDS with volumes {', '.join(f'/{volume}' for volume in volumes)}"
        yield Finding.info("rds", sentence, "Name the tablespaces of each in a tier of its own.")
