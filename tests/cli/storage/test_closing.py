"""Closing a space to arrivals and opening it again, from the command line."""

from __future__ import annotations

from tests.cli.site import Site


def test_a_space_is_closed_shown_and_reopened(site: Site) -> None:
    """The status lists it with who and why; closing twice changes nothing, opening what is open is refused."""
    site.good("run", "--once")
    assert "closed to arrivals" in site.good("close", "ssd", "--reason", "retired").out
    assert "already" in site.good("close", "ssd").out
    assert "closed to arrivals: ssd, by" in site.good("status").out
    (closed,) = site.good("status", "--json").document["databases"][0]["closed_spaces"]
    assert (closed["space"], closed["reason"]) == ("ssd", "retired")
    assert site.good("plan", "--json").document["moves"] == []
    site.good("reopen", "ssd")
    assert site.run("reopen", "ssd").code == 7


def test_an_unknown_space_is_named(site: Site) -> None:
    """The nearest right name is offered once a sample knows the spaces."""
    site.good("run", "--once")
    done = site.run("close", "sssd")
    assert done.code == 7
    assert "'ssd'" in done.err
