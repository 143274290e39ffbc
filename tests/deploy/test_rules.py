"""The alert rules ask for what is there."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from agent.cli.deploy import LIMITS, link_runbooks, select_series, set_limits
from agent.service.metrics import AgentCollector
from tests.cli.site import run_here
from tests.deploy.places import ROOT, rules
from tests.deploy.promql import Labels, WrongQuery, labels_of, matchers_of
from tests.over import over

RULES = ROOT / "deploy" / "prometheus" / "hotplace.rules.yml"
EXPOSED = {"a": frozenset({"database", "tier"}), "b": frozenset({"database"})}


def rules_in(text: str) -> list[dict[str, Any]]:
    """Every rule of a file's text."""
    return [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]


def test_the_scrape_that_these_tests_know_is_whole(exposed: dict[str, Labels]) -> None:
    """Every family of the collector has a row in it, so that no metric is missed for want of an occasion."""
    families = AgentCollector(list, top_units=1).collect()
    assert {f"{f.name}_total" if f.type == "counter" else f.name for f in families} <= set(exposed)


@over("rule", rules())
def test_alerts_ask_for_what_is_exposed(rule: dict[str, Any], exposed: dict[str, Labels]) -> None:
    """A renamed metric or label would silence its alert without a word; what its texts name is there, too."""
    labels = labels_of(rule["expr"], exposed)
    said = " ".join(rule["annotations"].values())
    assert set(re.findall(r"\$labels\.(\w+)", said)) <= labels


@over("rule", rules())
def test_every_alert_says_what_happened_and_how_bad_it_is(rule: dict[str, Any]) -> None:
    """A summary, a description with what to do next, and a severity."""
    assert {"summary", "description"} <= set(rule["annotations"])
    assert rule["labels"]["severity"] in {"info", "warning", "critical"}


@over("rule", rules())
def test_every_alert_leads_to_its_runbook(rule: dict[str, Any]) -> None:
    """Its link names a page and a heading that are there, and goes along to where the site is served."""
    url = rule["annotations"]["runbook_url"]
    page, _, anchor = url.partition("#")
    headings = re.findall(r"^## (\w+)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert anchor in {heading.lower() for heading in headings}
    assert anchor == rule["alert"].lower()
    linked = link_runbooks(f"runbook_url: {url}", "https://wiki.example/h")
    assert linked == f"runbook_url: https://wiki.example/h/reference/alerts.html#{anchor}"


def test_every_threshold_is_a_parameter_that_changes_one_alert() -> None:
    """Each name is of one figure in one expression, and each alert that compares with a figure has one."""
    text = RULES.read_text(encoding="utf-8")
    for name, (alert, usual) in LIMITS.items():
        changed = {rule["alert"]: rule["expr"] for rule in rules_in(set_limits(text, {name: "7.25"}))}
        before = {rule["alert"]: rule["expr"] for rule in rules_in(text)}
        assert {each for each in before if changed[each] != before[each]} == {alert}, name
        assert changed[alert] == re.sub(rf"> {re.escape(usual)}$", "> 7.25", before[alert])
    # What is above zero, or one at least, is so or not; it is no threshold.
    compared = {rule["alert"] for rule in rules_in(text) if re.search(r"> (?!0$)[\d.]+$", rule["expr"])}
    assert {alert for alert, _ in LIMITS.values()} == compared


def test_a_selector_is_in_every_series() -> None:
    """Nothing is asked of other agents, and what an expression asks for of its own stays."""
    narrowed = rules_in(select_series(RULES.read_text(encoding="utf-8"), 'job="db"'))
    for before, after in zip(rules_in(RULES.read_text(encoding="utf-8")), narrowed, strict=True):
        names = re.findall(r"\b(?:hotplace_\w+|up)\b", before["expr"])
        assert after["expr"].count('job="db"}') == len(names)
        assert {key: value for key, value in after.items() if key != "expr"} == {
            key: value for key, value in before.items() if key != "expr"
        }


def test_a_threshold_that_there_is_none_of_is_refused() -> None:
    """With the names that there are, and what they are now."""
    for wrong in ("space_full=0.9", "space_fill", "space_fill=much"):
        done = run_here("deploy", "prometheus", "--set", wrong)
        assert done.code == 2
        assert "space_fill=0.95" in " ".join(done.err.replace("│", "").split())
    good = run_here("deploy", "prometheus", "--set", "space_fill=0.9", "--selector", 'job="db"')
    assert 'hotplace_space_fill_ratio{tier!="", job="db"} > 0.9' in good.out


@pytest.mark.parametrize(
    "wrong",
    [
        "job=hotplace", "nonsense", '{job="a"}', 'job="a', 'job="a" or b="c"', 'job=="a"', 'job="a",', '1job="a"',
        r'job=~"a\.b"', 'job="a"b"', '__name__="up"', " ", 'job="a\nb"',
    ],
)  # fmt: skip
def test_a_selector_that_prometheus_would_refuse_is_refused(wrong: str) -> None:
    """The shell eats quotes; rules that are refused, or ask for no series, would never say anything."""
    done = run_here("deploy", "prometheus", "--selector", wrong)
    assert done.code == 2
    said = " ".join(done.err.replace("│", "").split())
    assert repr(wrong) in said
    assert """--selector 'job="hotplace"'""" in said


@pytest.mark.parametrize(
    "right",
    ['job="db"', 'job=~"a|b", env!="test"', r'job=~"a\\.b",x!~"say \"a\""', 'note="a: b #c"', 'a="" , b = "}{,"'],
)
def test_a_selector_of_any_values_is_asked_for(right: str) -> None:
    """Each expression parses, with values that YAML reads otherwise, and asks for these labels."""
    done = run_here("deploy", "prometheus", "--selector", right)
    assert done.code == 0
    (wanted,) = matchers_of("up{" + right + "}")
    for rule in rules_in(done.out):
        asked = matchers_of(rule["expr"])
        assert asked
        assert all(wanted <= each for each in asked)


def test_a_ratio_is_between_0_and_1() -> None:
    """A volume is never 90 times full: an alert for more than that would be for nothing, for more than 0 for all."""
    for wrong in ("space_fill=90", "server_share=1", "proposal_used=0", "space_fill=1.5"):
        done = run_here("deploy", "prometheus", "--set", wrong)
        assert done.code == 2
        said = " ".join(done.err.replace("│", "").split())
        assert f"{wrong!r} is no ratio between 0 and 1, such as {wrong.partition('=')[0]}=0." in said
    assert "> 7" in run_here("deploy", "prometheus", "--set", "gain_waits=7").out


@pytest.mark.parametrize(
    ("query", "labels"),
    [
        ("a > 1", {"database", "tier", "job", "instance"}),
        ("sum by (database) (rate(a[5m]))", {"database"}),
        ("sum without (tier, job, instance) (a)", {"database"}),
        ("topk(3, a{tier!=''})", {"database", "tier", "job", "instance"}),
        ("a / on (database, job) b", {"database", "job"}),
        ("a and on (database) b", {"database", "tier", "job", "instance"}),
        ("absent(b)", set()),
        ("b or (b unless b offset 1h)", {"database", "job", "instance"}),
    ],
)
def test_labels_are_worked_out_as_prometheus_does(query: str, labels: set[str]) -> None:
    """Aggregations keep what they name, joins what they join on, set operators the left side."""
    assert labels_of(query, EXPOSED) == labels


@pytest.mark.parametrize(
    "query", ["c", "a{space='x'}", "sum by (space) (a)", "a / b", "a / on (tier) b", "a / ignoring (tier) b"]
)
def test_queries_that_can_only_be_empty_are_found(query: str) -> None:
    """A metric or a label that is not there, and two sides that never match."""
    with pytest.raises(WrongQuery):
        labels_of(query, EXPOSED)


def test_what_is_not_promql_is_found() -> None:
    """The parser refuses what Prometheus would refuse."""
    with pytest.raises(ValueError, match=r"."):
        labels_of("sum(a", EXPOSED)
