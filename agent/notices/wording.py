"""A message in the form that its channel takes."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from typing import Any

from agent.notices.notice import Notice
from connectors.formatting import printable

MOST_SHOWN = 20  # in one message; the rest is counted
CARD = "application/vnd.microsoft.card.adaptive"


def subject_of(notices: Sequence[Notice]) -> str:
    """One line for all of them."""
    if len(notices) == 1:
        return f"hotplace: {printable(notices[0].sentence)}"
    databases = sorted({notice.database for notice in notices})
    return f"hotplace: {len(notices)} notices about {printable(', '.join(databases))}"


def as_text(notices: Sequence[Notice], dropped: int = 0) -> str:
    """All of them, each with its command."""
    lines = [f"{printable(notice.sentence)}\n    {printable(notice.command)}" for notice in notices[:MOST_SHOWN]]
    return "\n".join([*lines, *_count_rest(len(notices) - MOST_SHOWN, dropped), f"from {socket.gethostname()}"]) + "\n"


def as_json(notices: Sequence[Notice], dropped: int = 0) -> str:
    """All of them for programs; the key is the same for the same matter."""
    document = {
        "host": socket.gethostname(),
        "notices": [notice.document() for notice in notices],
        "dropped": dropped,
    }
    return json.dumps(document, ensure_ascii=False)


def as_slack(notices: Sequence[Notice], dropped: int = 0) -> str:
    """As an incoming webhook of Slack takes it: commands in code, and what Slack reads as markup escaped."""
    lines = [
        f"{_for_slack(notice.sentence)}\n`{_for_slack(notice.command).replace('`', chr(0x2B9))}`"
        for notice in notices[:MOST_SHOWN]
    ]
    return json.dumps({"text": "\n".join([*lines, *_count_rest(len(notices) - MOST_SHOWN, dropped)])})


def as_teams(notices: Sequence[Notice], dropped: int = 0) -> str:
    """As a workflow of Teams takes it: one adaptive card."""
    body: list[dict[str, Any]] = []
    for notice in notices[:MOST_SHOWN]:
        body.append({"type": "TextBlock", "wrap": True, "text": _for_markdown(notice.sentence)})
        body.append({"type": "TextBlock", "wrap": True, "fontType": "Monospace", "text": _for_markdown(notice.command)})
    body += [{"type": "TextBlock", "text": line} for line in _count_rest(len(notices) - MOST_SHOWN, dropped)]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
        "body": body,
    }  # fmt: skip
    return json.dumps({"type": "message", "attachments": [{"contentType": CARD, "content": card}]})


def _count_rest(more: int, dropped: int) -> list[str]:
    lines = [f"and {more} more: hotplace proposals, hotplace history"] if more > 0 else []
    return [*lines, f"{dropped} older notices were dropped"] if dropped else lines


def _for_slack(text: str) -> str:
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _for_markdown(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\`*_[]<>#" else c for c in printable(text))
