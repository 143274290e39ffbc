"""Mistakes between parts that are each right on their own, found on the plain values of the file.

They look at plain values, not at models, so that they are reported together with every other mistake: a model exists
only once all its parts are right. Whatever has the wrong shape is skipped here, because its own check names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from agent.config.errors import Location
from agent.config.mistakes import Mistake
from agent.config.tiers import TierConfig
from connectors.formatting import format_seconds

SECRET_KEY = re.compile(r"(password|passwd|passphrase|passwort|pwd|secret|token|^url|signing_key)$", re.IGNORECASE)
SECRET_TEXT = re.compile(r"(password|pwd)\s*=\s*\S|://[^/@:\s]*:[^/@\s]+@", re.IGNORECASE)
REFUSED = (
    "secrets are not accepted in this file; name where it comes from: "
    "password: {env: VARIABLE}, {file: PATH} or {credential: NAME of a systemd credential}"
)


def cross_checks(values: dict[Any, Any]) -> Iterator[Mistake]:
    """Every mistake between parts of one document."""
    metrics = values.get("metrics")
    if isinstance(metrics, dict):
        yield from _secrets(metrics.get("basic_auth"), ("metrics", "basic_auth"))
    yield from _secrets(values.get("ledger"), ("ledger",))
    yield from _approvals(values)
    for location, channel in _items(values, "notices", ()):
        for way in ("webhook", "mail"):
            yield from _secrets(channel.get(way), (*location, way))
    databases = list(_items(values, "databases", ()))
    yield from _duplicates(databases, "name", "another database has the name {!r} too")
    for location, database in databases:
        tiers = list(_items(database, "tiers", location))
        yield from _duplicates(tiers, "name", "another tier of this database has the name {!r} too")
        yield from _spaces_in_two_tiers(tiers)
        yield from _order_of_tiers(tiers)
        for key in ("connection", "move_connection"):
            yield from _secrets(database.get(key), (*location, key))


def _approvals(values: dict[Any, Any]) -> Iterator[Mistake]:
    """Signed approvals need people who may sign; several approvals, and the level auto, need signatures."""
    signed = values.get("approval") == "signed"
    if signed and values.get("allowed_signers") is None:
        yield ("approval",), "signed approvals need allowed_signers: FILE with the people who may sign", False
    if values.get("level") == "auto" and not signed:
        message = "level auto approves under standing rules that people have signed: set approval: signed, or propose"
        yield ("level",), message, False
    several = values.get("approvals")
    if not signed and isinstance(several, int) and several > 1:
        message = f"{several} approvals are told apart by their keys only: set approval: signed, or approvals: 1"
        yield ("approvals",), message, False


def _items(holder: dict[Any, Any], key: str, above: Location) -> Iterator[tuple[Location, dict[Any, Any]]]:
    """The mappings of a list, each with its location."""
    found = holder.get(key)
    for position, item in enumerate(found if isinstance(found, list) else []):
        if isinstance(item, dict):
            yield (*above, key, position), item


def _duplicates(items: Iterable[tuple[Location, dict[Any, Any]]], key: str, sentence: str) -> Iterator[Mistake]:
    seen: set[str] = set()
    for location, item in items:
        value = item.get(key)
        if not isinstance(value, str):
            continue
        if value in seen:
            yield (*location, key), sentence.format(value), False
        seen.add(value)


def _spaces_in_two_tiers(tiers: Iterable[tuple[Location, dict[Any, Any]]]) -> Iterator[Mistake]:
    home: dict[str, str] = {}
    for location, tier in tiers:
        for position, name in _space_names(tier):
            if name in home:
                message = f"the space {name!r} is in the tier {home[name]!r} already; a space has one tier"
                yield (*location, "spaces", position), message, False
            home.setdefault(name, str(tier.get("name")))


def _space_names(tier: dict[Any, Any]) -> Iterator[tuple[int, str]]:
    """Position and name of each space of a tier that has one; other checks speak of the rest."""
    spaces = tier.get("spaces")
    for position, space in enumerate(spaces if isinstance(spaces, list) else []):
        name = space.get("name") if isinstance(space, dict) else space
        if isinstance(name, str):
            yield position, name


def _order_of_tiers(tiers: Iterable[tuple[Location, dict[Any, Any]]]) -> Iterator[Mistake]:
    """Tiers are listed fastest first: a later one that reads faster is a slip that would turn every decision round."""
    before: tuple[str, float] | None = None
    for location, values in tiers:
        try:
            tier = TierConfig.model_validate(values)
        except ValidationError:
            continue
        seconds = tier.speed.random_read_seconds
        if before and seconds < before[1]:
            message = (
                f"tiers are listed fastest first, but {tier.name!r} reads in {format_seconds(seconds)} "
                f"and {before[0]!r} before it in {format_seconds(before[1])}"
            )
            yield location, message, False
        before = (tier.name, seconds)


def _secrets(value: object, location: Location) -> Iterator[Mistake]:
    """Scalars that are a secret by their key or by their look."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _secrets(inner, (*location, key if isinstance(key, int) else str(key)))
    elif _is_secret(str(location[-1]), value):
        yield location, REFUSED, False


def _is_secret(key: str, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    return bool(SECRET_KEY.search(key) or SECRET_TEXT.search(str(value)))
