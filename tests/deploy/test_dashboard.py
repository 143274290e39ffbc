"""The boards can be imported anywhere, ask for what is exposed, and know what to do about every alert."""

from __future__ import annotations

import json
import re
from itertools import combinations
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from agent.service.fleet_metrics import FleetCollector
from tests.deploy.places import DEPLOY, rules
from tests.deploy.promql import Labels, labels_of, metrics_of
from tests.over import over

pytestmark = pytest.mark.xdist_group("dashboard")  # what it needs is made once

BOARDS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((DEPLOY / "grafana").glob("*.json"))
}
OVERVIEW = BOARDS["hotplace"]
PANELS: list[dict[str, Any]] = [panel for board in BOARDS.values() for panel in board["panels"]]
VARIABLES = {each["name"]: each for each in OVERVIEW["templating"]["list"]}
# What an annotation asks of Prometheus is the data source's own: the schema leaves it open, and its types drop it.
OF_A_SOURCE = re.compile(r"\.annotations\.list\[\]\.(step|titleFormat|textFormat|tagKeys): .* became None")
BY_TAG = {"type": "dashboards", "tags": ["hotplace"], "includeVars": True, "keepTime": True}
SHOWING = [panel for panel in PANELS if panel["type"] not in {"row", "text"}]
RUNBOOK = next(panel for panel in PANELS if panel["type"] == "text")
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
SCHEMA = 42  # of Grafana 12; a newer one migrates it
UNITS = {"short", "s", "bytes", "Bps", "percentunit", "iops"}
WIDTH = 24
OF_ALL = {family.name for family in FleetCollector(list).collect()}


def queries() -> list[tuple[str, dict[str, Any]]]:
    """Every query with the title of its panel."""
    return [(panel["title"], each) for panel in SHOWING for each in panel["targets"]]


def marks() -> list[tuple[str, dict[str, Any]]]:
    """Every query that marks times, with its board."""
    return [(name, each) for name, board in BOARDS.items() for each in board["annotations"]["list"]]


def linked_to(alert: str) -> list[dict[str, Any]]:
    """Panels that lead to what to do about an alert."""
    titles = [{link["title"] for link in panel.get("links", [])} for panel in SHOWING]
    return [panel for panel, said in zip(SHOWING, titles, strict=True) if f"What to do: {alert}" in said]


def plain(query: str) -> str:
    """The query as Prometheus gets it."""
    query = query.replace("$__range", "1h").replace("$__rate_interval", "5m").replace("$__interval", "1m")
    return re.sub(r"\$(\w+)", lambda found: str(VARIABLES[found[1]]["name"]), query)


@over(("title", "query"), queries())
def test_panels_ask_for_what_is_exposed(title: str, query: dict[str, Any], exposed: dict[str, Labels]) -> None:
    """Metrics and labels exist, both sides of a join can match, and the legend names labels of the result."""
    labels = labels_of(plain(query["expr"]), exposed)
    assert set(re.findall(r"{{(\w+)}}", query["legendFormat"])) <= labels, title


@pytest.mark.parametrize(("board", "query"), marks())
def test_annotations_mark_moves_that_there_are(board: str, query: dict[str, Any], exposed: dict[str, Labels]) -> None:
    """They ask for what is exposed, of the chosen databases, and their words name labels of the result."""
    labels = labels_of(plain(query["expr"]), exposed)
    assert set(re.findall(r"{{(\w+)}}", query["titleFormat"] + query["textFormat"])) <= labels
    assert '$database"' in query["expr"]
    assert query["datasource"] == SOURCE
    assert query["enable"]


def test_boards_lead_to_one_another() -> None:
    """Overview, database and moves: each links to the others with the same variables and time, and marks moves."""
    assert set(BOARDS) == {"hotplace", "hotplace-database", "hotplace-fleet", "hotplace-moves"}
    for name, board in BOARDS.items():
        assert board["uid"] == name
        assert BY_TAG.items() <= board["links"][0].items()
        assert board["tags"] == BY_TAG["tags"]
        assert board["annotations"]["list"]
        used = json.dumps([board["panels"], board["annotations"]])
        chosen = {each["name"] for each in board["templating"]["list"]} - {"datasource", "engine"}
        assert {variable for variable in chosen if f"${variable}" in used} == chosen


@pytest.mark.parametrize("board", BOARDS)
def test_a_board_is_one_by_the_published_schema(board: str) -> None:
    """Read and written again by Grafana's own types, which are generated from its schema, nothing of it is lost."""
    written = json.loads(json.dumps(Dashboard.from_json(BOARDS[board]), cls=JSONEncoder))
    assert [each for each in lost(BOARDS[board], written) if not OF_A_SOURCE.fullmatch(each)] == []


def lost(before: Any, after: Any, path: str = "") -> list[str]:
    """Where the second does not have what the first has."""
    if isinstance(before, dict):
        return [
            each
            for key, value in before.items()
            for each in (lost(value, after.get(key), f"{path}.{key}") if isinstance(after, dict) else [path])
        ]
    if isinstance(before, list):
        pairs = zip(before, after, strict=False) if isinstance(after, list) and len(before) == len(after) else None
        return [path] if pairs is None else [each for one, other in pairs for each in lost(one, other, f"{path}[]")]
    return [] if before == after else [f"{path}: {before!r} became {after!r}"]


@pytest.mark.parametrize("name", ["engine", "database", "tier"])
def test_variables_list_values_of_labels_that_exist(name: str, exposed: dict[str, Labels]) -> None:
    """Each is the values of a label of a metric, all of them at first."""
    found = re.fullmatch(r"label_values\((.+), (\w+)\)", VARIABLES[name]["query"]["query"])
    assert found is not None
    assert found[2] == name
    assert name in labels_of(plain(found[1]), exposed)
    assert (VARIABLES[name]["includeAll"], VARIABLES[name]["current"]["value"]) == (True, ["$__all"])


def test_every_query_heeds_the_variables() -> None:
    """Whoever chooses a database sees that one; the tier where it is exposed. Figures of all databases know none."""
    for title, query in queries():
        if metrics_of(plain(query["expr"])) <= OF_ALL:
            continue
        assert '$database"' in query["expr"], title


def test_it_is_at_home_in_any_grafana() -> None:
    """The data source is a variable, the schema current, and nothing is bound to where it was made."""
    assert VARIABLES["datasource"]["type"] == "datasource"
    for each in [*SHOWING, *(VARIABLES[name] for name in ("engine", "database", "tier"))]:
        assert each["datasource"] == SOURCE
    for board in BOARDS.values():
        assert board["schemaVersion"] == SCHEMA
        assert "id" not in board
        assert "__inputs" not in board  # provisioning from a file would not fill them


def test_every_panel_says_what_it_shows() -> None:
    """A title, a description and a unit; ids are unique."""
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    assert all(panel["title"] for panel in PANELS)
    for panel in SHOWING:
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]


@over(("title", "query"), queries())
def test_units_are_those_of_the_metrics(title: str, query: dict[str, Any]) -> None:
    """Seconds in seconds, bytes in bytes, a rate of bytes per second; ratios have none, a rate of waits is sessions."""
    (unit,) = {panel["fieldConfig"]["defaults"]["unit"] for panel in SHOWING if panel["title"] == title}
    words = {name.removesuffix("_total").rpartition("_")[2] for name in metrics_of(plain(query["expr"]))}
    by_rate = "rate(" in query["expr"]
    if by_rate and "_wait_seconds_total" in query["expr"]:
        assert unit == "short"
    elif "/ (" in query["expr"] or words == {"ratio"} or (words == {"seconds"} and by_rate):
        assert unit == "percentunit"
    elif "seconds" in words:
        assert unit == "s"
    elif "bytes" in words:
        assert unit == ("Bps" if by_rate else "bytes")
    else:
        assert unit == ("iops" if words == {"reads"} else "short")


@pytest.mark.parametrize("board", BOARDS)
def test_panels_do_not_lie_on_one_another(board: str) -> None:
    """Every two panels are apart, within the width of the page."""
    for one, other in combinations([panel["gridPos"] for panel in BOARDS[board]["panels"]], 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= WIDTH for panel in PANELS)


@over("rule", rules())
def test_every_alert_has_its_panel_and_its_sentence(rule: dict[str, Any]) -> None:
    """A panel shows what the alert is about and links to the very sentence that the alert says."""
    linked = linked_to(rule["alert"])
    assert linked
    for panel in linked:
        asked = {name for each in panel["targets"] for name in metrics_of(plain(each["expr"]))}
        assert metrics_of(rule["expr"]) <= asked
    sentence = rule["annotations"]["description"].partition("{{")[0].strip()
    assert f"- **{rule['alert']}**: {sentence}" in RUNBOOK["options"]["content"].splitlines()


def test_links_lead_to_the_runbook_and_name_alerts_that_exist() -> None:
    """Every link of a panel is of an alert, and opens the runbook's panel of this dashboard."""
    alerts = {f"What to do: {rule['alert']}" for rule in rules()}
    links = [link for panel in SHOWING for link in panel.get("links", [])]
    assert {link["title"] for link in links} == alerts
    assert {link["url"] for link in links} == {f"/d/{OVERVIEW['uid']}/hotplace?viewPanel={RUNBOOK['id']}"}


def limits() -> list[tuple[str, float]]:
    """Alerts that fire beyond a figure, and the figure; what is free there is filled here."""
    found = [(rule["alert"], re.search(r"([<>])=? ([\d.]+)$", rule["expr"])) for rule in rules()]
    return [(alert, float(at[2]) if at[1] == ">" else 1 - float(at[2])) for alert, at in found if at is not None]


@pytest.mark.parametrize(("alert", "limit"), limits())
def test_a_panel_turns_colour_where_its_alert_fires(alert: str, limit: float) -> None:
    """The thresholds of its panels, where they have any, are those of the rule, and one panel has them."""
    linked = linked_to(alert)
    with_limit = [found for panel in linked if (found := panel["fieldConfig"]["defaults"].get("thresholds"))]
    assert with_limit
    assert all(limit in {step["value"] for step in each["steps"]} for each in with_limit)
