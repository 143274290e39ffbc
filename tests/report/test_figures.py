"""What the page says: the figures of ``--json``, each sentence once, and nothing where nothing is known."""

from __future__ import annotations

import math
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from agent.ledger.ledger import Ledger
from agent.pages.content import report_of
from agent.pages.figures import figures_of
from agent.pages.pictures import pictures_of
from agent.pages.plots import MUTED, SERIES
from agent.pages.report import database_reported, html_page
from agent.terminal.deciding import join_numbers
from agent.terminal.output import plain_value
from connectors.model.formatting import format_bytes, format_rate, format_ratio, format_seconds, printable
from tests.ledger.clock import StillClock
from tests.report.conftest import Told
from tests.report.story import DATABASE, DAYS, NASTY, daily, units_of
from tests.unit.samples import MADE_AT

pytestmark = pytest.mark.xdist_group("report")  # the two weeks are lived once for all
SENTENCE = 40  # characters; what is shorter is a word or a figure


def drawn(told: Told, name: str) -> ET.Element:
    """A picture of the page."""
    (figure,) = [p.figure for p in pictures_of(told.report, told.figures) if p.figure and p.figure.name == name]
    return ET.fromstring(figure.element())


def hints(told: Told, name: str) -> list[str]:
    """What a pointer shows over the parts of a picture."""
    return [title.text or "" for title in drawn(told, name).iter("{http://www.w3.org/2000/svg}title")][1:]


def words(told: Told, name: str) -> list[str]:
    """What is written in a picture."""
    return [text.text or "" for text in drawn(told, name).iter("{http://www.w3.org/2000/svg}text")]


def test_every_picture_is_there(told: Told) -> None:
    """Two weeks are enough for all of them."""
    assert [p.title for p in pictures_of(told.report, told.figures) if p.figure is None] == []
    assert told.html.count("<svg") == 9


def test_the_heat_map_is_that_of_json(told: Told) -> None:
    """Each cell shows the rate of its unit and day; the cells of a unit are those of its row."""
    hot = told.document["figures"]["hottest_units"]
    assert [unit["unit"] for unit in hot["units"]][:2] == ["public.order_lines", "public.orders"]
    assert len(hot["starts"]) == DAYS + 1
    assert hints(told, "heat") == [
        printable(f"{unit['unit']}: {format_rate(rate)} reads/s")
        for unit in hot["units"]
        for rate in unit["sync_reads_per_second"]
        if rate > 0
    ]
    # A whole day of the busiest table is its mean load.
    assert hot["units"][0]["sync_reads_per_second"][5] == pytest.approx(520.0, rel=1e-3)


def test_waits_are_those_of_json(told: Told) -> None:
    """The line has the points of JSON, at their heights, and is said in words with the same figures."""
    waits = told.document["figures"]["waits"]
    sessions = [point["waiting_sessions"] for point in waits]
    (path,) = [p for p in drawn(told, "waits").iter("{http://www.w3.org/2000/svg}path") if p.get("fill") == "none"]
    points = (path.get("d") or "").replace("M", "").replace("L", "").split()
    heights = [float(each) for each in points[1::2]]
    assert len(heights) == len(waits) > 50
    low, high = min(sessions), max(sessions)
    scale = (max(heights) - min(heights)) / (high - low)
    for height, value in zip(heights, sessions, strict=True):
        assert max(heights) - height == pytest.approx((value - low) * scale, abs=0.2)
    assert f"{format_rate(sessions[0])} at first, {format_rate(sessions[-1])} at last" in told.html
    # The first six hours of the story, up to six in the evening.
    assert sessions[0] == pytest.approx(sum(7.0 * daily(hour) for hour in range(6)) / 6)
    # Moves ended after day 9: what the second half waits is less.
    assert sum(sessions[-16:]) < 0.7 * sum(sessions[:16])


def test_outcomes_are_those_of_json(told: Told) -> None:
    """Predicted and measured with their intervals, before and after of each move, as the moves carry them."""
    compared = told.document["figures"]["predictions"]
    assert [each["moves"] for each in compared] == [[1, 2], [3]]
    for each in compared:
        (outcome,) = [
            move["outcome"] for proposal in told.document["proposals"] for move in proposal["moves"]
            if move["id"] == each["moves"][0]
        ]  # fmt: skip
        assert each["measured"]["saved_ratio"] == pytest.approx(-outcome["change"])
        assert each["measured"]["saved_ratio_low"] == pytest.approx(-outcome["change_high"])
        assert each["predicted"]["saved_ratio"] == outcome["predicted_saved_ratio"]
        for word in ("predicted", "measured"):
            mean, low, high = each[word].values()
            said = f": {word} {format_ratio(mean)}, between {format_ratio(low)} and {format_ratio(high)}"
            assert sum(said in hint for hint in hints(told, "predicted")) >= 1
    assert hints(told, "changes") == [
        printable(f"{each['move']} {each['unit']}: {format_seconds(each['before_seconds'])} became "
                  f"{format_seconds(each['after_seconds'])}")
        for each in told.document["figures"]["wait_per_read"]
    ]  # fmt: skip


def test_the_last_plan_is_that_of_json(told: Told) -> None:
    """Where the time goes, how full tiers are and where the curve stands."""
    figures = told.document["figures"]
    spent = figures["sessions_by_what"]
    assert [each["what"] for each in spent[:2]] == ["reads of hdd", "anything else: CPU, locks, network"]
    assert sum(each["sessions"] for each in spent) == pytest.approx(11.0)  # all that are at work
    bars = [each for each in words(told, "spent") if each in {format_rate(s["sessions"]) for s in spent}]
    assert set(bars) == {format_rate(each["sessions"]) for each in spent}
    last = figures["tier_fill"][-1]
    said = f"ssd holds {format_bytes(last['used_bytes']['ssd'])} of {format_bytes(last['capacity_bytes']['ssd'])}"
    assert said in told.html
    curve = figures["sizing"]
    for name, point in (("knee", curve["knee"]), ("present size", curve["present"])):
        share = format_ratio(point["of_all_fast_ratio"])
        assert f"{name}: {format_bytes(point['bytes'])}, {share}" in words(told, "sizing")


def test_the_result_comes_first(told: Told) -> None:
    """The first card and the first picture are what came of it, on an axis that begins at nothing."""
    result = told.document["result"]
    assert "<title>hotplace report: shop</title>" in told.html
    first_card = unescape(told.html).index(f"<dt>result</dt><dd>{result}</dd>")
    assert first_card < unescape(told.html).index("<dt>proposals</dt>")
    assert re.fullmatch(r"\S+ -> \S+ transactions/s, \S+ \S+ -> \S+ \S+, (helped|cannot tell)", result)
    assert re.findall(r"<h3>(.*?)</h3>", told.html)[0] == "Waits before and after"
    rects = drawn(told, "results").iter("{http://www.w3.org/2000/svg}rect")
    widths = [float(rect.attrib["width"]) for rect in rects if rect.get("fill") in {MUTED, SERIES[0]}]
    outcomes = [each.outcome for each in told.report.proposals if each.outcome is not None]
    waits = [wait for o in outcomes for wait in (o.wait_per_transaction_before, o.wait_per_transaction_after)]
    assert len(waits) == 4
    assert widths == pytest.approx([wait * max(widths) / max(waits) for wait in waits], abs=0.2)


def test_proposals_say_what_was_decided_on(told: Told) -> None:
    """The lines of the summary, as the commands print them."""
    for proposal in told.document["proposals"]:
        assert all(printable(line["text"]) in unescape(told.html) for line in proposal["summary"]["lines"])


def test_the_summary_is_that_of_json(told: Told) -> None:
    """Totals stand at the top of the page."""
    totals = told.document["totals"]
    assert f"{format_bytes(totals['bytes_moved'])} in {format_seconds(totals['copy_seconds'])}" in told.html
    assert totals["outcomes_by_verdict"] == {"helped": 1, "cannot tell": 1}
    assert "<dd>1 helped, 1 cannot tell</dd>" in told.html
    for proposal in told.document["proposals"]:
        assert proposal["digest"] in told.html


class Texts(HTMLParser):
    """Texts of a page by what they stand in."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[str] = []
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One begins."""
        if tag not in {"meta", "br"}:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """One ends."""
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        """What stands in it; figures of tables may be equal, and what screen readers say repeats what is shown."""
        text = " ".join(data.split())
        if len(text) >= SENTENCE and not {"pre", "style", "title", "desc", "td"} & set(self._open):
            self.found.append(text)


def test_no_sentence_is_said_twice(told: Told) -> None:
    """An outcome is that of all moves of a proposal, and still stands there once."""
    texts = Texts()
    texts.feed(told.html)
    assert len(texts.found) > 10
    assert {text: times for text, times in Counter(texts.found).items() if times > 1} == {}
    assert any("read wait for the same work" in text for text in texts.found)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [((3,), "move 3"), ((3, 4), "moves 3 and 4"), ((3, 4, 7), "moves 3, 4 and 7"), ((3, 4, 5), "moves 3 to 5")],
)
def test_numbers_are_joined_as_people_write_them(numbers: tuple[int, ...], said: str) -> None:
    """One, several, and a run of them."""
    assert join_numbers("move", numbers) == said


def test_names_are_text(told: Told) -> None:
    """Markup and control characters in a name are shown as they are, in pictures too, and no script can run."""
    assert "<script" not in told.html
    assert "\x1b" not in told.html
    assert "default-src 'none'" in unescape(told.html)
    assert any(printable(NASTY) in hint for hint in hints(told, "heat"))
    assert len(units_of(NASTY)) == len(told.document["figures"]["hottest_units"]["units"])


def test_a_young_site_has_a_page_without_pictures(tmp_path: Path) -> None:
    """What nothing is known of is left out, with what it takes, and JSON is empty there."""
    clock = StillClock()
    with Ledger.open(tmp_path / "ledger.db", clock) as ledger:
        report = report_of(ledger, DATABASE, MADE_AT, clock.now())
        figures = figures_of(ledger, report)
        html = html_page(report, figures)
        plain: dict[str, Any] = plain_value(database_reported(report, figures).figures)
    assert "<svg" not in html
    for missing in ("some minutes of watching", "plans of three hours", "no outcome of this time"):
        assert html.count(missing) == 1
    hot = plain.pop("hottest_units")
    assert not hot["units"]
    assert not any(plain.values())


def test_the_inside_of_a_table_is_that_of_json(told: Told) -> None:
    """Each cell shows its place and rate; the newest blocks are the darkest."""
    inside = told.document["figures"]["inside"]
    assert inside["unit"] == f"public.{NASTY}"
    assert len(inside["places"]) == 16
    assert len(inside["starts"]) <= 42
    shown = [
        f"from {format_bytes(place['from_bytes'])}: {format_rate(rate)} reads/s"
        for place in inside["places"]
        for rate in place["reads_per_second"]
        if rate > 0
    ]
    assert hints(told, "inside") == shown
    means = [sum(place["reads_per_second"]) for place in inside["places"]]
    assert means[-1] == max(means) > 5 * means[0]
    total = sum(means) / len(inside["starts"])
    assert total == pytest.approx(450.0 / 1.0, rel=0.2)


def test_a_rate_that_is_not_known_is_no_point(told: Told) -> None:
    """Pictures hold finite numbers only."""
    for picture in pictures_of(told.report, told.figures):
        assert picture.figure is not None
        assert not re.search(r"\b(nan|inf)\b", picture.figure.element(), re.IGNORECASE)
    assert all(math.isfinite(point.waiting_sessions) for point in told.figures.waits)
