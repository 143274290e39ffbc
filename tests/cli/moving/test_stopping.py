"""``hotplace stop`` from the command line, and what other commands say meanwhile."""

from __future__ import annotations

from agent.terminal.errors import ExitCode
from tests.cli.site import Site, simulated


def test_all_databases_are_stopped_and_let_go_on(site: Site) -> None:
    """While no agent runs; status and doctor say who stopped it and how it is lifted, and lifting twice is harmless."""
    number, digest = site.propose()
    site.good("approve", str(number), "--digest", digest)
    document = site.good("stop", "--all", "--reason", "storage fails", "--json").document
    assert document == {"stopped": True, "databases": ["*"], "running": []}
    assert "was stopped already" in site.good("stop", "--all").out
    status = site.good("status").out
    assert "nothing is sent: all databases of this ledger stopped by" in status
    assert "hotplace stop --lift --all" in status
    assert site.good("status", "--json").document["databases"][0]["sending"]["state"] == "stopped"
    site.good("run", "--once")
    moves = site.good("history", "--json").document["moves"]
    assert {move["state"] for move in moves} == {"approved"}
    refused = site.run("stop", "--lift")
    assert (refused.code, "hotplace stop --lift --all" in refused.err) == (ExitCode.REFUSED, True)
    assert "agents send again" in site.good("stop", "--lift", "--all").out
    assert "nothing was stopped" in site.good("stop", "--lift", "--all").out
    site.good("run", "--once")
    moves = site.good("history", "--json").document["moves"]
    assert any(move["state"] != "approved" for move in moves)


def test_moves_of_all_databases_are_cancelled(site: Site) -> None:
    """Without --database: each configured database, in one command."""
    number, digest = site.propose()
    site.good("approve", str(number), "--digest", digest)
    site.values["databases"].append({**simulated(site.folder), "name": "crm"})
    site.write()
    document = site.good("cancel", "--all", "--json").document
    assert document["database"] is None
    assert {asked["state"] for asked in document["asked"]} == {"cancelled"}
