"""From a file to a ``Config``: where it is looked for, how it is read, and every mistake in it at once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from agent.config.checks import cross_checks
from agent.config.document import Document, read_document
from agent.config.errors import ConfigError, ForeignConfig, Problem, path_text
from agent.config.mistakes import Mistake, mistakes_of
from agent.config.models import Config
from connectors.trusted_files import advice_for, find_fault

VARIABLE = "HOTPLACE_CONFIG"
PLACES = (Path("hotplace.yaml"), Path("/etc/hotplace/hotplace.yaml"))


def find_config(explicit: Path | None = None) -> Path:
    """The configuration file: the given one, that of $HOTPLACE_CONFIG, ./hotplace.yaml, /etc/hotplace/hotplace.yaml.

    A file that was named explicitly must exist; there is no fallback. One that somebody else has put into the current
    folder is an error and not passed over: the next one may be of another database.

    Raises:
        ForeignConfig: somebody else could have written it.
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
        advice="`hotplace init` writes a commented one; --config or $HOTPLACE_CONFIG names another.",
    )


def load(path: Path) -> Config:
    """Read and validate a configuration file.

    Raises:
        ForeignConfig: somebody else could have written it.
        ConfigError: the file cannot be read or holds mistakes; all of them are in ``problems``.
    """
    return parse(read_config(path), source=str(path), folder=path.absolute().parent)


def read_config(path: Path) -> str:
    """The text of a configuration file.

    Raises:
        ForeignConfig: somebody else could have written it.
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
    """Refuse a file that says for somebody else where passwords are and whom to send them to.

    Args:
        path: of the file.
        named: on purpose, and not merely found in the current folder.

    Raises:
        ForeignConfig: somebody else could have written it.
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
