"""All generated parts by their names."""

from __future__ import annotations

from tests.docs.reference import alerts, claims, commands, events, http, keys, metrics, wandering, words


def all_blocks() -> dict[str, str]:
    """Markdown of each part that a page may ask for."""
    return {
        **commands.blocks(),
        **keys.blocks(),
        **metrics.blocks(),
        **words.blocks(),
        **alerts.blocks(),
        **claims.blocks(),
        **http.blocks(),
        **events.blocks(),
        **wandering.blocks(),
    }
