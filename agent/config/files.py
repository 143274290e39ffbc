"""From a file to a ``Config``, with every mistake in it.

Mistakes between parts that are each right on their own, found on the plain values of the file.

They look at plain values, not at models, so that they are reported together with every other mistake: a model exists
only once all its parts are right. Whatever has the wrong shape is skipped here, because its own check names it.

From a file to a ``Config``: where it is looked for, how it is read, and every mistake in it at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent.config.errors import ConfigError, ForeignConfig, Location, Problem, path_text
from agent.config.mistakes import Document, Mistake, mistakes_of, read_document
from agent.config.models import Config
from agent.config.tiers import TierConfig
from connectors.kit.files import advice_for, find_fault
from connectors.model.formatting import format_seconds

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
        message = f"{several} approvals are distinguished by their keys only: set approval: signed, or approvals: 1"
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
            # Its mistakes are reported by the validation of the whole, with their paths; here only the order counts.
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


VARIABLE = "HOTPLACE_CONFIG"
PLACES = (Path("hotplace.yaml"), Path("/etc/hotplace/hotplace.yaml"))


def find_config(explicit: Path | None = None) -> Path:
    """The configuration file: the given one, that of $HOTPLACE_CONFIG, ./hotplace.yaml, /etc/hotplace/hotplace.yaml.

    A file that was named explicitly must exist; there is no fallback. One that another user has put into the current
    folder is an error and not passed over: the next one may be of another database.

    Raises:
        ForeignConfig: another user could have written it.
        ConfigError: there is none; the message lists where it was looked for.
    """
    variable = os.environ.get(VARIABLE)
    named = explicit or (Path(variable) if variable else None)
    places = [named] if named else list(PLACES)
    for place in places:
        if place.is_file():
            _believe(place, named=named is not None or place.is_absolute())
            return place
    because = f" (from ${VARIABLE})" if variable and not explicit else ""
    looked = ", ".join(str(place.absolute()) for place in places)
    raise ConfigError(
        [Problem("", f"no configuration file; looked for {looked}{because}")],
        advice="`hotplace setup ENGINE` makes one; --config or $HOTPLACE_CONFIG names another.",
    )


def load(path: Path) -> Config:
    """Read and validate a configuration file.

    Raises:
        ForeignConfig: another user could have written it.
        ConfigError: the file cannot be read or holds mistakes; all of them are in ``problems``.
    """
    return parse(read_config(path), source=str(path), folder=path.absolute().parent)


def read_config(path: Path) -> str:
    """The text of a configuration file.

    Raises:
        ForeignConfig: another user could have written it.
        ConfigError: the file cannot be read.
    """
    _believe(path, named=True)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError([Problem("", f"is not UTF-8 at byte {error.start}")], source=str(path)) from None
    except OSError as error:
        raise ConfigError([Problem("", f"cannot be read: {error.strerror}")], source=str(path)) from error


def _believe(path: Path, *, named: bool) -> None:
    """Refuse a file with which another user could say where passwords are and whom to send them to.

    Args:
        path: of the file.
        named: on purpose, and not merely found in the current folder.

    Raises:
        ForeignConfig: another user could have written it.
        ConfigError: it cannot be looked at.
    """
    try:
        fault = find_fault(path, named=named)
    except OSError as error:
        raise ConfigError([Problem("", f"cannot be read: {error.strerror}")], source=str(path)) from error
    if fault:
        raise ForeignConfig([Problem("", f"is not used: {fault}")], source=str(path), advice=advice_for(path))


def parse(text: str, *, source: str = "configuration", folder: Path | None = None) -> Config:
    """Validate a configuration text; relative paths in it are meant from ``folder``.

    Raises:
        ConfigError: the text holds mistakes; all of them are in ``problems``.
    """
    document = read_document(text, source)
    mistakes = list(cross_checks(document.values))
    try:
        config = Config.model_validate(document.values, context={"folder": folder})
    except ValidationError as error:
        mistakes += mistakes_of(error, Config)
    else:
        if not mistakes:
            return config
    raise ConfigError(_problems(mistakes, document), source=source)


def _problems(mistakes: Iterable[Mistake], document: Document) -> list[Problem]:
    """The mistakes in the order of the file, one for each path: the first said is the most telling."""
    problems: dict[str, Problem] = {}
    for location, message, absent in mistakes:
        where = location if absent else document.existing(location)
        path = path_text(where)
        problems.setdefault(path, Problem(path, message, document.line(where)))
    return sorted(problems.values(), key=lambda problem: problem.line or 0)
