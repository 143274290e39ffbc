"""Every report of a real server that lies next to the project is answered, and says nothing impossible."""

from __future__ import annotations

import re
from functools import cache

import pytest

from agent.config.tiers import KINDS
from agent.studies.assessed import AssessmentResult
from agent.studies.assessment import assess
from agent.studies.assessment_files import read_text
from connectors.oracle.report_observation import observe_report
from policies.evidence.prices import HOUR
from policies.model.settings import PolicySettings
from tests.assess.shared_reports import WHY_NOT, shared_reports

REPORTS = shared_reports()
here = pytest.mark.skipif(not REPORTS, reason=WHY_NOT)
# Read anew, by another eye than the product's: a row of the foreground events as the file has it.
ROW = r"<td[^>]*>{name}</td>\s*<td[^>]*>([\d,]+)</td>\s*<td[^>]*>[^<]*</td>\s*<td[^>]*>([\d,]+)</td>"
READS = (
    "db file sequential read", "db file parallel read", "db file scattered read", "direct path read",
    "read by other session",
)  # fmt: skip


@cache
def judged(name: str) -> tuple[str, AssessmentResult]:
    """Text and assessment of one of them."""
    path = next(path for path in REPORTS if path.name == name)
    text = read_text(path)
    return text, assess(observe_report(name, text), KINDS["ssd"], KINDS["hdd"], PolicySettings())


def printed(text: str) -> dict[str, float]:
    """Seconds of each read event among the foreground ones."""
    begin = text.index("Foreground Wait Events</h3>")
    section = text[begin : text.index("</table>", begin)]
    found = {name: re.search(ROW.format(name=name), section) for name in READS}
    return {name: float(row[2].replace(",", "")) for name, row in found.items() if row}


@here
@pytest.mark.parametrize("name", [path.name for path in REPORTS] or ["none"])
def test_a_real_report_is_answered(name: str) -> None:
    """Waits by kind are as printed, ten segments are ranked or it says why not, no bound is above what was waited."""
    text, found = judged(name)
    assert found.withheld == ()
    events = {event: kind for kind in found.observation.kinds for event in kind.events}
    for event, seconds in printed(text).items():
        assert events[event].seconds == pytest.approx(seconds, abs=0.51), event
    assert found.measured_wait_per_hour * found.observation.demand.seconds / HOUR == pytest.approx(
        sum(printed(text).values()), abs=0.51 * len(READS)
    )
    segments = [unit for unit in found.units if not unit.key.startswith(("(all else)", "tablespace "))]
    assert len(segments) >= 10 or any("ranked: the report's lists" in note for note in found.observation.notes)
    assert max(unit.high_per_hour for unit in found.units) <= found.measured_wait_per_hour * (1 + 1e-6)


@here
def test_a_name_that_begins_another_is_another() -> None:
    """No segment of these reports is counted in two spaces, and reads of a space are those that are printed."""
    for path in REPORTS:
        _, found = judged(path.name)
        keys = [unit.key for unit in found.units if not unit.key.startswith(("(all else)", "tablespace "))]
        assert len(keys) == len(set(keys)), path.name
    _, found = judged("awr-11.2-01.html.gz")
    (users,) = (space for space in found.spaces if space.name == "USERS")
    assert users.reads == pytest.approx(607, abs=2)


@here
def test_broken_times_of_files_are_not_believed() -> None:
    """33 seconds a read where sessions waited 2 ms: the tier is as fast as the events say."""
    _, found = judged("awr-12.1-01.html.gz")
    assert found.tiers[1].speed.random_read_seconds == pytest.approx(2.07e-3, rel=0.02)
    assert any("the events are believed" in note for note in found.observation.notes)
