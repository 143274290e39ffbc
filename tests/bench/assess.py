"""Reports of real servers that ``hotplace assess`` answers, where they lie: ``python -m tests.bench assess``.

A report counts as answered if waits by kind are within a tenth of its foreground read events, and ten segments are
ranked or it is said why not. No bound of a segment may exceed the wait that was measured of the whole database.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from agent.config.tiers import KINDS
from agent.studies.assessed import AssessmentResult
from agent.studies.assessment import assess
from agent.studies.assessment_files import read_text
from connectors.kit.assessment import UnusableFile
from connectors.oracle.report_observation import observe_report
from policies.model.settings import PolicySettings
from tests.assess.shared_reports import WHY_NOT, shared_reports
from tests.assess.test_shared_reports import printed
from tests.bench.measurement import Measurement

COMMAND = "python -m tests.bench assess"
OFF = 0.1  # of an event's time
LEAST_SECONDS = 5.0  # that an event has to have: printed are whole seconds
SEGMENTS = 10


def measurements() -> list[Measurement]:
    """Both rows; none where no report is there."""
    reports = shared_reports()
    if not reports:
        sys.stderr.write(f"{WHY_NOT}\n")
        return []
    found = [_judged(path) for path in reports]
    answered = sum(text is not None and _is_answered(text, result) for text, result in found)
    above = sum(_above(result) for _, result in found if result is not None)
    bounds = sum(len(result.units) for _, result in found if result is not None)
    return [
        Measurement(
            name="assess.real_reports_answered", value=answered / len(reports), unit="of the reports", better="higher",
            command=COMMAND, note=f"{len(reports)} AWR reports of real servers, 11.2 to 19c",
        ),
        Measurement(
            name="assess.bound_above_measured", value=above, unit="bounds", better="lower", command=COMMAND,
            note=f"of {bounds} objects of the same reports, above the wait of the whole database",
        ),
    ]  # fmt: skip


def _judged(path: Path) -> tuple[str | None, AssessmentResult | None]:
    try:
        text = read_text(path)
        observation = observe_report(path.name, text)
        return text, assess(observation, KINDS["ssd"], KINDS["hdd"], PolicySettings())
    except UnusableFile:
        return None, None


def _is_answered(text: str, found: AssessmentResult | None) -> bool:
    if found is None or found.withheld:
        return False
    seconds = {event: kind.seconds for kind in found.observation.kinds for event in kind.events}
    near = all(_is_near(seconds.get(event, 0.0), right) for event, right in printed(text).items())
    named = [unit for unit in found.units if not unit.key.startswith(("(all else)", "tablespace "))]
    return near and (len(named) >= SEGMENTS or any(re.search(r"ranked: ", note) for note in found.observation.notes))


def _is_near(said: float, right: float) -> bool:
    return abs(said - right) <= max(OFF * right, 0.0 if right >= LEAST_SECONDS else 0.51)


def _above(found: AssessmentResult) -> int:
    return sum(unit.high_per_hour > found.measured_wait_per_hour * (1 + 1e-6) for unit in found.units)
