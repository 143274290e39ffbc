"""The first steps of the documentation: look next to a young daemon, let it act by a reload, approve at once."""

from __future__ import annotations

import signal
import subprocess
import time
from typing import Any

import pytest

from tests.e2e.program import Shop, load, wait_until, write_config

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]


def configure(shop: Shop, port: int, *, dry_run: bool, plan_every: str, minimum_history: str) -> None:
    """The usual configuration but for this; an SSD faster than the system's cache, which answers for the disk here."""
    write_config(shop.config, shop.server, metrics_port=port, dry_run=dry_run)
    text = shop.config.read_text()
    for usual, wanted in (
        ("plan_every: 1s", f"plan_every: {plan_every}"),
        ("settle: 2s", "settle: 6s"),
        ("sample_every: 500ms", "sample_every: 2s"),  # a session tells its reads once a second
        ("minimum_history: 3s", f"minimum_history: {minimum_history}, regret: 0"),
        ("{name: ssd, kind: ssd,", "{name: ssd, kind: ssd, random_read: 1us,"),
    ):
        assert usual in text
        text = text.replace(usual, wanted)
    shop.config.write_text(text)


def proposal_under_reloads(shop: Shop, daemon: subprocess.Popen[str]) -> dict[str, Any]:
    """Reload twice as often as plans are made until there is a proposal."""

    def asked() -> list[dict[str, Any]]:
        daemon.send_signal(signal.SIGHUP)
        time.sleep(1.5)
        found: list[dict[str, Any]] = shop.answer("proposals")["proposals"]
        return found

    first: dict[str, Any] = wait_until("a proposal", asked, seconds=30)[0]
    return first


def test_from_a_look_to_an_outcome(shop: Shop, port: int) -> None:
    """A look next to a young daemon changes nothing; reloads do not put plans off, nor do they lose what was before."""
    configure(shop, port, dry_run=True, plan_every="1h", minimum_history="1h")
    with load(shop.server), shop.daemon() as daemon:
        _look(shop)
        configure(shop, port, dry_run=False, plan_every="3s", minimum_history="1s")
        proposal = proposal_under_reloads(shop, daemon)
        approved = shop.hotplace("approve", str(proposal["id"]), "--digest", proposal["digest"])
        assert approved.returncode == 0, approved.stderr
        (outcome, *_) = wait_until("the outcome", lambda: shop.answer("outcomes")["outcomes"], seconds=180)
        assert outcome["measured"], outcome["sentence"]
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(20) == 0


def _look(shop: Shop) -> None:
    """While the daemon is some samples old: commands know what it knows, and leave it as it is."""
    wait_until("what two samples tell", lambda: shop.hotplace("units").returncode == 0)
    ranked = shop.answer("units")
    assert any(unit["sync_reads_per_second"] for unit in ranked["units"])
    assert shop.answer("sizing")["watched_seconds"] > 0
    prospect = shop.answer("plan", "--observe", "1")["prospect"]
    assert 'public."Hot Orders"' in {move["unit"] for move in prospect["moves"]}
    assert 0 < prospect["proposed_in_seconds"] <= 3600
    after = shop.answer("units")
    assert any(unit["sync_reads_per_second"] for unit in after["units"])
    # A young daemon plans again whenever it has watched twice as long, perhaps just now.
    assert after == ranked or after["ranked_at"] > ranked["ranked_at"]
