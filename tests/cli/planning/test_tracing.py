"""A trace from the command line."""

from __future__ import annotations

from tests.cli.site import Site


def test_a_trace_is_collected_checked_ranked_and_cleared(site: Site) -> None:
    """On, two samples, check, a plan by just that, off, clear."""
    assert "trace is on until" in site.good("trace", "on", "--for", "2h").out
    site.good("run", "--once")
    checked = site.good("status", "--json").document["databases"][0]
    assert checked["trace"]["on"] is True
    assert checked["trace"]["intervals"] >= 1
    assert "moves may run at any time" in site.good("status").out
    assert site.good("plan", "--trace", "--json").document["moves"]
    assert "trace is off" in site.good("trace", "off").out
    assert "0 intervals" in site.good("trace", "clear").out
    refused = site.run("plan", "--trace")
    assert refused.code == 7
    assert "hotplace trace on" in refused.err


def test_a_wrong_duration_is_wrong_use(site: Site) -> None:
    """Exit code 2, as everywhere."""
    assert site.run("trace", "on", "--for", "soon").code == 2
