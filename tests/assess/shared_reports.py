"""Reports of real servers that lie next to the project, where they do: none of them is in it."""

from __future__ import annotations

import os
from pathlib import Path

from tests.patterns.found import ROOT

VARIABLE = "HOTPLACE_REAL_REPORTS"
FOLDER = Path(os.environ.get(VARIABLE, str(ROOT.parent / "shared" / "real-reports")))
WHY_NOT = f"no reports of real servers: neither ../shared/real-reports nor {VARIABLE}"


def shared_reports() -> list[Path]:
    """The files, in order; [] where the folder is not there."""
    return sorted(FOLDER.glob("awr-*.html.gz")) if FOLDER.is_dir() else []
